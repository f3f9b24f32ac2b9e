//! Ports of the host that lead inside.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use endow_policy::PublishedPort;
use rustix::io::Errno;
use rustix::net::{SocketType, getsockname};

use super::Served;
use crate::network::outgoing::{About, Ended, Outgoing};
use crate::network::spares::Inside;
use crate::network::target::Target;
use crate::sys::internet;

/// A port of the host that can't be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("can't publish a port at {at}")]
pub(crate) struct PublishError {
    /// Where it was to be.
    pub(crate) at: SocketAddr,
    /// Why not.
    pub(crate) errno: Errno,
}

impl Served {
    /// Has ports of the host lead inside. Returns where each is.
    pub(crate) fn publish(&mut self) -> Result<Vec<(SocketAddr, PublishedPort)>, PublishError> {
        let wanted: Vec<PublishedPort> = self.rules.publish.iter().map(|port| port.value).collect();
        let publish = |port: PublishedPort| {
            let failed = |errno| PublishError { at: port.at(), errno };
            let socket = internet::socket(SocketType::STREAM).map_err(failed)?;
            internet::only_own_addresses(socket.as_fd());
            internet::listen_at(socket.as_fd(), port.at()).map_err(failed)?;
            let at = getsockname(&socket).and_then(SocketAddr::try_from).map_err(failed)?;
            let target = Target::Published(port.port);
            self.listeners.add(&self.poll, socket, target).map_err(failed)?;
            Ok((internet::plain(at), port))
        };
        wanted.into_iter().map(publish).collect()
    }

    /// Connects a client of the host to a port inside, by sockets of the inside.
    pub(super) fn enter(
        &mut self,
        near: OwnedFd,
        port: u16,
        inside: Option<Inside<'_>>,
        now: Instant,
    ) {
        let target = Target::Published(port);
        let addresses = target.addresses();
        let about = About { target, rule: None, since: now, address: None, process: None };
        let outgoing = Outgoing { near, language: None, about };
        let place = |at: SocketAddr| self.spares.take(inside).map(|socket| (at, Some(socket)));
        let ended = match addresses.into_iter().map(place).collect() {
            Ok(places) => self.outgoing.dial(&self.poll, outgoing, places, now),
            Err(errno) => Some(Ended::Failed(outgoing, errno)),
        };
        self.dialled(ended, now);
    }
}
