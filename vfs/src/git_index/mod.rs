//! Which paths a git work tree tracks and which contents, read from its index; no program is run.
//!
//! An own reader: gix-index 0.58 without features brings 84 packages into the lock file, and all
//! that is asked here is the list of names, and the ids of a few. Formats 2, 3 and 4 are read, with SHA-1 and SHA-256
//! ids. A split index is refused, and the checksum is not verified: who can write the index can
//! write a right checksum.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

mod blobs;
mod check;
mod find;
mod older;
mod parse;
mod stamp;
mod tracked;
mod trees;
mod untracked;
mod warning;
mod window;

pub use blobs::{Blob, blobs};
pub use check::{Beside, check};
pub use find::{load, load_blobs};
pub use older::Stored;
pub use stamp::Stamp;
pub use tracked::Tracked;
pub use warning::{IndexFault, IndexWarning};

/// Reads which paths the bytes of an index track.
///
/// # Errors
/// The bytes are no index, or one of a kind that is not read.
pub fn tracked(bytes: &[u8]) -> Result<Tracked, IndexFault> {
    parse::parse(&bytes, &|_| true)
}

/// Digests what the index in an open file says of the paths that it tracks. It stays the same when git only
/// looks at the files anew, as `git status` does.
///
/// # Errors
/// The file is no index, or one of a kind that is not read.
pub(crate) fn digest(file: &OwnedFd) -> Result<[u8; 32], IndexWarning> {
    let path = Path::new("index");
    parse::digest(&find::IndexFile::new(path, file)?).map_err(find::unusable(path))
}

/// Reads which paths a sparse checkout leaves out of the work tree; of a sparse index, whole
/// directories.
///
/// # Errors
/// As [`tracked()`], and more names than are kept.
pub(crate) fn skipped(bytes: &[u8]) -> Result<BTreeSet<PathBuf>, IndexFault> {
    parse::parse_skipped(&bytes)
}

#[cfg(test)]
mod tests;
