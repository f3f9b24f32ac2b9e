//! System calls that a filter announces to its listener: `seccomp_unotify(2)`, which no crate wraps.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

use super::check;

/// A call that waits for an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announced {
    id: u64,
    /// The caller's process id, as this process sees it.
    pub(crate) pid: u32,
    /// The number of the call.
    pub(crate) number: i32,
    /// Its arguments.
    pub(crate) arguments: [u64; 6],
}

/// Takes the next call that was announced; `ENOENT` when the caller has gone meanwhile.
pub(crate) fn receive(listener: BorrowedFd<'_>) -> Result<Announced, Errno> {
    // SAFETY: all-zero bytes are a value of this structure, which the kernel asks for.
    let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    let request = libc::SECCOMP_IOCTL_NOTIF_RECV;
    // SAFETY: the kernel writes one such structure, which lives across the call.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), request, &raw mut call) };
    check(result.into())?;
    Ok(Announced { id: call.id, pid: call.pid, number: call.data.nr, arguments: call.data.args })
}

/// Returns whether the caller still waits, so that its process id is its own.
pub(crate) fn still_waits(listener: BorrowedFd<'_>, call: &Announced) -> bool {
    let request = libc::SECCOMP_IOCTL_NOTIF_ID_VALID;
    // SAFETY: the kernel reads one number, which lives across the call.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), request, &raw const call.id) };
    result == 0
}

/// Has the kernel carry the call out as if nobody had listened.
pub(crate) fn let_go_on(listener: BorrowedFd<'_>, call: &Announced) {
    let flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or(1);
    let mut answer = libc::seccomp_notif_resp { id: call.id, val: 0, error: 0, flags };
    let request = libc::SECCOMP_IOCTL_NOTIF_SEND;
    // SAFETY: the kernel reads one such structure, which lives across the call. A caller that has
    // gone needs no answer.
    unsafe { libc::ioctl(listener.as_raw_fd(), request, &raw mut answer) };
}
