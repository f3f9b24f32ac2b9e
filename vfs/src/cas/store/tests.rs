//! Objects put, read, damaged and swept, in real directories.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::cas::Stored;
use crate::cas::testing::{
    age, age_of, assert_sound, damage, names, path, put, store, store_through, try_store,
};
use crate::fs::faulty::{FaultyFs, each_fault};
use crate::fs::{At, OsFs};
use crate::testing::Scratch;

fn bits(path: &Path) -> u32 {
    path.symlink_metadata().expect("metadata").permissions().mode() & 0o7777
}

/// More than is kept in memory at once, and not a multiple of it.
fn large() -> Vec<u8> {
    (0..300_001_u32).map(|number| (number % 251) as u8).collect()
}

fn put_file(store: &Store<'_>, scratch: &Scratch, bytes: &[u8]) -> Result<Stored, StoreError> {
    let source = scratch.path().join("source");
    std::fs::write(&source, bytes).expect("write");
    let source = File::open(source).expect("open");
    store.publish()?.put_file(source.as_fd())
}

#[test]
fn object_stands_where_buildbox_has_it() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let digest = put(&store, b"abc");
    let fan = store.path().join("objects/ba");
    let object = fan.join("7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(path(&store, &digest), object);
    assert_eq!(std::fs::read(&object).expect("read"), b"abc");
    assert_eq!(bits(&object), 0o444);
    for dir in [store.path(), &fan, &store.path().join("tmp"), &store.path().join("leases")] {
        assert_eq!(bits(dir), 0o700, "{}", dir.display());
    }
    assert_eq!(names(&store, "tmp"), Vec::<String>::new());
}

#[test]
fn contents_come_back_whatever_their_size() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let large = large();
    for size in [0, 1, 1 << 17, (1 << 17) + 1, large.len()] {
        let bytes = &large[..size];
        let is_new = |is_new| Stored { digest: Digest::of(bytes), is_new };
        assert_eq!(put_file(&store, &scratch, bytes).expect("put"), is_new(size > 0));
        assert_eq!(put_file(&store, &scratch, bytes).expect("put"), is_new(false));
        assert_eq!(store.read(&Digest::of(bytes), size as u64).expect("read"), bytes);
        store.verify(&Digest::of(bytes)).expect("whole");
    }
    assert_sound(&scratch);
}

/// Files of the kernel say that they have no bytes.
#[test]
fn file_that_does_not_say_how_long_it_is_comes_as_a_whole() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    for path in ["/proc/filesystems", "/proc/kallsyms"] {
        let bytes = std::fs::read(path).expect("read");
        let file = std::fs::File::open(path).expect("opened");
        let stored = store.publish().expect("a lease").put_file(file.as_fd()).expect("put");
        assert_eq!(stored.digest, Digest::of(&bytes), "{path}");
    }
}

#[test]
fn no_bytes_are_always_there() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    assert_eq!(store.read(&Digest::EMPTY, 0).expect("read"), b"");
    assert_eq!(store.list().expect("list"), [Digest::EMPTY]);
}

#[test]
fn flipped_bit_is_found_and_the_object_can_be_put_again() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let digest = put(&store, b"content");
    damage(&store, &digest, b"c0ntent");
    let expect = |result: Result<(), StoreError>| {
        let damage = Damage::Hash;
        assert!(
            matches!(&result, Err(StoreError::Damaged { digest: d, damage: f }) if *d == digest && *f == damage),
            "{result:?}"
        );
        assert!(result.expect_err("damaged").to_string().contains(&digest.to_string()));
    };
    expect(store.verify(&digest));
    expect(store.read(&digest, 100).map(drop));
    store.remove(&digest).expect("remove");
    assert!(matches!(store.remove(&digest), Err(StoreError::Missing { .. })));
    assert!(matches!(store.verify(&digest), Err(StoreError::Missing { .. })));
    put(&store, b"content");
    store.verify(&digest).expect("whole");
}

#[test]
fn object_of_another_size_or_kind_is_replaced() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let digest = put(&store, b"content");
    let elsewhere = scratch.path().join("elsewhere");
    std::fs::write(&elsewhere, b"content").expect("write");
    let check = |expected: Damage| {
        assert!(!store.has(&digest).expect("has"));
        for result in [store.verify(&digest), store.open_object(&digest).map(drop)] {
            let is_it =
                matches!(&result, Err(StoreError::Damaged { damage, .. }) if *damage == expected);
            assert!(is_it, "{result:?}");
        }
        put(&store, b"content");
        assert!(store.has(&digest).expect("has"));
        store.verify(&digest).expect("whole");
        assert_eq!(names(&store, "tmp"), Vec::<String>::new());
    };
    damage(&store, &digest, b"");
    check(Damage::Size);
    damage(&store, &digest, b"content and more");
    check(Damage::Size);
    std::fs::remove_file(path(&store, &digest)).expect("remove");
    symlink(&elsewhere, path(&store, &digest)).expect("link");
    check(Damage::Kind);
    assert_eq!(std::fs::read(elsewhere).expect("the target stays"), b"content");
}

#[test]
fn size_is_part_of_the_name() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let digest = Digest { size: 8, ..put(&store, b"content") };
    assert!(!store.has(&digest).expect("has"));
    assert!(matches!(store.read(&digest, 100), Err(StoreError::Damaged { .. })));
}

#[test]
fn limit_holds_before_anything_is_read() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let digest = Digest { size: u64::MAX, ..Digest::EMPTY };
    let error = store.read(&digest, 10);
    assert!(matches!(error, Err(StoreError::TooLarge { limit: 10, .. })), "{error:?}");
}

#[test]
fn writers_of_the_same_contents_do_not_disturb_each_other() {
    let scratch = Scratch::new();
    let contents: Vec<Vec<u8>> =
        (0..40).map(|number: u8| [&large()[..1000], &[number]].concat()).collect();
    let store = store(&scratch);
    let write = || {
        let own = try_store(&OsFs, &scratch).expect("a store of its own");
        let publishing = own.publish().expect("the lock");
        let stored = contents.iter().map(|bytes| publishing.put_bytes(bytes).expect("put"));
        stored.filter(|stored| stored.is_new).count()
    };
    let new: usize = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8).map(|_| scope.spawn(write)).collect();
        writers.into_iter().map(|writer| writer.join().expect("no panic")).sum()
    });
    assert_eq!(new, contents.len(), "one of them puts each");
    let usage = store.usage().expect("usage");
    assert_eq!((usage.objects, usage.bytes), (41, 40 * 1001));
    assert_sound(&scratch);
}

#[test]
fn sweep_takes_files_of_dead_writers_only() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let tmp = store.path().join("tmp");
    for name in ["endow-1-1", "endow-1-2", "other-tool"] {
        std::fs::write(tmp.join(name), b"half").expect("write");
    }
    std::fs::create_dir(tmp.join("endow-dir")).expect("a directory");
    symlink("other-tool", tmp.join("endow-link")).expect("link");
    let live = File::open(tmp.join("endow-1-2")).expect("open");
    OsFs.lock(live.as_fd()).expect("lock");
    assert_eq!(store.sweep().expect("sweep"), 1);
    let mut left = names(&store, "tmp");
    left.sort();
    assert_eq!(left, ["endow-1-2", "endow-dir", "endow-link", "other-tool"]);
    drop(live);
    assert_eq!(store.sweep().expect("sweep"), 1);
}

#[test]
fn sweep_beside_writers_harms_none() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let write = |thread: usize| {
        for number in 0..300 {
            put(&store, format!("{thread} {number}").as_bytes());
        }
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2).map(|thread| scope.spawn(move || write(thread))).collect();
        while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            store.sweep().expect("sweep");
        }
    });
    assert_eq!(store.list().expect("list").len(), 601);
    assert_sound(&scratch);
}

#[test]
fn use_is_marked_at_most_once_an_hour() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let digest = put(&store, b"content");
    let object = path(&store, &digest);
    age(&store, &digest, 1800);
    store.read(&digest, 10).expect("read");
    assert!(age_of(&object) >= 1700, "too fresh to be marked");
    let uses: [&dyn Fn(); 3] = [
        &|| drop(store.read(&digest, 10).expect("read")),
        &|| drop(store.open_object(&digest).expect("open")),
        &|| assert_eq!(put(&store, b"content"), digest),
    ];
    for use_it in uses {
        age(&store, &digest, 4000);
        store.verify(&digest).expect("whole");
        assert!(store.has(&digest).expect("has"));
        assert!(age_of(&object) >= 3900, "looking is no use");
        use_it();
        assert!(age_of(&object) < 1000);
    }
}

#[test]
fn strange_names_are_no_objects() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let digest = put(&store, b"content");
    let objects = store.path().join("objects");
    for name in ["file", "zz", "ab"] {
        std::fs::create_dir_all(objects.join(name)).expect("a directory");
        std::fs::write(objects.join(name).join("x"), b"x").expect("write");
    }
    std::fs::write(objects.join("00"), b"x").expect("write");
    let mut expected = [Digest::EMPTY, digest];
    expected.sort_unstable();
    assert_eq!(store.list().expect("list"), expected);
}

#[test]
fn directory_that_others_can_enter_is_refused() {
    let scratch = Scratch::new();
    let path = scratch.path().join("store");
    std::fs::create_dir(&path).expect("a directory");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    assert!(matches!(try_store(&OsFs, &scratch), Err(StoreError::Unusable { .. })));
    std::fs::remove_dir(&path).expect("remove");
    symlink(scratch.path(), &path).expect("link");
    assert!(matches!(try_store(&OsFs, &scratch), Err(StoreError::Unusable { .. })));
}

fn put_both(fs: &FaultyFs, scratch: &Scratch) -> Result<(), StoreError> {
    let store = try_store(fs, scratch)?;
    put_file(&store, scratch, &large())?;
    store.publish()?.put_bytes(b"small")?;
    store.sync()
}

fn check_fault(fs: &FaultyFs) {
    let scratch = Scratch::new();
    let done = put_both(fs, &scratch);
    assert_sound(&scratch);
    let store = store(&scratch);
    for digest in [Digest::of(b"small"), Digest::of(&large())] {
        assert!(done.is_err() || store.has(&digest).expect("has"));
    }
    put_both(&FaultyFs::counting(), &scratch).expect("the next writer is not disturbed");
}

#[test]
fn faults_leave_whole_objects_only() {
    let calls = each_fault(Errno::NOSPC, check_fault);
    assert!(calls > 20, "{calls}");
    for call in 0..calls {
        check_fault(&FaultyFs::killed(call));
    }
}

#[test]
fn link_keeps_the_bytes_of_an_object() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let digest = put(&store, b"linked");
    let at = |name| At { dir: scratch.fd(), name: OsStr::new(name) };
    assert!(store.link_object(&digest, at("one")).expect("linked"));
    assert!(store.link_object(&digest, at("one")).expect("there already"));
    store.remove(&digest).expect("removed");
    assert_eq!(std::fs::read(scratch.path().join("one")).expect("read"), b"linked");
    let missing = store.link_object(&digest, at("two"));
    assert!(matches!(missing, Err(StoreError::Missing { .. })), "{missing:?}");
}

#[test]
fn link_that_can_not_be_is_no_error() {
    let linked = |errno, number| {
        let scratch = Scratch::new();
        let digest = put(&store(&scratch), b"linked");
        let faulty = FaultyFs::new(number, errno);
        let store = store_through(&faulty, &scratch);
        // The last call of all makes the link.
        let to = At { dir: scratch.fd(), name: OsStr::new("one") };
        (store.link_object(&digest, to), faulty.calls())
    };
    let (done, calls) = linked(Errno::IO, usize::MAX);
    assert!(done.expect("linked"));
    for errno in [Errno::MLINK, Errno::XDEV, Errno::PERM] {
        assert!(!linked(errno, calls - 1).0.expect("no link"), "{errno}");
    }
    let broken = linked(Errno::IO, calls - 1).0;
    assert!(matches!(broken, Err(StoreError::Io { .. })), "{broken:?}");
}
