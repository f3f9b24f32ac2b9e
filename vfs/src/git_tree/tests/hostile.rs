//! Trees that no git makes, but that one can be told to write.

use super::*;
use crate::snapshot::{Bounds, NameFault, SnapshotError};

/// One entry in the format of a tree object.
fn entry(mode: &str, name: &[u8], object: &str) -> Vec<u8> {
    let mut bytes = [mode.as_bytes(), b" ", name, b"\0"].concat();
    bytes.extend_from_slice(id(object).as_bytes());
    bytes
}

fn tree(dir: &Path, entries: &[Vec<u8>]) -> String {
    let args = ["hash-object", "-t", "tree", "--literally", "-w", "--stdin"];
    git_with(dir, &args, &entries.concat())
}

fn blob(dir: &Path, content: &[u8]) -> String {
    git_with(dir, &["hash-object", "-w", "--stdin"], content)
}

fn shown(dir: &Path, tree: &str, bounds: Bounds) -> Result<Snapshot<Blob>, GitError> {
    let repository = open(dir);
    let options = Options { bounds };
    repository.snapshot(&repository.resolve(tree)?.tree, &options)
}

fn error(dir: &Path, entries: &[Vec<u8>]) -> GitError {
    shown(dir, &tree(dir, entries), Bounds::default()).expect_err("a refusal")
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let scratch = small();
    let dir = scratch.path();
    let file = blob(dir, b"x");
    let faults: [(&[u8], NameFault); 8] = [
        (b"..", NameFault::Dots),
        (b".", NameFault::Dots),
        (b"", NameFault::Empty),
        (b".git", NameFault::DotGit),
        (b".GIT", NameFault::DotGit),
        (b"git~1", NameFault::DotGit),
        (b"a/b", NameFault::Slash),
        (&[b'n'; 300], NameFault::Long),
    ];
    for (name, expected) in faults {
        for mode in ["100644", "40000", "120000", "160000"] {
            match error(dir, &[entry(mode, name, &file)]) {
                GitError::Snapshot(SnapshotError::Name { fault, .. }) => {
                    assert_eq!(fault, expected);
                }
                other => panic!("{name:?}: {other:?}"),
            }
        }
    }
}

#[test]
fn entries_are_in_order_and_once() {
    let scratch = small();
    let dir = scratch.path();
    let (file, empty) = (blob(dir, b"x"), tree(dir, &[]));
    let e = |mode: &str, name: &str| {
        entry(mode, name.as_bytes(), if mode == "40000" { &empty } else { &file })
    };
    let fault = |entries: &[Vec<u8>]| match error(dir, entries) {
        GitError::Tree { fault, .. } => fault,
        other => panic!("{other:?}"),
    };
    assert_eq!(fault(&[e("100644", "b"), e("100644", "a")]), TreeFault::Unsorted);
    assert_eq!(fault(&[e("40000", "a"), e("100644", "a.c")]), TreeFault::Unsorted);
    assert_eq!(fault(&[e("100644", "a"), e("100644", "a")]), TreeFault::Twice);
    assert_eq!(fault(&[e("100644", "a"), e("40000", "a")]), TreeFault::Twice);
    // Not next to each other: the directory sorts behind the other name.
    match error(dir, &[e("100644", "a"), e("100644", "a.c"), e("40000", "a")]) {
        GitError::Snapshot(SnapshotError::Twice { path }) => assert_eq!(path, Path::new("a")),
        other => panic!("{other:?}"),
    }
    assert_eq!(fault(&[b"100644 a".to_vec()]), TreeFault::Format);
    assert_eq!(fault(&[b"100644 a\0short".to_vec()]), TreeFault::Format);
    assert_eq!(fault(&[e("+00644", "a")]), TreeFault::Format);
    let right = tree(dir, &[e("100644", "a.c"), e("40000", "a")]);
    assert_eq!(shown(dir, &right, Bounds::default()).expect("the control").entries().len(), 2);
}

#[test]
fn modes_are_those_that_git_writes() {
    let scratch = small();
    let dir = scratch.path();
    let file = blob(dir, b"x");
    for mode in ["777", "100777", "104755", "60000", "10644", "0", "140000"] {
        let number = u32::from_str_radix(mode, 8).expect("a mode");
        let inner = tree(dir, &[entry(mode, b"f", &file)]);
        let expected = GitError::Mode { path: "d/f".into(), mode: number };
        assert_eq!(error(dir, &[entry("40000", b"d", &inner)]), expected);
    }
    let old = tree(dir, &[entry("100664", b"f", &file)]);
    assert_eq!(whole(&open(dir), &old)[b"f".as_slice()], ("file".to_owned(), b"x".to_vec()));
}

#[test]
fn kinds_are_what_the_modes_say() {
    let scratch = small();
    let dir = scratch.path();
    let (file, empty) = (blob(dir, b"x"), tree(dir, &[]));
    for (mode, object, expected) in
        [("40000", &file, "tree"), ("100644", &empty, "blob"), ("120000", &empty, "blob")]
    {
        let expected = GitError::Kind { id: id(object), expected };
        assert_eq!(error(dir, &[entry(mode, b"x", object)]), expected, "{mode}");
    }
}

#[test]
fn links_have_a_target_that_can_be() {
    let scratch = small();
    let dir = scratch.path();
    for target in [b"".as_slice(), b"a\0b"] {
        let object = blob(dir, target);
        let found = error(dir, &[entry("120000", b"l", &object)]);
        assert!(matches!(found, GitError::Snapshot(SnapshotError::Target { .. })), "{found:?}");
    }
    let long = blob(dir, &[b'x'; 4096]);
    let expected = GitError::ObjectSize { id: id(&long), size: 4096, limit: 4095 };
    assert_eq!(error(dir, &[entry("120000", b"l", &long)]), expected);
}

#[test]
fn depth_is_bounded_without_a_recursion() {
    let scratch = small();
    let dir = scratch.path();
    let path = format!("{}f", "d/".repeat(3000));
    let entry = format!("100644,{},{path}", blob(dir, b"x"));
    git(dir, &["read-tree", "--empty"]);
    git(dir, &["update-index", "--add", "--cacheinfo", &entry]);
    let below = said(dir, &["write-tree"]);
    let deep = |depth| {
        let bounds = Bounds { depth, path: 100_000, ..Bounds::default() };
        shown(dir, &below, bounds)
    };
    match deep(512) {
        Err(GitError::Snapshot(SnapshotError::TooLarge { of, limit, .. })) => {
            assert_eq!((of, limit), ("directories above one another", 512));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(deep(4000).expect("deep enough").entries().len(), 3001);
}

#[test]
fn bomb_ends_at_the_bound_of_entries() {
    let scratch = small();
    let dir = scratch.path();
    let file = blob(dir, b"boom");
    let names: Vec<_> = (0..10).map(|number| number.to_string()).collect();
    let level = |mode: &str, object: &str| {
        let entries: Vec<_> =
            names.iter().map(|name| entry(mode, name.as_bytes(), object)).collect();
        tree(dir, &entries)
    };
    let mut top = level("100644", &file);
    for _ in 0..11 {
        top = level("40000", &top);
    }
    let begun = std::time::Instant::now();
    let bounds = Bounds { entries: 100_000, ..Bounds::default() };
    match shown(dir, &top, bounds) {
        Err(GitError::Snapshot(SnapshotError::TooLarge { of, .. })) => {
            assert_eq!(of, "files and directories");
        }
        other => panic!("{other:?}"),
    }
    assert!(begun.elapsed().as_secs() < 20);
    let small = level("100644", &file);
    match shown(dir, &small, Bounds { bytes: 39, ..Bounds::default() }) {
        Err(GitError::Snapshot(SnapshotError::TooLarge { of, .. })) => assert_eq!(of, "bytes"),
        other => panic!("{other:?}"),
    }
}
