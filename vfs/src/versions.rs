//! Both versions of the paths at which two trees differ, as files that can be looked at.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::fs::{Errno, Fs, write_all};

/// The largest content that is exported.
pub const VERSION_MAX: u64 = 64 << 20;
/// The most paths that are told.
pub(crate) const PATHS_MAX: usize = 200_000;

/// What two trees have at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    path: Vec<u8>,
    /// What was there.
    pub old: Option<Version>,
    /// What is there now.
    pub new: Option<Version>,
    /// Both have the same bytes.
    pub is_same_content: bool,
}

/// What one tree has at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// What kind of file.
    pub kind: VersionKind,
    /// The bytes of its content, or of a link's target.
    pub size: u64,
    /// The name of the file that has these; none when they are too many.
    pub file: Option<u32>,
}

/// A kind of file, as trees know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VersionKind {
    /// A file.
    File,
    /// A file that can be run.
    Executable,
    /// A symbolic link.
    Symlink,
    /// A directory.
    Directory,
    /// A commit of another repository.
    Submodule,
}

impl Versions {
    pub(crate) fn new(path: &Path) -> Self {
        let path = path.as_os_str().as_bytes().to_vec();
        Self { path, old: None, new: None, is_same_content: false }
    }

    /// Returns the path, below the root of the trees.
    pub fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }
}

/// Where versions go, and which.
pub struct Export<'a> {
    fs: &'a dyn Fs,
    dir: BorrowedFd<'a>,
    wanted: &'a [PathBuf],
    left: u64,
    next: u32,
}

impl<'a> Export<'a> {
    /// Exports what is at and below the wanted paths into a directory, up to a number of bytes. Without
    /// a path, all are wanted.
    pub fn new(fs: &'a dyn Fs, dir: BorrowedFd<'a>, (wanted, bytes): (&'a [PathBuf], u64)) -> Self {
        Self { fs, dir, wanted, left: bytes, next: 0 }
    }

    pub(crate) fn fs(&self) -> &'a dyn Fs {
        self.fs
    }

    pub(crate) fn dir(&self) -> BorrowedFd<'a> {
        self.dir
    }

    pub(crate) fn takes(&self, path: &Path) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| path.starts_with(wanted))
    }

    /// Returns whether a content is to be read.
    pub(crate) fn has_room(&self, size: u64) -> bool {
        size <= VERSION_MAX && size <= self.left
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<u32, Errno> {
        let name = self.next;
        let file = self.fs.create_file(self.dir, name.to_string().as_ref())?;
        write_all(self.fs, file.as_fd(), bytes)?;
        self.next += 1;
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Ok(name)
    }
}
