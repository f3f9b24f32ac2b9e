//! Sockets that pid 1 makes in its network namespace for the supervisor. They stay in the namespace
//! in which they were made, whoever holds them.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::SocketType;

use super::message::Message;
use crate::sys::socket::DESCRIPTORS_MAX;
use crate::sys::{self, internet, route};

/// The sockets that were made so far. Each says by itself what it is: by its type, and by its address.
#[derive(Debug, Default)]
pub(super) struct Sockets(Vec<OwnedFd>);

/// Makes a range of addresses local; does nothing for one of IPv6 where the kernel has no IPv6.
pub(super) fn local(address: IpAddr, prefix_len: u8) -> Result<(), Errno> {
    unless_unknown(address, route::make_local(address, prefix_len))
}

impl Sockets {
    /// Makes a socket at an address: what comes waits there until the supervisor looks.
    pub(super) fn serve(&mut self, stream: bool, at: SocketAddr) -> Result<(), Errno> {
        let kind = if stream { SocketType::STREAM } else { SocketType::DGRAM };
        let socket = internet::socket(kind)?;
        let bound = if stream {
            internet::listen_at(socket.as_fd(), at)
        } else {
            internet::bind_to(socket.as_fd(), at)
        };
        self.0.extend(bound.is_ok().then_some(socket));
        unless_unknown(at.ip(), bound)
    }

    /// Makes sockets that have no address yet.
    pub(super) fn spare(&mut self, count: u16) -> Result<(), Errno> {
        (0..count).try_for_each(|_| internet::socket(SocketType::STREAM).map(|it| self.0.push(it)))
    }

    /// Hands the sockets to the supervisor.
    pub(super) fn send(&mut self, socket: BorrowedFd<'_>) -> Result<(), Errno> {
        let sockets = std::mem::take(&mut self.0);
        for some in sockets.chunks(DESCRIPTORS_MAX) {
            let some: Vec<BorrowedFd<'_>> = some.iter().map(AsFd::as_fd).collect();
            sys::socket::send(socket, &Message::Sockets.encode(), &some)?;
        }
        Ok(())
    }
}

/// Takes the failure of a kernel without IPv6 for none: nobody inside can use an address of that either.
fn unless_unknown(address: IpAddr, result: Result<(), Errno>) -> Result<(), Errno> {
    match result {
        Err(
            Errno::AFNOSUPPORT
            | Errno::ADDRNOTAVAIL
            | Errno::OPNOTSUPP
            | Errno::NODEV
            | Errno::ACCESS,
        ) if address.is_ipv6() => Ok(()),
        other => other,
    }
}
