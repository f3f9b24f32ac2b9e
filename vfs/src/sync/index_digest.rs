//! What the index of a repository says, as a digest: git writes the file anew when it only looks.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::root::Root;
use crate::fs::{Fs, Kind, read_all};
use crate::{git_dir, git_index};

/// The name of the index in a git directory.
const INDEX: &str = "index";
/// The longest file that names a reference or an object, and the longest list of references, in bytes.
const LINE: u64 = 4096;
const PACKED: u64 = 64 << 20;
/// How many bytes of indexes of a mount are read: a command may leave any number of them.
pub(super) const INDEXES: u64 = 64 << 20;

/// Digests what the index of a repository says, and which commit is checked out beside it: somebody may have
/// committed what it says. `None` of what is no index, can't be read, or has more bytes than are `left`.
pub(super) fn index_digest(
    fs: &dyn Fs,
    root: &mut Root<'_>,
    path: &Path,
    left: &mut u64,
) -> Option<[u8; 32]> {
    let git_dir = path.parent().filter(|_| path.file_name() == Some(OsStr::new(INDEX)))?;
    let head = text(fs, root, &git_dir.join("HEAD"), LINE)?;
    let commit = match head.strip_prefix(b"ref: ") {
        Some(name) => named(fs, root, git_dir, name.trim_ascii_end())?,
        None => head.clone(),
    };
    let (dir, leaf) = root.above(path).ok()?;
    let file = fs.open_file(dir.as_fd(), leaf).ok()?;
    *left = left.checked_sub(fs.status_of(file.as_fd()).ok()?.size)?;
    let parts = [&git_index::digest(&file).ok()?[..], &head, &commit];
    Some(parts.iter().fold(Sha256::new(), Sha256::chain_update).finalize().into())
}

/// Returns the object that a reference names, which a linked work tree has of the repository.
fn named(fs: &dyn Fs, root: &mut Root<'_>, git_dir: &Path, name: &[u8]) -> Option<Vec<u8>> {
    let name = str::from_utf8(name).ok()?;
    let below = name.strip_prefix("refs/").filter(|below| git_dir::is_reference(below))?;
    let common = git_dir.parent().and_then(Path::parent);
    let dirs = || std::iter::once(git_dir).chain(common);
    let loose = dirs().find_map(|dir| text(fs, root, &dir.join("refs").join(below), LINE));
    let found = loose.map(|text| text.trim_ascii_end().to_vec()).or_else(|| {
        let packed = dirs().find_map(|dir| text(fs, root, &dir.join("packed-refs"), PACKED))?;
        let mut all = git_dir::packed_refs(&packed);
        all.find(|(known, _)| *known == name.as_bytes()).map(|(_, object)| object.to_vec())
    });
    found.filter(|object| git_dir::is_object_name(object))
}

/// Returns what a file says that has at most so many bytes.
fn text(fs: &dyn Fs, root: &mut Root<'_>, path: &Path, most: u64) -> Option<Vec<u8>> {
    let (dir, leaf) = root.above(path).ok()?;
    let found = fs.node(dir.as_fd(), leaf).ok()?.status;
    let is_small = found.kind == Kind::File && found.size <= most;
    is_small.then(|| read_all(fs, dir.as_fd(), Path::new(leaf)).ok()).flatten()
}
