//! Which view a process has.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, fstat, openat, stat};

/// Returns the mount namespace of a process, by device and inode.
pub(super) fn of_process(pid: u32) -> Option<(u64, u64)> {
    let found = stat(format!("/proc/{pid}/ns/mnt")).ok()?;
    Some((found.st_dev, found.st_ino))
}

/// Returns the same of a namespace that is open.
pub(super) fn of_descriptor(namespace: BorrowedFd<'_>) -> Option<(u64, u64)> {
    let found = fstat(namespace).ok()?;
    Some((found.st_dev, found.st_ino))
}

/// Opens the root of a process.
pub(super) fn root(pid: u32) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, format!("/proc/{pid}/root"), flags, Mode::empty()).ok()
}
