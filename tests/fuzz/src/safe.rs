//! What has to hold of every tree that is shown.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;

use endow_vfs::snapshot::{Bounds, Entry, Naming, Node, Snapshot};

/// Asserts that a snapshot has nothing that leads elsewhere, and keeps its bounds.
pub(crate) fn assert_safe<C>(snapshot: &Snapshot<C>, bounds: &Bounds, naming: Naming) {
    let mut directories = HashSet::from([&b""[..]]);
    let mut seen = HashSet::new();
    for entry in snapshot.entries() {
        let path = entry.path.as_os_str().as_bytes();
        let above = path.iter().rposition(|byte| *byte == b'/').map_or(&b""[..], |at| &path[..at]);
        assert!(directories.contains(above), "no directory above: {path:?}");
        assert!(seen.insert(path), "twice: {path:?}");
        assert_names(path, naming);
        assert!(path.len() <= bounds.path);
        assert!(path.split(|byte| *byte == b'/').count() - 1 <= bounds.depth);
        match &entry.node {
            Node::Directory => drop(directories.insert(path)),
            Node::File { .. } => {}
            Node::Symlink { target } => assert_target(target.as_os_str().as_bytes()),
        }
    }
    let size = |entry: &Entry<C>| match entry.node {
        Node::File { size, .. } => size,
        _ => 0,
    };
    let bytes: u64 = snapshot.entries().iter().map(size).sum();
    assert!(bytes == snapshot.bytes() && bytes <= bounds.bytes);
    assert!(seen.len() <= bounds.entries);
    assert!(seen.iter().map(|path| path.len() as u64).sum::<u64>() <= bounds.paths);
}

fn assert_names(path: &[u8], naming: Naming) {
    for name in path.split(|byte| *byte == b'/') {
        assert!(!matches!(name, b"" | b"." | b".."), "leads elsewhere: {path:?}");
        assert!(name.len() <= 255 && !name.contains(&0), "no name: {path:?}");
        assert!(naming == Naming::Any || !is_dot_git(name), "a git directory: {path:?}");
    }
}

fn assert_target(target: &[u8]) {
    assert!(!target.is_empty() && target.len() <= 4095 && !target.contains(&0));
}

/// Another reading of what HFS+ and NTFS take for `.git` than the one under test.
fn is_dot_git(name: &[u8]) -> bool {
    let ignored = |letter: &char| {
        let ranges = [0x200c..=0x200f, 0x202a..=0x202e, 0x206a..=0x206f, 0xfeff..=0xfeff];
        ranges.iter().any(|range| range.contains(&u32::from(*letter)))
    };
    let text = String::from_utf8_lossy(name);
    let seen: String = text.chars().filter(|letter| !ignored(letter)).collect();
    let part = |part: &str| {
        let stem = part.split(':').next().unwrap_or_default();
        let stem = stem.trim_end_matches(['.', ' ']).to_ascii_lowercase();
        stem == ".git" || stem == "git~1"
    };
    seen.eq_ignore_ascii_case(".git") || text.split('\\').any(part)
}
