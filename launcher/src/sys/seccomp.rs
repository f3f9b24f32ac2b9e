//! Installing a seccomp filter, with or without a listener.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use rustix::io::Errno;

use super::check;

/// One instruction of a filter, laid out as the kernel's `sock_filter`.
pub(crate) type Instruction = libc::sock_filter;

/// Whether the supervisor wants to hear of calls that the filter marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listener {
    /// No call is announced.
    None,
    /// The kernel returns a descriptor on which marked calls are announced.
    Wanted,
}

/// Installs `filter` for the calling thread and what it executes; no_new_privs must be set.
pub(crate) fn install(
    filter: &[Instruction],
    listener: Listener,
) -> Result<Option<OwnedFd>, Errno> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| Errno::INVAL)?,
        filter: filter.as_ptr().cast_mut(),
    };
    if listener == Listener::None {
        return set(&program, 0).map(|_| None);
    }
    let wanted = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // A caller that waits for an answer is not woken by each signal (Linux 5.19).
    let number = match set(&program, wanted | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) {
        Err(Errno::INVAL) => set(&program, wanted),
        other => other,
    };
    owned(number?).map(Some)
}

fn set(program: &libc::sock_fprog, flags: libc::c_ulong) -> Result<libc::c_long, Errno> {
    let program: *const libc::sock_fprog = program;
    // SAFETY: `program` points to a filter that the kernel only reads; both live across the call.
    let result =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, program) };
    check(result)
}

fn owned(value: libc::c_long) -> Result<OwnedFd, Errno> {
    let number = RawFd::try_from(value).map_err(|_| Errno::OVERFLOW)?;
    // SAFETY: the kernel returned a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Returns whether this kernel knows an action of filters.
pub(crate) fn knows_action(action: u32) -> bool {
    // SAFETY: the call reads one number, which lives across it.
    let result = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action)
    };
    result == 0
}
