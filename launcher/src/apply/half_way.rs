//! A note in the run's directory, where no command comes, that a directory is half-way into its layer.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, readlinkat, symlinkat, unlinkat};
use rustix::io::Errno;

/// A link to the directory: it is there with what it says, or not at all.
const NAME: &str = "half-way";

/// The note on one directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HalfWay<'a> {
    run: BorrowedFd<'a>,
    path: &'a Path,
}

impl<'a> HalfWay<'a> {
    /// Returns the note on the directory at a path of the view, still to be written.
    pub(crate) fn new(run: BorrowedFd<'a>, path: &'a Path) -> Self {
        Self { run, path }
    }

    /// Writes the note; an error when another one stands, whose directory nobody brought to an end.
    pub(crate) fn begin(&self) -> Result<(), Errno> {
        symlinkat(self.path, self.run, NAME)
    }

    /// Takes the note away.
    pub(crate) fn end(&self) -> Result<(), Errno> {
        unlinkat(self.run, NAME, AtFlags::empty())
    }
}

/// Returns the directory that a run left half-way in its layer, as the view names it.
pub(crate) fn half_way(run: BorrowedFd<'_>) -> Option<PathBuf> {
    match readlinkat(run, NAME, Vec::new()) {
        Ok(path) => Some(PathBuf::from(OsString::from_vec(path.into_bytes()))),
        Err(Errno::NOENT) => None,
        Err(_) => Some(PathBuf::from(NAME)),
    }
}

/// Hands the note of one run on to another that begins with its layers.
pub(super) fn hand_on(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<(), Errno> {
    half_way(from).map_or(Ok(()), |path| HalfWay::new(to, &path).begin())
}
