//! Directories that announce new names by a signal: `F_NOTIFY` of fcntl(2), which no crate wraps.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

use super::check;

/// Numbers of the kernel that the libc crate does not have for every target.
const F_SETSIG: libc::c_int = 10;
const F_NOTIFY: libc::c_int = 1026;
const DN_CREATE: libc::c_uint = 0x4;
const DN_RENAME: libc::c_uint = 0x10;
const DN_MULTISHOT: libc::c_uint = 0x8000_0000;

/// Returns the signal that tells of new names: of those that queue, the first.
pub(crate) fn signal() -> i32 {
    libc::SIGRTMIN()
}

/// Has the kernel send [`signal`] with the number of `directory` whenever a name comes into being
/// there. The signal must be blocked. Closing the descriptor ends it.
pub(crate) fn watch(directory: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: the kernel takes any descriptor and number.
    let result = unsafe { libc::fcntl(directory.as_raw_fd(), F_SETSIG, signal()) };
    check(result.into())?;
    let events = DN_CREATE | DN_RENAME | DN_MULTISHOT;
    // SAFETY: the kernel takes any descriptor and bits.
    let result = unsafe { libc::fcntl(directory.as_raw_fd(), F_NOTIFY, events) };
    check(result.into()).map(drop)
}
