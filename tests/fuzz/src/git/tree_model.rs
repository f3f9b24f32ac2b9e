//! Trees as a plain reading of their objects has them, to compare with.

use std::os::unix::ffi::OsStrExt;

use endow_vfs::git_tree::{Blob, Id};
use endow_vfs::snapshot::{Bounds, Node, Snapshot};

use super::object::{Kind, Known, id_of};

/// Small enough that inputs reach them.
pub(super) const BOUNDS: Bounds =
    Bounds { entries: 64, bytes: 4096, depth: 4, path: 64, paths: 1024 };

/// One path of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) path: Vec<u8>,
    pub(super) what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Directory,
    File { id: Id, size: u64, executable: bool },
    Link(Vec<u8>),
}

impl Path {
    /// Returns whether the content of a file can be read.
    pub(super) fn is_told(&self, known: &Known) -> bool {
        !matches!(self.what, What::File { id, .. } if !known.contains_key(&id))
    }
}

/// Returns all that a tree has; `None` when an object is missing, is not what it should be, or it
/// is too much.
pub(super) fn paths(known: &Known, root: &Id) -> Option<Vec<Path>> {
    let mut paths = Vec::new();
    add(known, root, &[], 0, &mut paths)?;
    Some(paths)
}

/// Returns whether it is the tree without entries, which git knows without a repository.
pub(super) fn is_empty(tree: &Id) -> bool {
    *tree == id_of(tree.algorithm(), Kind::Tree, b"")
}

fn add(known: &Known, tree: &Id, above: &[u8], depth: usize, paths: &mut Vec<Path>) -> Option<()> {
    if is_empty(tree) {
        return Some(());
    }
    let (Kind::Tree, bytes) = known.get(tree)? else { return None };
    for (mode, name, id) in entries(bytes, tree.as_bytes().len())? {
        let separator: &[u8] = if above.is_empty() { b"" } else { b"/" };
        let path = [above, separator, name].concat();
        if name.contains(&b'/') || paths.len() >= BOUNDS.entries || depth > BOUNDS.depth {
            return None;
        }
        let blob = || match known.get(&id) {
            Some((Kind::Blob, bytes)) => Some(bytes.clone()),
            _ => None,
        };
        let what = match mode {
            0o40_000 | 0o160_000 => What::Directory,
            0o120_000 => What::Link(blob()?),
            0o100_644 | 0o100_664 => {
                What::File { id, size: blob()?.len() as u64, executable: false }
            }
            0o100_755 => What::File { id, size: blob()?.len() as u64, executable: true },
            _ => return None,
        };
        paths.push(Path { path: path.clone(), what });
        if mode == 0o40_000 {
            add(known, &id, &path, depth + 1, paths)?;
        }
    }
    Some(())
}

/// Returns modes, names and ids of a tree object.
fn entries(mut bytes: &[u8], length: usize) -> Option<Vec<(u32, &[u8], Id)>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ')?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        let mode = std::str::from_utf8(&bytes[..space]).ok()?;
        let is_octal = mode.len() < 8 && mode.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
        let mode = is_octal.then(|| u32::from_str_radix(mode, 8).ok())??;
        let name = bytes.get(space + 1..end)?;
        let id = bytes.get(end + 1..end + 1 + length)?;
        let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        entries.push((mode, name, digits.parse().ok()?));
        bytes = &bytes[end + 1 + length..];
    }
    Some(entries)
}

/// Returns whether nobody could object to a tree: plain names in order, within all bounds.
pub(super) fn is_plain(paths: &[Path]) -> bool {
    let plain_name = |name: &[u8]| !name.is_empty() && name.iter().all(u8::is_ascii_alphanumeric);
    let is_plain = |path: &Path| {
        path.path.len() <= BOUNDS.path
            && path.path.split(|byte| *byte == b'/').all(plain_name)
            && path.path.split(|byte| *byte == b'/').count() <= BOUNDS.depth
            && !matches!(&path.what, What::Link(target) if target.is_empty() || target.contains(&0))
    };
    let size = |path: &Path| match path.what {
        What::File { size, .. } => size,
        _ => 0,
    };
    // Sorted within each directory; plain names have no byte below the slash.
    let mut whole: Vec<Vec<u8>> = paths.iter().map(|path| path.path.clone()).collect();
    let given = whole.clone();
    whole.sort();
    whole.dedup();
    paths.iter().all(is_plain)
        && whole == given
        && paths.iter().map(size).sum::<u64>() <= BOUNDS.bytes
        && paths.iter().map(|path| path.path.len() as u64).sum::<u64>() <= BOUNDS.paths
}

/// Returns a snapshot as plain paths.
pub(super) fn of(snapshot: &Snapshot<Blob>) -> Vec<Path> {
    let what = |node: &Node<Blob>| match node {
        Node::Directory => What::Directory,
        Node::File { content, size, executable } => {
            assert_eq!(content.size, *size);
            What::File { id: content.id, size: *size, executable: *executable }
        }
        Node::Symlink { target } => What::Link(target.as_os_str().as_bytes().to_vec()),
    };
    let entries = snapshot.entries().iter();
    let path = |path: &std::path::Path| path.as_os_str().as_bytes().to_vec();
    entries.map(|entry| Path { path: path(&entry.path), what: what(&entry.node) }).collect()
}
