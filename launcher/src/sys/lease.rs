//! Leases on files: nobody else has the file open, and whoever opens it waits (fcntl(2)).

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::check;

/// Takes a lease, which ends when the descriptor is closed: of one for reading a read lease, which
/// fails with `AGAIN` when somebody has the file open for writing, else a write lease, which fails
/// when somebody else has it open. The kernel announces by SIGIO that somebody waits: it must be
/// blocked.
pub(crate) fn take(file: BorrowedFd<'_>) -> Result<(), Errno> {
    let is_for_reading = rustix::fs::fcntl_getfl(file)? & OFlags::ACCMODE == OFlags::RDONLY;
    let kind = if is_for_reading { libc::F_RDLCK } else { libc::F_WRLCK };
    // SAFETY: the call takes two numbers, and the descriptor is open.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) };
    check(result.into()).map(drop)
}

/// Returns whether a write lease holds and nobody waits for its end.
pub(crate) fn is_unbroken(file: BorrowedFd<'_>) -> bool {
    // SAFETY: the call takes two numbers, and the descriptor is open.
    let lease = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLEASE) };
    lease == libc::F_WRLCK
}
