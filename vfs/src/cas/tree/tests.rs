//! Trees of a store, good and hostile.

use super::*;
use crate::cas::testing::{damage, put, store};
use crate::testing::Scratch;

fn directory(directories: &[(&str, Digest)]) -> Listing {
    let listed = |(name, digest): &(&str, Digest)| ListedDirectory {
        name: (*name).to_owned(),
        digest: *digest,
    };
    Listing::new(Vec::new(), directories.iter().map(listed).collect(), Vec::new()).expect("names")
}

fn of_files(names: &[(&str, u64)]) -> Listing {
    let listed = |(name, size): &(&str, u64)| {
        let digest = Digest { size: *size, ..Digest::of(name.as_bytes()) };
        ListedFile { name: (*name).to_owned(), digest, executable: *size == 1 }
    };
    Listing::new(names.iter().map(listed).collect(), Vec::new(), Vec::new()).expect("names")
}

fn shown(snapshot: &Snapshot<Digest>) -> Vec<String> {
    let shown = |entry: &crate::snapshot::Entry<Digest>| entry.path.display().to_string();
    let mut paths: Vec<String> = snapshot.entries().iter().map(shown).collect();
    paths.sort();
    paths
}

fn bounds() -> Bounds {
    Bounds { entries: 100, bytes: 1000, depth: 10, path: 100, paths: 1 << 20 }
}

#[test]
fn tree_is_read_from_its_directories() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let leaf = put(&store, &of_files(&[("one", 1), ("two", 2)]).encode());
    let above = put(&store, &directory(&[("left", leaf), ("right", leaf)]).encode());
    let root = directory(&[("a", above), ("empty", Digest::EMPTY)]);
    let root = put(&store, &root.encode());
    let snapshot = snapshot(&store, &root, bounds()).expect("a tree");
    let expected = [
        "a",
        "a/left",
        "a/left/one",
        "a/left/two",
        "a/right",
        "a/right/one",
        "a/right/two",
        "empty",
    ];
    assert_eq!(shown(&snapshot), expected);
    assert_eq!(snapshot.bytes(), 6);
    let one = snapshot.entries().iter().find(|entry| entry.path.ends_with("one"));
    let content = Digest { size: 1, ..Digest::of(b"one") };
    let expected = Node::File { content, size: 1, executable: true };
    assert_eq!(one.map(|entry| &entry.node), Some(&expected));
}

#[test]
fn empty_tree_needs_nothing_but_the_store() {
    let scratch = Scratch::new();
    let empty = snapshot(&store(&scratch), &Digest::EMPTY, bounds()).expect("a tree");
    assert!(empty.entries().is_empty());
}

#[test]
fn missing_and_damaged_directories_are_named() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let leaf = of_files(&[("one", 1)]).encode();
    let root = put(&store, &directory(&[("a", Digest::of(&leaf))]).encode());
    let error = snapshot(&store, &root, bounds()).expect_err("missing");
    let CasError::Store { path, error: StoreError::Missing { digest } } = &error else {
        panic!("{error:?}")
    };
    assert_eq!((path.as_path(), *digest), (Path::new("a"), Digest::of(&leaf)));
    let leaf = put(&store, &leaf);
    snapshot(&store, &root, bounds()).expect("whole");
    damage(&store, &leaf, &of_files(&[("two", 1)]).encode());
    let error = snapshot(&store, &root, bounds()).expect_err("damaged");
    let CasError::Store { error: StoreError::Damaged { digest, .. }, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(*digest, leaf);
    let absent = Digest::of(b"absent");
    let error = snapshot(&store, &absent, bounds()).expect_err("missing");
    assert!(
        std::error::Error::source(&error).expect("why").to_string().contains(&absent.to_string())
    );
}

#[test]
fn hostile_directory_is_named_with_what_is_wrong() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let hostile = put(&store, b"\x1a\x09\x0a\x04../x\x12\x01t");
    let root = put(&store, &directory(&[("a", hostile)]).encode());
    let error = snapshot(&store, &root, bounds()).expect_err("refused");
    let CasError::Message { path, digest, error: MessageError::Name { .. } } = &error else {
        panic!("{error:?}")
    };
    assert_eq!((path.as_path(), *digest), (Path::new("a"), hostile));
    let no_target = put(&store, b"\x1a\x03\x0a\x01l");
    let error = snapshot(&store, &no_target, bounds()).expect_err("refused");
    let CasError::Snapshot { error: SnapshotError::Target { .. }, .. } = &error else {
        panic!("{error:?}")
    };
}

#[test]
fn directory_with_a_wrong_size_is_refused() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let leaf = put(&store, &of_files(&[("one", 1)]).encode());
    for size in [0, leaf.size - 1, leaf.size + 1] {
        let root = put(&store, &directory(&[("a", Digest { size, ..leaf })]).encode());
        let error = snapshot(&store, &root, bounds());
        let is_it = matches!(error, Err(CasError::Store { error: StoreError::Damaged { .. }, .. }));
        assert!(is_it, "{error:?}");
    }
    let huge = Digest { size: 1 << 62, ..leaf };
    let root = put(&store, &directory(&[("a", huge)]).encode());
    let error = snapshot(&store, &root, bounds());
    assert!(matches!(error, Err(CasError::Store { error: StoreError::TooLarge { .. }, .. })));
}

/// Each directory has the one below twice: a few hundred bytes that name 2^30 entries.
fn bomb(mut put: impl FnMut(&Listing) -> Digest) -> Digest {
    let mut below = put(&of_files(&[("x", 1)]));
    for _ in 0..30 {
        below = put(&directory(&[("a", below), ("b", below)]));
    }
    below
}

#[test]
fn bomb_ends_at_the_bounds() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let root = bomb(|listing| put(&store, &listing.encode()));
    let deep = Bounds { depth: 100, ..bounds() };
    let error = snapshot(&store, &root, deep).expect_err("a bomb");
    let CasError::Snapshot { error: SnapshotError::TooLarge { limit, .. }, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(limit, 100);
    let error = snapshot(&store, &root, bounds()).expect_err("a bomb");
    assert!(matches!(
        error,
        CasError::Snapshot { error: SnapshotError::TooLarge { limit: 10, .. }, .. }
    ));
}

#[test]
fn bytes_count_for_each_file() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let leaf = put(&store, &of_files(&[("x", 400)]).encode());
    let root = directory(&[("a", leaf), ("b", leaf), ("c", leaf)]);
    let root = put(&store, &root.encode());
    let error = snapshot(&store, &root, bounds()).expect_err("too large");
    assert!(matches!(
        error,
        CasError::Snapshot { error: SnapshotError::TooLarge { limit: 1000, .. }, .. }
    ));
}

#[test]
fn tree_message_shows_what_its_directories_show() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let leaf = of_files(&[("one", 1)]);
    let middle = directory(&[("m", Digest::of(&leaf.encode()))]);
    let middle_digest = Digest::of(&middle.encode());
    let root = directory(&[("a", middle_digest), ("b", middle_digest)]);
    let message = TreeMessage::encode(&root, &[leaf.clone(), middle.clone()]);
    let tree = put(&store, &message);
    let of_message = snapshot(&store, &tree, bounds()).expect("a tree");
    for listing in [&leaf, &middle, &root] {
        put(&store, &listing.encode());
    }
    let of_store = snapshot(&store, &Digest::of(&root.encode()), bounds()).expect("a tree");
    assert_eq!(of_message, of_store);
    assert_eq!(shown(&of_message), ["a", "a/m", "a/m/one", "b", "b/m", "b/m/one"]);
}

#[test]
fn tree_message_that_lacks_a_directory_is_refused() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let leaf = put(&store, &of_files(&[("one", 1)]).encode());
    let root = directory(&[("a", leaf)]);
    let tree = put(&store, &TreeMessage::encode(&root, &[]));
    let error = snapshot(&store, &tree, bounds()).expect_err("refused");
    let CasError::NoChild { path, digest } = &error else { panic!("{error:?}") };
    assert_eq!((path.as_path(), *digest), (Path::new("a"), leaf));
}

#[test]
fn bomb_in_a_tree_message_ends_at_the_bounds() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let mut listings = Vec::new();
    bomb(|listing| {
        listings.push(listing.clone());
        Digest::of(&listing.encode())
    });
    let root = listings.pop().expect("a root");
    let tree = put(&store, &TreeMessage::encode(&root, &listings));
    let deep = Bounds { depth: 100, ..bounds() };
    let error = snapshot(&store, &tree, deep).expect_err("a bomb");
    assert!(matches!(error, CasError::Snapshot { error: SnapshotError::TooLarge { .. }, .. }));
}
