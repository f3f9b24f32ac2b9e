//! Names, places and bounds that a tree of others may try.

use super::*;

const FILE: Node<u8> = Node::File { content: 0, size: 10, executable: false };

fn builder() -> Builder<u8> {
    Builder::new(Naming::Git, Bounds { entries: 6, bytes: 30, depth: 2, path: 20, paths: 50 })
}

fn link(target: &str) -> Node<u8> {
    Node::Symlink { target: target.into() }
}

#[test]
fn tree_keeps_the_order_it_was_given_in() {
    let mut tree = builder();
    let dir = tree.push(Path::new(""), b"dir", Node::Directory).expect("a directory").to_owned();
    tree.push(&dir, b"file", FILE).expect("a file");
    tree.push(&dir, b".gitignore", link("../x")).expect("a link");
    tree.push(Path::new(""), b"\xff", FILE).expect("any bytes");
    let tree = tree.finish();
    let paths = tree.entries().iter().map(|entry| entry.path.as_os_str().as_bytes());
    let expected: [&[u8]; 4] = [b"dir", b"dir/file", b"dir/.gitignore", b"\xff"];
    assert_eq!(paths.collect::<Vec<_>>(), expected);
    assert_eq!(tree.bytes(), 20);
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let faults: [(&[u8], NameFault); 8] = [
        (b"", NameFault::Empty),
        (b".", NameFault::Dots),
        (b"..", NameFault::Dots),
        (b"/etc", NameFault::Slash),
        (b"../x", NameFault::Slash),
        (b"a/b", NameFault::Slash),
        (b"a\0b", NameFault::Nul),
        (&[b'n'; 256], NameFault::Long),
    ];
    for (name, expected) in faults {
        for naming in [Naming::Any, Naming::Git] {
            assert_eq!(naming.fault(name), Some(expected), "{name:?}");
        }
        let error = builder().push(Path::new(""), name, FILE).map(Path::to_owned);
        assert!(matches!(error, Err(SnapshotError::Name { fault, .. }) if fault == expected));
    }
}

#[test]
fn every_spelling_of_a_git_directory_is_refused_in_a_git_tree() {
    let spellings = [
        ".git",
        ".GIT",
        ".Git",
        "git~1",
        "GIT~1",
        ".git ",
        ".git.",
        ".git. .",
        ".git::$INDEX",
        ".g\u{200c}it",
        "\u{feff}.git",
        ".gi\u{206f}T",
        "x\\.git",
        ".git\\config",
    ];
    for name in spellings {
        assert_eq!(Naming::Git.fault(name.as_bytes()), Some(NameFault::DotGit), "{name:?}");
        assert_eq!(Naming::Any.fault(name.as_bytes()), None, "{name:?}");
    }
    for name in [".gitignore", ".github", "git", "git~2", ".gitx", "..git", " .git"] {
        assert_eq!(Naming::Git.fault(name.as_bytes()), None, "{name:?}");
    }
}

#[test]
fn name_stands_once_and_in_a_directory() {
    let mut tree = builder();
    tree.push(Path::new(""), b"a", FILE).expect("a file");
    let twice = tree.push(Path::new(""), b"a", Node::Directory).map(Path::to_owned);
    assert_eq!(twice, Err(SnapshotError::Twice { path: "a".into() }));
    for place in ["a", "b", ".."] {
        let path = Path::new(place).join("x");
        let error = tree.push(Path::new(place), b"x", FILE).map(Path::to_owned);
        assert_eq!(error, Err(SnapshotError::NoParent { path }));
    }
}

#[test]
fn targets_of_links_can_be_made() {
    for target in ["", "a\0b", &"x".repeat(4096)] {
        let error = builder().push(Path::new(""), b"l", link(target)).map(Path::to_owned);
        assert_eq!(error, Err(SnapshotError::Target { path: "l".into() }));
    }
    builder().push(Path::new(""), b"l", link(&"x".repeat(4095))).expect("the longest");
}

#[test]
fn each_bound_holds() {
    let root = Path::new("");
    let fill = |count: usize, node: &Node<u8>| {
        let mut tree = builder();
        for number in 0..count {
            tree.push(root, number.to_string().as_bytes(), node.clone()).map(drop)?;
        }
        Ok(())
    };
    assert_eq!(fill(6, &Node::Directory), Ok(()));
    assert_eq!(fill(3, &FILE), Ok(()));
    let of = |result: Result<(), SnapshotError>| match result {
        Err(SnapshotError::TooLarge { of, limit, .. }) => (of, limit),
        other => panic!("{other:?}"),
    };
    assert_eq!(of(fill(7, &Node::Directory)), ("files and directories", 6));
    assert_eq!(of(fill(4, &FILE)), ("bytes", 30));
    let mut tree = builder();
    tree.push(root, b"a", Node::Directory).expect("a directory");
    tree.push(Path::new("a"), b"b", Node::Directory).expect("a directory");
    tree.push(Path::new("a/b"), b"c", FILE).expect("two directories above it");
    let long = tree.push(root, &[b'n'; 21], FILE).map(drop);
    assert_eq!(of(long), ("bytes in a path", 20));
    let mut tree = builder();
    tree.push(root, &[b'm'; 20], FILE).expect("a long one");
    tree.push(root, &[b'n'; 20], FILE).expect("and another");
    let all = tree.push(root, &[b'o'; 11], FILE).map(drop);
    assert_eq!(of(all), ("bytes in all paths", 50));
    let mut tree = Builder::new(Naming::Any, Bounds { depth: 1, ..Bounds::default() });
    tree.push(root, b"a", Node::Directory).expect("a directory");
    tree.push(Path::new("a"), b"b", Node::Directory).expect("a directory");
    let deep = tree.push(Path::new("a/b"), b"c", FILE).map(drop);
    assert_eq!(of(deep), ("directories above one another", 1));
}
