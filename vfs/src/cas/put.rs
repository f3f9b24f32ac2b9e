//! A directory of the disk, put into a store as a tree.

mod error;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

pub use error::PutError;

use super::message::{ListedDirectory, Listing};
use super::tree::DIRECTORY_MAX;
use super::{Digest, Publishing};
use crate::fs::Fs;
use crate::snapshot::Bounds;
use walk::{Part, Walk};

/// What was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put {
    /// The digest of the `Directory` message of the tree.
    pub root: Digest,
    /// How many regular files the tree has.
    pub files: u64,
    /// The bytes in them.
    pub bytes: u64,
    /// Those of these bytes that were not in the store before.
    pub new_bytes: u64,
}

/// Puts all that is in an open directory: regular files with their bits for execution, which
/// count when any is set, symbolic links as they are, and directories.
///
/// It follows no link and enters no other mount. What changes meanwhile is no error: what is named
/// is what was copied, of a file no more than the size it had when it was opened, and what vanishes
/// is left out. Two threads read; both are joined when it returns.
///
/// # Errors
/// A device, socket or FIFO, a name that is no UTF-8, a tree that passes the bounds, or a failing
/// call. Objects that were put by then stay, until they are collected.
pub fn put_tree(
    fs: &dyn Fs,
    publishing: &Publishing<'_>,
    dir: BorrowedFd<'_>,
    bounds: Bounds,
) -> Result<Put, PutError> {
    let found = Walk::new(fs, publishing, dir, bounds).all()?;
    let root = put_directories(publishing, found.parts)?;
    Ok(Put { root, files: found.files, bytes: found.bytes, new_bytes: found.new_bytes })
}

/// Puts the messages of all directories, those first that are in others.
fn put_directories(
    publishing: &Publishing<'_>,
    mut parts: HashMap<PathBuf, Part>,
) -> Result<Digest, PutError> {
    let mut paths: Vec<PathBuf> = parts.keys().cloned().collect();
    paths.sort_by_cached_key(|path| std::cmp::Reverse(path.components().count()));
    let mut last = Digest::EMPTY;
    for path in paths {
        let Some(part) = parts.remove(&path) else { continue };
        last = put_directory(publishing, &path, part)?;
        let Some(above) = path.parent().and_then(|above| parts.get_mut(above)) else { continue };
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        above.directories.push(ListedDirectory { name: name.to_owned(), digest: last });
    }
    Ok(last)
}

fn put_directory(publishing: &Publishing<'_>, path: &Path, part: Part) -> Result<Digest, PutError> {
    let Part { files, directories, symlinks } = part;
    let listing = Listing::new(files, directories, symlinks);
    // A directory that is written to while it is listed may show a name twice.
    let changed = |_| PutError::Source { path: shown(path), errno: crate::fs::Errno::STALE };
    let message = listing.map_err(changed)?.encode();
    if message.len() as u64 > DIRECTORY_MAX {
        let (of, limit) = ("bytes in the message of a directory", DIRECTORY_MAX);
        return Err(PutError::TooLarge { path: shown(path), of, limit });
    }
    Ok(publishing.put_bytes(&message)?.digest)
}

/// Returns the path of something for a message.
fn shown(path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() }
}
