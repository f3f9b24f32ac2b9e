//! What was taken out of a live tree for what it is below a link: by its own path nobody would hold it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use crate::fs::{Fs, Result, write_anew};
use crate::path_list;

/// Their paths, beside a layer.
const JUDGED: &str = "judged";

/// Notes more of them.
pub(super) fn note(fs: &dyn Fs, upper: BorrowedFd<'_>, paths: &[&Path]) -> Result<()> {
    let beside = fs.open_dir(upper, OsStr::new(".."))?;
    let mut all = judged(fs, beside.as_fd())?;
    all.extend(paths.iter().map(|path| (*path).to_owned()));
    let list = path_list::text(all.iter().map(PathBuf::as_path));
    write_anew(fs, beside.as_fd(), OsStr::new(JUDGED), &list)
}

/// Returns those of a layer, by the directory that it is in.
///
/// # Errors
/// A failing call.
pub fn judged(fs: &dyn Fs, layer: BorrowedFd<'_>) -> Result<BTreeSet<PathBuf>> {
    path_list::read(fs, layer, JUDGED).map(|paths| paths.into_iter().collect())
}
