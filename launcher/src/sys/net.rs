//! Bringing the loopback interface of a new network namespace up.

use std::os::fd::AsRawFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::check;

/// Sets `lo` up, unless it is, which needs no capability; the kernel gives it its addresses.
pub(crate) fn loopback_up() -> Result<(), Errno> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: ifreq is plain old data for which all zeroes is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = libc::c_char::try_from(b'l').unwrap_or_default();
    request.ifr_name[1] = libc::c_char::try_from(b'o').unwrap_or_default();
    let up = libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or_default();
    // SAFETY: SIOCGIFFLAGS writes the flags of an ifreq, which lives across the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut request) }.into())?;
    // SAFETY: the call has written the flags, and any number is one.
    if unsafe { request.ifr_ifru.ifru_flags } & up == up {
        return Ok(());
    }
    request.ifr_ifru.ifru_flags = up;
    // SAFETY: SIOCSIFFLAGS reads an ifreq, which lives across the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    check(result.into()).map(drop)
}
