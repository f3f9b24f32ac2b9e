//! The foreground process group of a terminal.

use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;

use super::check;

/// Returns the process group in the foreground of a terminal.
pub(crate) fn foreground(terminal: impl AsFd) -> Option<i32> {
    // SAFETY: tcgetpgrp takes any descriptor and only reads.
    let group = unsafe { libc::tcgetpgrp(terminal.as_fd().as_raw_fd()) };
    (group > 0).then_some(group)
}

/// Puts a process group in the foreground; SIGTTOU must be blocked or ignored.
pub(crate) fn set_foreground(terminal: impl AsFd, group: i32) -> Result<(), Errno> {
    // SAFETY: the kernel takes any numbers.
    let result = unsafe { libc::tcsetpgrp(terminal.as_fd().as_raw_fd(), group) };
    check(result.into()).map(drop)
}

/// Returns whether this process leads its session. Inside another endow the leader has no number.
pub(crate) fn leads_session() -> bool {
    // SAFETY: the kernel takes any number; 0 is this process.
    let session = unsafe { libc::getsid(0) };
    session == rustix::process::getpid().as_raw_pid()
}

/// Returns whether a process group has a process.
pub(crate) fn is_alive(group: i32) -> bool {
    // SAFETY: signal 0 is never delivered; the kernel takes any numbers.
    let result = unsafe { libc::killpg(group, 0) };
    check(result.into()) != Err(Errno::SRCH)
}
