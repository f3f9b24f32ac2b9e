//! Which directories of the host the command of a run changes at once, for runs that begin meanwhile: it can move what
//! they are about to hide.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use super::layout::LIVE;
use crate::fs::{Fs, Result, write_all};
use crate::path_list;

/// Notes them, before the command starts.
///
/// # Errors
/// A failing call.
pub fn note_live<'p>(
    fs: &dyn Fs,
    run: BorrowedFd<'_>,
    roots: impl Iterator<Item = &'p Path>,
) -> Result<()> {
    let file = fs.create_file(run, OsStr::new(LIVE))?;
    write_all(fs, file.as_fd(), &path_list::text(roots))
}

/// Returns those of a run; none where its command has not started, or changes no directory at once.
///
/// # Errors
/// A failing call.
pub fn live_roots(fs: &dyn Fs, run: BorrowedFd<'_>) -> Result<Vec<PathBuf>> {
    path_list::read(fs, run, LIVE)
}
