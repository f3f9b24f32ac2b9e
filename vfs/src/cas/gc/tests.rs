//! What a collection keeps, and in which order it removes the rest.

use std::os::unix::fs::symlink;

use super::*;
use crate::cas::message::{ListedDirectory, ListedFile, Listing, TreeMessage};
use crate::cas::testing::{age, damage, names, path, put, store};
use crate::cas::{PinName, snapshot};
use crate::fs::OsFs;
use crate::snapshot::Bounds;
use crate::testing::Scratch;

fn pin(name: &str) -> PinName {
    name.parse().expect("a name")
}

/// Nobody else keeps anything.
fn alone(
    store: &Store<'_>,
    quota: u64,
    progress: &mut dyn FnMut(GcProgress),
) -> Result<GcReport, StoreError> {
    let _closed = store.close()?;
    gc(store, (quota, Vec::new()), progress)
}

fn collect_all(store: &Store<'_>) -> GcReport {
    alone(store, 0, &mut |_| ()).expect("a collection")
}

fn has(store: &Store<'_>, digest: &Digest) -> bool {
    store.has(digest).expect("has")
}

/// A file in two directories: returns the digests from the file up to the root.
fn put_nested(store: &Store<'_>, content: &[u8]) -> [Digest; 3] {
    let digest = put(store, content);
    let file = ListedFile { name: "file".into(), digest, executable: false };
    let inner = Listing::new(vec![file], Vec::new(), Vec::new()).expect("names");
    let inner = put(store, &inner.encode());
    let directory = ListedDirectory { name: "inner".into(), digest: inner };
    let outer = Listing::new(Vec::new(), vec![directory], Vec::new()).expect("names");
    [digest, inner, put(store, &outer.encode())]
}

#[test]
fn leased_and_retained_trees_stay_and_all_else_goes() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let leased = put_nested(&store, b"leased");
    let retained = put_nested(&store, b"retained");
    let free = put_nested(&store, b"free");
    let lease = store.lease(&[leased[2]]).expect("a lease");
    store.retain(&pin("main"), &[retained[2]]).expect("a pin");
    let report = collect_all(&store);
    assert_eq!((report.kept, report.removed, report.dead_leases), (7, 3, 0));
    assert!(!report.is_within_quota, "what is kept takes more than nothing");
    assert!(leased.iter().chain(&retained).all(|digest| has(&store, digest)));
    assert!(!free.iter().any(|digest| has(&store, digest)));
    snapshot(&store, &leased[2], Bounds::default()).expect("whole");
    drop(lease);
    store.release(&pin("main")).expect("release");
    assert_eq!(collect_all(&store).removed, 6);
    assert_eq!(store.list().expect("list"), [Digest::EMPTY]);
}

#[test]
fn tree_messages_and_plain_contents_can_be_roots() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let [one, two, plain, free] = [&b"one"[..], b"two", b"plain", b"free"].map(|b| put(&store, b));
    let listing = |digest| {
        let file = ListedFile { name: "file".into(), digest, executable: false };
        Listing::new(vec![file], Vec::new(), Vec::new()).expect("names")
    };
    let tree = put(&store, &TreeMessage::encode(&listing(one), &[listing(two)]));
    let lease = store.lease(&[tree, plain]).expect("a lease");
    collect_all(&store);
    assert!([one, two, plain, tree].iter().all(|digest| has(&store, digest)));
    assert!(!has(&store, &free));
    drop(lease);
}

#[test]
fn those_unused_for_longest_go_first_until_the_quota_holds() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let objects: Vec<Digest> = (0..6).map(|number: u8| put(&store, &[number; 5000])).collect();
    let order = [3, 0, 5, 1, 4, 2];
    for (place, number) in order.into_iter().enumerate() {
        age(&store, &objects[number], 100_000 - 10_000 * place as u64);
    }
    // One that is used is the youngest from then on.
    store.read(&objects[0], 5000).expect("read");
    let before = store.usage().expect("usage").allocated;
    let each = path(&store, &objects[0]).metadata().expect("metadata");
    let each = std::os::unix::fs::MetadataExt::blocks(&each) * 512;
    let mut removed = Vec::new();
    let quota = before - 2 * each - 1;
    let report = alone(&store, quota, &mut |progress| {
        if let GcProgress::Removed { digest, .. } = progress {
            removed.push(digest);
        }
    });
    let report = report.expect("a collection");
    assert_eq!(removed, [3, 5, 1].map(|number| objects[number]));
    assert_eq!((report.removed, report.freed, report.is_within_quota), (3, 3 * each, true));
    assert_eq!(report.allocated, store.usage().expect("usage").allocated);
    assert_eq!(alone(&store, quota, &mut |_| ()).expect("a collection").removed, 0);
}

#[test]
fn lease_of_a_dead_process_keeps_nothing() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let digest = put(&store, b"content");
    let lease = store.lease(&[digest]).expect("a lease");
    assert_eq!(names(&store, "leases").len(), 1);
    std::fs::write(store.path().join("leases/dead"), format!("{digest}\n")).expect("write");
    let report = collect_all(&store);
    assert_eq!((report.dead_leases, names(&store, "leases").len()), (1, 1));
    assert!(has(&store, &digest), "the other lease lives");
    drop(lease);
    assert!(names(&store, "leases").is_empty());
    std::fs::write(store.path().join("leases/dead"), format!("{digest}\n")).expect("write");
    collect_all(&store);
    assert!(!has(&store, &digest));
}

#[test]
fn nothing_is_collected_while_somebody_publishes() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    put(&store, b"content");
    let publishing = store.publish().expect("the lock");
    assert!(!publishing.put_bytes(b"content").expect("put").is_new);
    assert!(matches!(alone(&store, 0, &mut |_| ()), Err(StoreError::Busy { .. })));
    let lease = store.lease(&[Digest::of(b"content")]).expect("a lease");
    drop(publishing);
    collect_all(&store);
    assert!(has(&store, &Digest::of(b"content")));
    drop(lease);
    let closed = store.close().expect("the lock");
    assert!(matches!(store.publish().map(drop), Err(StoreError::Busy { .. })));
    assert!(matches!(store.lease(&[]).map(drop), Err(StoreError::Busy { .. })));
    assert!(matches!(store.retain(&pin("a"), &[]), Err(StoreError::Busy { .. })));
    drop(closed);
    store.publish().map(drop).expect("the lock is free");
}

#[test]
fn publishers_keep_what_they_were_told_is_there() {
    let scratch = Scratch::new();
    let store = store(&scratch).with_patience(std::time::Duration::from_mins(1));
    let publish = || {
        for number in 0..100_u8 {
            let publishing = store.publish().expect("the lock");
            let digest = publishing.put_bytes(&[number % 7]).expect("put").digest;
            assert!(publishing.has(&digest).expect("has"), "told that it is there");
            let lease = publishing.lease(&[digest]).expect("a lease");
            drop(publishing);
            std::thread::yield_now();
            store.verify(&digest).expect("leased");
            drop(lease);
        }
    };
    std::thread::scope(|scope| {
        let publishers: Vec<_> = (0..2).map(|_| scope.spawn(publish)).collect();
        while !publishers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            collect_all(&store);
        }
    });
}

#[test]
fn what_is_not_there_is_neither_leased_nor_retained() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let absent = Digest::of(b"absent");
    assert!(matches!(store.lease(&[absent]), Err(StoreError::Missing { .. })));
    assert!(matches!(store.retain(&pin("a"), &[absent]), Err(StoreError::Missing { .. })));
    assert!(names(&store, "leases").is_empty() && names(&store, "retained").is_empty());
}

#[test]
fn pins_are_kept_by_name() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let [one, two] = [put(&store, b"one"), put(&store, b"two")];
    store.retain(&pin("b"), &[one, two]).expect("a pin");
    store.retain(&pin("a"), &[one]).expect("a pin");
    let expected = vec![(pin("a"), vec![one]), (pin("b"), vec![one, two])];
    assert_eq!(store.retained().expect("pins"), expected);
    store.retain(&pin("b"), &[two]).expect("others instead");
    store.release(&pin("a")).expect("release");
    store.release(&pin("a")).expect("it is gone");
    assert_eq!(store.retained().expect("pins"), vec![(pin("b"), vec![two])]);
    collect_all(&store);
    assert!(!has(&store, &one) && has(&store, &two));
    for name in ["", ".", "..", ".a", "a/b", "../a", "a b", "a\0", &"a".repeat(129)] {
        assert!(name.parse::<PinName>().is_err(), "{name:?}");
    }
}

#[test]
fn unreadable_pin_stops_a_collection() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let digest = put(&store, b"content");
    let pin = store.path().join("retained/pin");
    for text in ["nonsense\n".to_owned(), digest.to_string(), format!("{digest}\n\n")] {
        std::fs::write(&pin, text).expect("write");
        assert!(matches!(alone(&store, 0, &mut |_| ()), Err(StoreError::Roots { .. })));
    }
    std::fs::remove_file(&pin).expect("remove");
    symlink("elsewhere", &pin).expect("link");
    assert!(alone(&store, 0, &mut |_| ()).is_err());
    assert!(has(&store, &digest), "nothing was removed");
}

#[test]
fn leavings_of_dead_writers_go() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    std::fs::write(store.path().join("tmp/endow-1-1"), b"half").expect("write");
    std::fs::write(store.path().join("retained/.endow-1-1"), b"half").expect("write");
    assert_eq!(collect_all(&store).swept, 1);
    assert!(names(&store, "tmp").is_empty() && names(&store, "retained").is_empty());
}

#[test]
fn damaged_directories_are_kept_and_lead_nowhere() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let [file, inner, outer] = put_nested(&store, b"content");
    let lease = store.lease(&[outer]).expect("a lease");
    let other = vec![b'x'; usize::try_from(inner.size).expect("small")];
    damage(&store, &inner, &other);
    collect_all(&store);
    assert!(has(&store, &outer) && has(&store, &inner) && !has(&store, &file));
    let sound = Store::open(&OsFs, store.path()).expect("a store");
    assert!(matches!(sound.verify(&inner), Err(StoreError::Damaged { .. })));
    drop(lease);
}
