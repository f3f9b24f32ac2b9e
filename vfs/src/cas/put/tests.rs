//! Directories of the disk that become trees.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::cas::testing::{assert_sound, put, store, try_store};
use crate::cas::{Store, StoreError, snapshot};
use crate::fs::faulty::{FaultyFs, each_fault};
use crate::fs::{At, Errno, OsFs, Special};
use crate::snapshot::Node;
use crate::testing::{Scratch, is_root};

fn put_dir(store: &Store<'_>, tree: &Scratch) -> Result<Put, PutError> {
    let publishing = store.publish()?;
    put_tree(&OsFs, &publishing, tree.fd(), Bounds::default())
}

fn write(tree: &Scratch, path: &str, bytes: &[u8]) {
    let path = tree.path().join(path);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
    std::fs::write(path, bytes).expect("write");
}

/// What a tree holds, read from a store: bytes and bits of files, targets of links.
fn held(store: &Store<'_>, root: &Digest) -> BTreeMap<String, String> {
    let snapshot = snapshot(store, root, Bounds::default()).expect("a tree");
    let entries = snapshot.entries().iter().map(|entry| {
        let what = match &entry.node {
            Node::Directory => "directory".to_owned(),
            Node::Symlink { target } => format!("-> {}", target.display()),
            Node::File { content, size, executable } => {
                let bytes = store.read(content, *size).expect("read");
                format!("{executable} {}", Digest::of(&bytes))
            }
        };
        (entry.path.display().to_string(), what)
    });
    entries.collect()
}

#[test]
fn tree_comes_back_as_it_was() {
    let (scratch, tree) = (Scratch::new(), Scratch::new());
    let store = store(&scratch);
    let large = vec![7; 300_000];
    write(&tree, "a/large", &large);
    write(&tree, "a/b/run", b"#!");
    write(&tree, "top", b"top");
    write(&tree, "copy", b"top");
    for (path, mode) in [("a/b/run", 0o4711), ("top", 0o600), ("copy", 0o610)] {
        std::fs::set_permissions(tree.path().join(path), Permissions::from_mode(mode))
            .expect("a mode");
    }
    std::fs::create_dir(tree.path().join("empty")).expect("a directory");
    symlink("/etc/passwd", tree.path().join("out")).expect("link");
    symlink("..", tree.path().join("a/up")).expect("link");
    let first = put_dir(&store, &tree).expect("put");
    let sum = 300_000 + 2 + 3 + 3;
    assert_eq!((first.files, first.bytes, first.new_bytes), (4, sum, sum - 3));
    let file = |executable: bool, bytes: &[u8]| format!("{executable} {}", Digest::of(bytes));
    let expected = [
        ("a", "directory".to_owned()),
        ("a/b", "directory".to_owned()),
        ("a/b/run", file(true, b"#!")),
        ("a/large", file(false, &large)),
        ("a/up", "-> ..".to_owned()),
        ("copy", file(true, b"top")),
        ("empty", "directory".to_owned()),
        ("out", "-> /etc/passwd".to_owned()),
        ("top", file(false, b"top")),
    ];
    let expected = expected.map(|(path, what)| (path.to_owned(), what));
    assert_eq!(held(&store, &first.root), BTreeMap::from(expected));
    let again = put_dir(&store, &tree).expect("put");
    assert_eq!(again, Put { new_bytes: 0, ..first });
    assert_sound(&scratch);
}

#[test]
fn empty_directory_has_the_digest_of_nothing() {
    let (scratch, tree) = (Scratch::new(), Scratch::new());
    let root = put_dir(&store(&scratch), &tree).expect("put").root;
    assert_eq!(root, Digest::EMPTY);
    assert!(root.to_string().starts_with("sha256:e3b0c442"));
    assert!(root.to_string().ends_with("b855/0"));
}

#[test]
fn large_and_deep_directories_are_whole() {
    let (scratch, tree) = (Scratch::new(), Scratch::new());
    let store = store(&scratch);
    for number in 0..700 {
        write(&tree, &format!("wide/{number}"), number.to_string().as_bytes());
    }
    let deep = "d/".repeat(200) + "end";
    write(&tree, &deep, b"deep");
    let put = put_dir(&store, &tree).expect("put");
    assert_eq!(put.files, 701);
    let held = held(&store, &put.root);
    assert_eq!(held.len(), 700 + 1 + 200 + 1);
    assert_eq!(held[&deep], format!("false {}", Digest::of(b"deep")));
    assert_eq!(held["wide/699"], format!("false {}", Digest::of(b"699")));
}

#[test]
fn what_no_store_can_hold_is_named() {
    let (scratch, tree) = (Scratch::new(), Scratch::new());
    let store = store(&scratch);
    std::fs::create_dir(tree.path().join("a")).expect("a directory");
    let dir = std::fs::File::open(tree.path().join("a")).expect("open");
    for special in [Special::Fifo, Special::Socket] {
        let at = At { dir: std::os::fd::AsFd::as_fd(&dir), name: "it".as_ref() };
        OsFs.make_special(at, special).expect("make");
        let error = put_dir(&store, &tree).expect_err("refused");
        assert!(
            matches!(&error, PutError::Kind { path } if path == Path::new("a/it")),
            "{error:?}"
        );
        std::fs::remove_file(tree.path().join("a/it")).expect("remove");
    }
    let name = std::ffi::OsString::from_vec(b"\xff".to_vec());
    std::fs::write(tree.path().join(&name), b"").expect("write");
    let error = put_dir(&store, &tree).expect_err("refused");
    assert!(matches!(&error, PutError::Text { path } if path.as_os_str() == name), "{error:?}");
    std::fs::remove_file(tree.path().join(&name)).expect("remove");
    symlink(std::ffi::OsStr::from_bytes(b"\xff"), tree.path().join("link")).expect("link");
    let error = put_dir(&store, &tree).expect_err("refused");
    assert!(matches!(&error, PutError::Text { path } if path == Path::new("link")), "{error:?}");
}

#[test]
fn unreadable_file_is_named() {
    if is_root() {
        return;
    }
    let (scratch, tree) = (Scratch::new(), Scratch::new());
    write(&tree, "a/closed", b"x");
    let path = tree.path().join("a/closed");
    std::fs::set_permissions(&path, Permissions::from_mode(0o000)).expect("a mode");
    let error = put_dir(&store(&scratch), &tree).expect_err("refused");
    let PutError::Source { path, errno: Errno::ACCESS } = &error else { panic!("{error:?}") };
    assert_eq!(path, Path::new("a/closed"));
}

#[test]
fn bounds_hold_while_the_tree_is_read() {
    let (scratch, tree) = (Scratch::new(), Scratch::new());
    let store = store(&scratch);
    write(&tree, "a/b/c", b"12345");
    write(&tree, "a/b/d", b"12345");
    let with = |bounds: Bounds| {
        let publishing = store.publish().expect("the lock");
        put_tree(&OsFs, &publishing, tree.fd(), bounds)
    };
    let fits = Bounds { entries: 4, bytes: 10, depth: 2, path: 5, paths: 1 << 20 };
    let root = with(fits).expect("it fits").root;
    snapshot(&store, &root, fits).expect("the same bounds");
    let tight = [
        Bounds { entries: 3, ..fits },
        Bounds { bytes: 9, ..fits },
        Bounds { depth: 1, ..fits },
        Bounds { path: 4, ..fits },
    ];
    for bounds in tight {
        let error = with(bounds).expect_err("too large");
        assert!(matches!(error, PutError::TooLarge { .. }), "{error:?}");
        assert!(snapshot(&store, &root, bounds).is_err());
    }
}

#[test]
fn file_that_changes_meanwhile_is_what_was_copied() {
    let (scratch, tree) = (Scratch::new(), Scratch::new());
    let store = store(&scratch);
    let path = tree.path().join("busy");
    std::fs::write(&path, vec![0; 400_000]).expect("write");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut byte = 0_u8;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                byte = byte.wrapping_add(1);
                let size = 200_000 + usize::from(byte) * 1000;
                std::fs::write(&path, vec![byte; size]).expect("write");
            }
        });
        let roots: Vec<Digest> =
            (0..30).map(|_| put_dir(&store, &tree).expect("put").root).collect();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        for root in roots {
            assert_eq!(held(&store, &root).len(), 1, "its bytes have its digest");
        }
    });
    assert_sound(&scratch);
}

#[test]
fn faults_leave_whole_objects_only() {
    let tree = Scratch::new();
    write(&tree, "a/b/run", b"#!");
    write(&tree, "top", &vec![1; 200_000]);
    symlink("top", tree.path().join("link")).expect("link");
    let whole = {
        let scratch = Scratch::new();
        held(&store(&scratch), &put_dir(&store(&scratch), &tree).expect("put").root)
    };
    let put_through = |fs: &FaultyFs, scratch: &Scratch| -> Result<Put, PutError> {
        let store = try_store(fs, scratch)?;
        put_tree(fs, &store.publish()?, tree.fd(), Bounds::default())
    };
    let calls = each_fault(Errno::IO, |fs| {
        let scratch = Scratch::new();
        let done = put_through(fs, &scratch);
        assert_sound(&scratch);
        if let Ok(done) = done {
            assert_eq!(held(&store(&scratch), &done.root), whole);
        }
    });
    assert!(calls > 40, "{calls}");
}

#[test]
fn error_of_the_store_is_no_error_of_the_tree() {
    let (scratch, tree) = (Scratch::new(), Scratch::new());
    let store = store(&scratch);
    write(&tree, "file", b"content");
    let objects = store.path().join("objects");
    let fan = objects.join(&Digest::of(b"content").to_hex()[..2]);
    std::fs::write(&fan, b"").expect("a file in the way");
    let error = put_dir(&store, &tree).expect_err("refused");
    assert!(matches!(&error, PutError::Store(StoreError::Io { .. })), "{error:?}");
    std::fs::remove_file(fan).expect("remove");
    put(&store, b"content");
}
