//! Connecting outward: to the first of several addresses that answers.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_keepalive, set_tcp_keepidle, socket_error};
use rustix::net::{SocketType, getpeername};

use crate::sys::internet;

/// How long one address has before the next is tried beside it (RFC 8305, 5).
const HEAD_START: Duration = Duration::from_millis(250);
/// How long all have together.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a connection may be silent before the other side is asked whether it is still there.
const SILENCE: Duration = Duration::from_mins(1);

/// An attempt to connect to one of several addresses.
#[derive(Debug)]
pub(in crate::network) struct Dial {
    left: VecDeque<Place>,
    trying: Vec<(OwnedFd, SocketAddr)>,
    next: Instant,
    until: Instant,
    error: Errno,
}

/// An address, and the socket to connect to it; without one, the supervisor's own are made.
pub(in crate::network) type Place = (SocketAddr, Option<OwnedFd>);

/// What became of it.
#[derive(Debug)]
pub(in crate::network) enum Dialed {
    /// Nothing yet.
    Waits,
    /// A connected socket, and to where.
    Connected(OwnedFd, SocketAddr),
    /// No address answered; the last error.
    Failed(Errno),
}

impl Dial {
    /// Prepares to connect to addresses, the best first.
    pub(in crate::network) fn new(places: Vec<Place>, now: Instant) -> Self {
        let (left, trying) = (places.into(), Vec::new());
        Self { left, trying, next: now, until: now + PATIENCE, error: Errno::HOSTUNREACH }
    }

    /// When to look again without news.
    pub(in crate::network) fn deadline(&self) -> Instant {
        if self.left.is_empty() { self.until } else { self.next.min(self.until) }
    }

    /// Goes on; `watch` gets each socket that is tried.
    pub(in crate::network) fn go_on(
        &mut self,
        now: Instant,
        watch: &mut dyn FnMut(BorrowedFd<'_>) -> Result<(), Errno>,
    ) -> Dialed {
        if let Some((socket, address)) = self.connected() {
            return Dialed::Connected(socket, address);
        }
        while now < self.until && (self.trying.is_empty() || self.next <= now) {
            let Some((address, socket)) = self.left.pop_front() else { break };
            self.next = now + HEAD_START;
            match attempt(address, socket).and_then(|it| watch(it.as_fd()).map(|()| it)) {
                Ok(socket) => self.trying.push((socket, address)),
                Err(errno) => self.error = errno,
            }
        }
        if now >= self.until {
            return Dialed::Failed(Errno::TIMEDOUT);
        }
        if self.trying.is_empty() { Dialed::Failed(self.error) } else { Dialed::Waits }
    }

    /// Takes the first socket that is connected, and lets those go that failed.
    fn connected(&mut self) -> Option<(OwnedFd, SocketAddr)> {
        let mut found = None;
        let mut error = None;
        self.trying.retain(|(socket, _)| match socket_error(socket) {
            Ok(Ok(())) => true,
            Ok(Err(errno)) | Err(errno) => {
                error = Some(errno);
                false
            }
        });
        if let Some(errno) = error {
            self.error = errno;
            self.next = Instant::now();
        }
        let ready = self.trying.iter().position(|(socket, _)| getpeername(socket).is_ok());
        if let Some(number) = ready {
            found = Some(self.trying.swap_remove(number));
        }
        found
    }
}

fn attempt(address: SocketAddr, socket: Option<OwnedFd>) -> Result<OwnedFd, Errno> {
    let socket = socket.map_or_else(|| internet::socket(SocketType::STREAM), Ok)?;
    set_socket_keepalive(&socket, true)?;
    set_tcp_keepidle(&socket, SILENCE)?;
    if address.ip().is_loopback() {
        internet::stays_here(socket.as_fd());
    }
    internet::begin_connect(socket.as_fd(), address)?;
    Ok(socket)
}
