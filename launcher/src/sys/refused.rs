//! System calls that a filter shall refuse, made in a way that does nothing where none does.

use rustix::io::Errno;

use super::last_errno;

/// `unshare(2)` for a user namespace, with a bit that the kernel knows none of.
const UNSHARE: libc::c_long = (libc::CLONE_NEWUSER | 1) as libc::c_long;
/// ADDR_NO_RANDOMIZE of personality(2), for this process alone.
const PERSONALITY: libc::c_long = 0x0004_0000;
/// No command, descriptor or flags.
const NONE: libc::c_long = -1;

/// Makes the call of this name; `None` for one that can't be made without effect.
///
/// Without a filter they end with EBADF, EINVAL, EFAULT or EOPNOTSUPP; `personality` and
/// `socket` work, and concern nobody else.
pub(crate) fn refused(name: &str) -> Option<Result<(), Errno>> {
    let (number, arguments) = match name {
        "setns" => (libc::SYS_setns, [NONE, 0, 0, 0, 0]),
        "unshare" => (libc::SYS_unshare, [UNSHARE, 0, 0, 0, 0]),
        "clone3" => (libc::SYS_clone3, [0, 0, 0, 0, 0]),
        "io_uring_setup" => (libc::SYS_io_uring_setup, [0, 0, 0, 0, 0]),
        "keyctl" => (libc::SYS_keyctl, [NONE, 0, 0, 0, 0]),
        "perf_event_open" => (libc::SYS_perf_event_open, [0, 0, NONE, NONE, NONE]),
        "userfaultfd" => (libc::SYS_userfaultfd, [NONE, 0, 0, 0, 0]),
        "bpf" => (libc::SYS_bpf, [NONE, 0, 0, 0, 0]),
        "personality" => (libc::SYS_personality, [PERSONALITY, 0, 0, 0, 0]),
        "socket" => {
            let (family, kind) = (libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC);
            let protocol = libc::NETLINK_KOBJECT_UEVENT;
            (libc::SYS_socket, [family.into(), kind.into(), protocol.into(), 0, 0])
        }
        "quotactl" => (libc::SYS_quotactl, [NONE, 0, 0, 0, 0]),
        "ioctl" => (libc::SYS_ioctl, [NONE, libc::TIOCSTI.cast_signed(), 0, 0, 0]),
        _ => return None,
    };
    let [first, second, third, fourth, fifth] = arguments;
    // SAFETY: no pointer among the arguments is other than null, and the numbers are those above.
    let answer = unsafe { libc::syscall(number, first, second, third, fourth, fifth, 0) };
    Some(if answer < 0 { Err(last_errno()) } else { Ok(()) })
}
