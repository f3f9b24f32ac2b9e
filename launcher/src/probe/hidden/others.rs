//! Other runs, whose commands may move what is looked at.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use endow_vfs::fs::{Errno, Fs, OsFs};

/// Whether one of this user's is going on, or is being worked on. One whose state can't be looked at counts.
pub(super) fn is_any_going_on(runs: &Path) -> bool {
    let opened = runs.canonicalize().map_err(|error| error.kind());
    let runs = match opened.map(|runs| OsFs.open_canonical(&runs)) {
        Err(ErrorKind::NotFound) => return false,
        Ok(Ok(runs)) => runs,
        Err(_) | Ok(Err(_)) => return true,
    };
    let listed = OsFs.open_dir(runs.as_fd(), OsStr::new("."));
    let Ok(names) = listed.and_then(|it| OsFs.list(it.as_fd(), usize::MAX)) else { return true };
    let is_going_on = |name: &OsStr| match OsFs.open_dir(runs.as_fd(), name) {
        Ok(run) => OsFs.lock_shared(run.as_fd()) == Err(Errno::WOULDBLOCK),
        // It has ended meanwhile, or is none.
        Err(errno) => !matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP),
    };
    // One that is being made has no command yet, and nobody may be in the way of its lock.
    let mut made = names.iter().filter(|entry| !entry.name.as_bytes().starts_with(b"."));
    made.any(|entry| is_going_on(&entry.name))
}
