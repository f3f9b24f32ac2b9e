//! The sockets of a sandbox's network namespace that take connections for the supervisor.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};

use super::poll::{Poll, Source};
use super::slab::{Key, Slab};
use super::spares::{Inside, Spares};
use super::target::Target;
use crate::sys::internet;

/// The most sockets that listen at once; each name that is asked for takes two a port.
const LISTENERS_MAX: usize = 4096;

/// How many connections of one socket are taken before others have their turn.
const TAKEN_AT_ONCE: usize = 64;

/// All of them.
#[derive(Debug)]
pub(super) struct Listeners {
    listening: Slab<Listener>,
    addresses: HashSet<SocketAddr>,
    /// Nothing is taken for now.
    paused: bool,
    /// The most there may be.
    most: usize,
}

impl Default for Listeners {
    fn default() -> Self {
        let (listening, addresses) = (Slab::default(), HashSet::new());
        Self { listening, addresses, paused: false, most: LISTENERS_MAX }
    }
}

#[derive(Debug)]
struct Listener {
    socket: OwnedFd,
    target: Target,
}

impl Listeners {
    /// Bounds their number, and returns it.
    pub(super) fn limit(&mut self, most: usize) -> usize {
        self.most = most.min(LISTENERS_MAX);
        self.most
    }

    /// Takes a socket that listens already.
    pub(super) fn add(
        &mut self,
        poll: &Poll,
        socket: OwnedFd,
        target: Target,
    ) -> Result<Key, Errno> {
        if !matches!(target, Target::Published(_)) {
            internet::stays_here(socket.as_fd());
        }
        let key = self.listening.insert(Listener { socket, target });
        match self.listening.get_mut(key) {
            Some(made) if !self.paused => {
                let watched = poll.add_reader(made.socket.as_fd(), Source::Listener, key);
                // One that nobody looks at would take connections, and serve them after a pause.
                watched.inspect_err(|_| drop(self.listening.remove(key)))?;
            }
            _ => {}
        }
        Ok(key)
    }

    /// Closes a listener.
    pub(super) fn remove(&mut self, poll: &Poll, key: Key) {
        if let Some(listener) = self.listening.remove(key) {
            poll.remove(listener.socket.as_fd());
        }
    }

    /// Sees to it that there is a listener at an address of the namespace.
    pub(super) fn ensure(
        &mut self,
        poll: &Poll,
        (spares, inside): (&mut Spares, Option<Inside<'_>>),
        at: SocketAddr,
        target: Target,
    ) -> Result<(), Errno> {
        if self.has(at) {
            return Ok(());
        }
        if self.listening.len() >= self.most {
            return Err(Errno::NFILE);
        }
        let socket = spares.take(inside)?;
        internet::listen_at(socket.as_fd(), at)?;
        self.add(poll, socket, target)?;
        self.addresses.insert(at);
        Ok(())
    }

    /// Whether there is one at an address of the namespace.
    pub(super) fn has(&self, at: SocketAddr) -> bool {
        self.addresses.contains(&at)
    }

    /// Takes connections of one socket.
    pub(super) fn take(&mut self, key: Key) -> Vec<(OwnedFd, Target)> {
        let Some(listener) = self.listening.get_mut(key) else { return Vec::new() };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let taken = std::iter::from_fn(|| accept_with(&listener.socket, flags).ok());
        let with_target = |socket| (socket, listener.target.clone());
        taken.take(TAKEN_AT_ONCE).map(with_target).collect()
    }

    /// Lets connections wait in the kernel, or takes them again.
    pub(super) fn pause(&mut self, poll: &Poll, pause: bool) {
        if std::mem::replace(&mut self.paused, pause) == pause {
            return;
        }
        for (key, listener) in self.listening.iter() {
            let socket = listener.socket.as_fd();
            if pause {
                poll.remove(socket);
            } else {
                // It was watched before: that took all that can fail.
                let _ = poll.add_reader(socket, Source::Listener, key);
            }
        }
    }
}
