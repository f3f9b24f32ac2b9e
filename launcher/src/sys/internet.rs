//! Sockets of the internet families that never block, one kind for both versions of addresses.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::sockopt::{
    set_ipv6_freebind, set_ipv6_v6only, set_socket_reuseaddr, set_tcp_congestion,
};
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, connect, getsockname, listen, socket_with,
};

/// What waits in a listening socket until it is accepted.
const BACKLOG: i32 = 1024;

/// Makes a socket that takes addresses of both versions; of the fourth alone where the kernel has
/// no other.
pub(crate) fn socket(kind: SocketType) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    match socket_with(AddressFamily::INET6, kind, flags, None) {
        Ok(socket) => {
            set_ipv6_v6only(&socket, false)?;
            // An address of a range that is local as a whole stands on no interface.
            set_ipv6_freebind(&socket, true)?;
            Ok(socket)
        }
        Err(Errno::AFNOSUPPORT) => socket_with(AddressFamily::INET, kind, flags, None),
        Err(errno) => Err(errno),
    }
}

/// Lets a socket have no address that no interface has: a mistaken one would be taken.
pub(crate) fn only_own_addresses(socket: BorrowedFd<'_>) {
    // One of the fourth version has no such option, and no need for it.
    let _ = set_ipv6_freebind(socket, false);
}

/// What a socket, or those that a listening one takes, sends stays on this machine: the kernel
/// needs not find out what the way bears. Its default may, by timers between packets (tcp(7)).
pub(crate) fn stays_here(socket: BorrowedFd<'_>) {
    // Every kernel has it; without it, sending takes more time and that is all.
    let _ = set_tcp_congestion(socket, "reno");
}

/// Gives a socket its address, whatever its family.
pub(crate) fn bind_to(socket: BorrowedFd<'_>, at: SocketAddr) -> Result<(), Errno> {
    with_address(socket, at, |socket, at| bind(socket, &at))
}

/// Lets a socket take connections at an address.
pub(crate) fn listen_at(socket: BorrowedFd<'_>, at: SocketAddr) -> Result<(), Errno> {
    set_socket_reuseaddr(socket, true)?;
    bind_to(socket, at)?;
    listen(socket, BACKLOG)
}

/// Begins to connect a socket; whether that succeeds is known when it becomes writable.
pub(crate) fn begin_connect(socket: BorrowedFd<'_>, to: SocketAddr) -> Result<(), Errno> {
    match with_address(socket, to, |socket, to| connect(socket, &to)) {
        Err(Errno::INPROGRESS) => Ok(()),
        other => other,
    }
}

/// Calls with the address in the family of the socket.
fn with_address(
    socket: BorrowedFd<'_>,
    address: SocketAddr,
    call: impl Fn(BorrowedFd<'_>, SocketAddr) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let own: SocketAddr = getsockname(socket)?.try_into()?;
    let ip = match (own.ip(), address.ip()) {
        (IpAddr::V6(_), IpAddr::V4(v4)) => IpAddr::V6(v4.to_ipv6_mapped()),
        (IpAddr::V4(_), IpAddr::V6(_)) => return Err(Errno::AFNOSUPPORT),
        (_, ip) => ip,
    };
    call(socket, SocketAddr::new(ip, address.port()))
}

/// The address that a socket of both versions means.
pub(crate) fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
