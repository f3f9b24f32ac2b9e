//! The contents that an index names for some files.

use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::path::Path;

use super::find::{IndexFile, unreadable, unusable};
use super::parse::parse_blobs;
use super::{IndexWarning, Stamp, Tracked};
use crate::fs::{Fs, OsFs};

const INDEX: &str = "index";

/// What an index remembers of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blob {
    /// The SHA-1 name of the content.
    pub id: [u8; 20],
    /// The state of the file that had it.
    pub stamp: Stamp,
}

/// Returns what the index in a git directory remembers of the files that are wanted. Left out are
/// links and submodules, files with a conflict, those of which only the name was added, and all of
/// a repository with SHA-256 names. No link is followed.
///
/// # Errors
/// There is no index, or none that can be read.
pub fn blobs(
    git_dir: BorrowedFd<'_>,
    wanted: &dyn Fn(&[u8]) -> bool,
) -> Result<Tracked<Blob>, IndexWarning> {
    let path = Path::new(INDEX);
    let file = OsFs.open_file(git_dir, OsStr::new(INDEX)).map_err(unreadable(path))?;
    let index = IndexFile::new(path, &file)?;
    parse_blobs(&index, wanted).map_err(unusable(path))
}
