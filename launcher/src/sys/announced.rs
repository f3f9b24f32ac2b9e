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
    /// The architecture whose calls it makes, as `AUDIT_ARCH_*`.
    pub(crate) arch: u32,
    /// The number of the call.
    pub(crate) number: i32,
    /// Its arguments.
    pub(crate) arguments: [u64; 6],
}

#[cfg(test)]
impl Announced {
    /// Returns a call that nobody makes.
    pub(crate) fn of(pid: u32, arch: u32, (number, arguments): (i32, [u64; 6])) -> Self {
        Self { id: 0, pid, arch, number, arguments }
    }
}

/// Takes the next call that was announced; `ENOENT` when the caller has gone meanwhile.
pub(crate) fn receive(listener: BorrowedFd<'_>) -> Result<Announced, Errno> {
    // SAFETY: all-zero bytes are a value of this structure, which the kernel asks for.
    let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    let request = libc::SECCOMP_IOCTL_NOTIF_RECV;
    // SAFETY: the kernel writes one such structure, which lives across the call.
    let result = unsafe { libc::ioctl(listener.as_raw_fd(), request, &raw mut call) };
    check(result.into())?;
    let libc::seccomp_data { nr: number, arch, args: arguments, .. } = call.data;
    Ok(Announced { id: call.id, pid: call.pid, arch, number, arguments })
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
    send(listener, libc::seccomp_notif_resp { id: call.id, val: 0, error: 0, flags });
}

/// Tells the caller that its call is done, which the kernel does not carry out.
pub(crate) fn is_done(listener: BorrowedFd<'_>, call: &Announced) {
    send(listener, libc::seccomp_notif_resp { id: call.id, val: 0, error: 0, flags: 0 });
}

/// Answers the call with an error, in the kernel's place.
pub(crate) fn refuse(listener: BorrowedFd<'_>, call: &Announced, errno: Errno) {
    let error = -errno.raw_os_error();
    send(listener, libc::seccomp_notif_resp { id: call.id, val: 0, error, flags: 0 });
}

fn send(listener: BorrowedFd<'_>, mut answer: libc::seccomp_notif_resp) {
    let request = libc::SECCOMP_IOCTL_NOTIF_SEND;
    let mut sent = (0..TRIES).map(|_| {
        // SAFETY: the kernel reads one such structure, which lives across the call.
        check(unsafe { libc::ioctl(listener.as_raw_fd(), request, &raw mut answer) }.into())
    });
    // A caller that has gone needs no answer. One that got none would wait for ever.
    sent.find(|sent| matches!(sent, Ok(_) | Err(Errno::NOENT)));
}

/// How often an answer is given that the kernel does not take.
const TRIES: usize = 3;

/// The flag of Linux 6.6, which the libc crate has not.
const SYNC_WAKE_UP: libc::c_ulong = 1;

/// Has caller and listener wake each other on the same processor, as one waits for the other anyway:
/// an announcement then takes half of the time (measured). Older kernels can't, and go on as they did.
pub(crate) fn wake_in_turn(listener: BorrowedFd<'_>) {
    // SAFETY: the kernel takes the flags as a number.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP) };
}
