//! Sockets of the sandbox's network namespace that have no address yet.
//!
//! The first ones come from pid 1. More are made by a short-lived process that enters the namespace:
//! the supervisor can't, but it owns the user namespace and so may bind any socket of it, to a port
//! below 1024 as well (user_namespaces(7)).

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketType, getsockname};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::sys::clone::Cloned;
use crate::sys::{self, diagnosis, internet};

/// How many are made at once: as many as one message carries.
const AT_ONCE: usize = sys::socket::DESCRIPTORS_MAX;

/// The namespaces of a sandbox.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inside<'a> {
    /// The user namespace, which owns the other.
    pub(crate) user: BorrowedFd<'a>,
    /// The network namespace.
    pub(crate) network: BorrowedFd<'a>,
    /// The number of its first process, as the host sees it.
    pub(crate) pid_1: i32,
}

/// The sockets at hand.
#[derive(Debug, Default)]
pub(super) struct Spares(Vec<OwnedFd>);

impl Spares {
    /// Takes a socket that pid 1 made.
    pub(super) fn add(&mut self, socket: OwnedFd) {
        self.0.push(socket);
    }

    /// Takes a socket that could not listen, unless it has an address by now.
    pub(super) fn take_back(&mut self, socket: OwnedFd) {
        let at = getsockname(&socket).ok().and_then(|at| SocketAddr::try_from(at).ok());
        if at.is_some_and(|at| at.port() == 0) {
            self.add(socket);
        }
    }

    /// Gives a socket out; makes more when there is none.
    pub(super) fn take(&mut self, inside: Option<Inside<'_>>) -> Result<OwnedFd, Errno> {
        if self.0.is_empty() {
            self.0 = make(inside, Wanted::Sockets(SocketType::STREAM, AT_ONCE))?;
        }
        self.0.pop().ok_or(Errno::MFILE)
    }

    /// Makes a socket for datagrams.
    pub(super) fn datagrams(inside: Option<Inside<'_>>) -> Result<OwnedFd, Errno> {
        make(inside, Wanted::Sockets(SocketType::DGRAM, 1))?.pop().ok_or(Errno::MFILE)
    }
}

/// What is made inside.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Sockets(SocketType, usize),
    Asking,
}

impl Wanted {
    fn make(self) -> Result<Vec<OwnedFd>, Errno> {
        match self {
            Self::Sockets(kind, count) => (0..count).map(|_| internet::socket(kind)).collect(),
            Self::Asking => diagnosis::socket().map(|socket| vec![socket]),
        }
    }
}

/// Makes a socket that asks about those of the inside.
pub(super) fn asking(inside: Inside<'_>) -> Result<OwnedFd, Errno> {
    make(Some(inside), Wanted::Asking)?.pop().ok_or(Errno::MFILE)
}

fn make(inside: Option<Inside<'_>>, wanted: Wanted) -> Result<Vec<OwnedFd>, Errno> {
    let inside = inside.ok_or(Errno::NOTCONN)?;
    let (ours, theirs) = sys::socket::pair()?;
    match sys::clone::clone(0, None)? {
        Cloned::Child => {
            sys::clone::exit_now(i32::from(made_inside(inside, wanted, &theirs).is_err()))
        }
        Cloned::Parent { pid, pidfd } => {
            drop(theirs);
            sys::wait::within(pid, &pidfd, sys::wait::PATIENCE)?;
            let received = sys::socket::receive(&ours, &mut [0], RecvFlags::DONTWAIT);
            received.map(|(_, sockets)| sockets)
        }
    }
}

fn made_inside(inside: Inside<'_>, wanted: Wanted, to: &OwnedFd) -> Result<(), Errno> {
    move_into_link_name_space(inside.user, Some(LinkNameSpaceType::User))?;
    move_into_link_name_space(inside.network, Some(LinkNameSpaceType::Network))?;
    let made = wanted.make()?;
    let made: Vec<BorrowedFd<'_>> = made.iter().map(AsFd::as_fd).collect();
    sys::socket::send(to, &[0], &made)
}
