//! Whether somebody else has a file open, by leases of the kernel.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use endow_vfs::sync::Alone;
use rustix::fs::FileType;

use crate::sys;

/// How long after its name was looked up a file may be opened still.
const LATE: Duration = Duration::from_millis(5);

/// By leases of the kernel.
pub(super) struct Leases;

impl Alone for Leases {
    fn take(&self, file: BorrowedFd<'_>) -> bool {
        let is_file = rustix::fs::fstat(file)
            .is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::RegularFile);
        is_file && sys::lease::take(file).is_ok()
    }

    fn is_alone_still(&self, file: BorrowedFd<'_>) -> bool {
        std::thread::sleep(LATE);
        sys::lease::is_unbroken(file)
    }
}
