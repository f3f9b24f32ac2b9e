//! Room for what is noted of a batch, taken before anything of the trees changes: a disk that fills up meanwhile must
//! not keep what was done from being known.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::SyncError;
use super::collect::io;
use super::file::gone;
use super::journal::{LEDGER, LEDGER_NEW, UNDO};
use crate::fs::{Errno, Fs, Open};

/// Takes room for a ledger with a batch whose journal has so many bytes: a step is noted as it was planned, and with
/// it what it left.
///
/// A file system that can't set room aside has none taken, and where files may not be as large (`ulimit -f`) the ledger
/// itself may be smaller.
///
/// # Errors
/// A failing call, as where there is no such room.
pub(super) fn reserve(
    fs: &dyn Fs,
    run: BorrowedFd<'_>,
    journal: u64,
) -> std::result::Result<(), SyncError> {
    let undo = fs.open_below(run, Path::new(UNDO), Open::List);
    let undo = undo.map_err(io("open", Path::new(UNDO)))?;
    let ledger = match fs.status(undo.as_fd(), LEDGER.as_ref()) {
        Err(Errno::NOENT) => 0,
        status => status.map_err(io("look at", Path::new(LEDGER)))?.size,
    };
    let failed = || io("make room for", Path::new(LEDGER));
    gone(fs.unlink(undo.as_fd(), LEDGER_NEW.as_ref())).map_err(failed())?;
    let file = fs.create_file(undo.as_fd(), LEDGER_NEW.as_ref()).map_err(failed())?;
    match fs.allocate(file.as_fd(), ledger + 2 * journal) {
        Err(Errno::OPNOTSUPP | Errno::FBIG) => Ok(()),
        allocated => allocated.map_err(failed()),
    }
}
