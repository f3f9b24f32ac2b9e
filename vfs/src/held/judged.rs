//! What was taken out of a live tree for what it is below a link: by its own path nobody would hold it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::fs::{Errno, Fs, Result, read_all, write_anew};

/// Their paths beside a layer, each with a NUL at its end.
const JUDGED: &str = "judged";

/// Notes more of them.
pub(super) fn note(fs: &dyn Fs, upper: BorrowedFd<'_>, paths: &[&Path]) -> Result<()> {
    let beside = fs.open_dir(upper, OsStr::new(".."))?;
    let mut all = judged(fs, beside.as_fd())?;
    all.extend(paths.iter().map(|path| (*path).to_owned()));
    let texts = all.iter().map(|path| [path.as_os_str().as_bytes(), b"\0"].concat());
    write_anew(fs, beside.as_fd(), OsStr::new(JUDGED), &texts.collect::<Vec<_>>().concat())
}

/// Returns those of a layer, by the directory that it is in.
///
/// # Errors
/// A failing call.
pub fn judged(fs: &dyn Fs, layer: BorrowedFd<'_>) -> Result<BTreeSet<PathBuf>> {
    let text = match read_all(fs, layer, Path::new(JUDGED)) {
        Err(Errno::NOENT) => return Ok(BTreeSet::new()),
        text => text?,
    };
    let paths = text.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| PathBuf::from(OsString::from_vec(path.to_vec()))).collect())
}
