//! Waiting for who is cutting a file short.

use std::ffi::OsStr;
use std::os::fd::BorrowedFd;

use crate::fs::{At, Fs, Result, next_data};

/// An attribute of no namespace that there is: no file has it.
const NO_ATTRIBUTE: &str = "endow.none";

/// Waits until nobody is cutting short the file that has this name.
///
/// `O_TRUNC` and ftruncate(2) set a file's size first and its times last. The kernel may take
/// milliseconds between the two, in which the file is shorter and as old as it was. It holds the
/// inode's lock until the times are set, and so does what is asked here: looking for data takes the
/// lock on most file systems, reading on XFS. Where there is no data, btrfs says so without; taking
/// away an attribute takes the lock on all of them, and this one is not there to be taken.
///
/// # Errors
/// The file can't be read.
pub(super) fn wait_for_cut(fs: &dyn Fs, file: BorrowedFd<'_>, at: At<'_>) -> Result<()> {
    let length = fs.read_at(file, &mut [0], 0)?;
    next_data(fs, file, 0)?;
    if length == 0 {
        let _: Result<()> = fs.remove_attribute(at, OsStr::new(NO_ATTRIBUTE));
    }
    Ok(())
}
