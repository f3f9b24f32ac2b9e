//! Whose a stage at the root of a target is: a link in it, made at once and leading nowhere, names
//! the directory that the run is in.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};

use super::Identity;
use crate::fs::{Errno, Fs, Result};

/// The name of the link; all else in a stage is named by a number.
const OWNER: &str = "owner";

/// Notes that a stage is that of a run.
///
/// # Errors
/// A failing call.
pub fn mark_stage(fs: &dyn Fs, stage: BorrowedFd<'_>, run: BorrowedFd<'_>) -> Result<()> {
    let runs = fs.open_dir(run, OsStr::new(".."))?;
    match fs.make_symlink(&mark(fs, runs.as_fd())?, stage, OsStr::new(OWNER)) {
        Err(Errno::EXIST) => Ok(()),
        result => result,
    }
}

/// Returns whether a stage is that of a run which is, or was, in `runs`. A killed write-back of
/// another state directory may have left it, with the only copy of what it displaced.
pub fn is_stage_of(fs: &dyn Fs, stage: BorrowedFd<'_>, runs: BorrowedFd<'_>) -> bool {
    let found = fs.read_link(stage, OsStr::new(OWNER));
    found.is_ok_and(|found| mark(fs, runs).is_ok_and(|mark| mark == found))
}

/// Device numbers may change when the machine starts; a time of birth does not.
fn mark(fs: &dyn Fs, runs: BorrowedFd<'_>) -> Result<OsString> {
    let Identity { dev, ino, born } = Identity::from(&fs.node(runs, OsStr::new(""))?);
    let text = match born {
        Some(born) => format!("{ino}.{}.{}", born.seconds, born.nanoseconds),
        None => format!("{dev}.{ino}"),
    };
    Ok(text.into())
}
