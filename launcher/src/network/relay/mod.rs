//! Connections of two sockets each, and the bytes between them.

mod dial;
mod flow;
mod gate;
mod pipes;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::connect_unspec;
use rustix::net::sockopt::{set_socket_linger, set_tcp_nodelay};

use super::poll::{News, Poll, Source};
use super::slab::{Key, Slab};
pub(super) use dial::{Dial, Dialed, Place};
use flow::{Flow, Side, Tools};
use gate::{Gate, Passage};

/// All connections that stand, of which `T` is known.
#[derive(Debug)]
pub(super) struct Relay<T> {
    connections: Slab<Connection<T>>,
    /// Those that may go on without news.
    queue: VecDeque<Key>,
    tools: Tools,
}

impl<T> Default for Relay<T> {
    fn default() -> Self {
        let (connections, queue) = (Slab::default(), VecDeque::new());
        Self { connections, queue, tools: Tools::default() }
    }
}

/// Two sockets, each of which gets what the other gives.
#[derive(Debug)]
struct Connection<T> {
    near: Side,
    far: Side,
    out: Flow,
    back: Flow,
    queued: bool,
    /// What stands before the server for which the first bytes must be.
    gate: Option<Gate>,
    about: T,
}

/// What ended a connection before both sides had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::network) enum Broken {
    /// One side is gone, or endow ended it.
    By(Errno),
    /// Its first bytes are for another server.
    OtherServer,
}

impl From<Errno> for Broken {
    fn from(errno: Errno) -> Self {
        Self::By(errno)
    }
}

/// A connection that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Over<T> {
    /// What was known of it.
    pub(super) about: T,
    /// How many bytes the near side sent that the far side got.
    pub(super) sent: u64,
    /// The other way round.
    pub(super) received: u64,
    /// What ended it before both sides had; `None` for a proper end.
    pub(super) broken: Option<Broken>,
}

impl<T> Relay<T> {
    /// Begins to move bytes between two connected sockets, near and far. What the near side says
    /// first must be for the server `expected`, as far as it is TLS or HTTP.
    pub(super) fn join(
        &mut self,
        poll: &Poll,
        (near, far): (OwnedFd, OwnedFd),
        expected: Option<String>,
        about: T,
    ) -> Result<(), Errno> {
        // Whoever wants bytes to wait for more of them has done that on its own side.
        let _ = (set_tcp_nodelay(&near, true), set_tcp_nodelay(&far, true));
        let key = self.connections.insert(Connection {
            near: Side::new(near),
            far: Side::new(far),
            out: Flow::default(),
            back: Flow::default(),
            queued: true,
            gate: expected.map(Gate::new),
            about,
        });
        self.queue.push_back(key);
        let Some(made) = self.connections.get_mut(key) else { return Ok(()) };
        let added = poll
            .add_both(made.near.socket.as_fd(), Source::Near, key)
            .and_then(|()| poll.add_both(made.far.socket.as_fd(), Source::Far, key));
        added.inspect_err(|_| drop(self.connections.remove(key)))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.connections.len()
    }

    /// Whether some may go on without news.
    pub(super) fn has_more(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Hears that a side became ready.
    pub(super) fn hear(&mut self, news: &News) {
        let Some(connection) = self.connections.get_mut(news.key) else { return };
        let side = match news.source {
            Source::Near => &mut connection.near,
            _ => &mut connection.far,
        };
        side.readable |= news.readable;
        side.writable |= news.writable;
        side.ended |= news.ended;
        if !std::mem::replace(&mut connection.queued, true) {
            self.queue.push_back(news.key);
        }
    }

    /// Gives each connection that can go on one turn, as long as there is time, and hands out those
    /// that are over. One has its turn in any case; those that had none are the first next time.
    pub(super) fn turn(&mut self, until: Instant) -> Vec<Over<T>> {
        let mut over = Vec::new();
        for _ in 0..self.queue.len() {
            let Some(key) = self.queue.pop_front() else { break };
            over.extend(self.go_on(key));
            if Instant::now() >= until {
                break;
            }
        }
        over
    }

    fn go_on(&mut self, key: Key) -> Option<Over<T>> {
        let connection = self.connections.get_mut(key)?;
        let moved = connection.pump(&mut self.tools);
        let more = matches!(moved, Ok(true));
        connection.queued = more;
        if more {
            self.queue.push_back(key);
        }
        let broken = moved.err();
        let is_over = broken.is_some() || connection.is_over();
        let gone = is_over.then(|| self.connections.remove(key)).flatten()?;
        Some(gone.end(broken, &mut self.tools))
    }

    /// Ends every connection, and hands them out. What the near side said, or the far one of those
    /// that are `reversed`, is the kernel's to deliver when it was passed on to its end; else the
    /// connection breaks.
    pub(super) fn end_all(&mut self, reversed: impl Fn(&T) -> bool) -> Vec<Over<T>> {
        let connections = std::mem::take(&mut self.connections).into_values();
        let end = |gone: Connection<T>| {
            let owes = gone.owes(&reversed);
            gone.end(owes.then_some(Broken::By(Errno::CANCELED)), &mut self.tools)
        };
        connections.map(end).collect()
    }

    /// Returns whether one side has said what was not passed on yet: the near one, or the far one
    /// of those that are `reversed`.
    pub(super) fn owes(&self, reversed: impl Fn(&T) -> bool) -> bool {
        self.connections.iter().any(|(_, connection)| connection.owes(&reversed))
    }
}

impl<T> Connection<T> {
    fn pump(&mut self, tools: &mut Tools) -> Result<bool, Broken> {
        if let Some(gate) = &mut self.gate {
            gate.hear(&mut self.far)?;
        }
        let begun = self.begin(tools);
        let (near, far) = (&mut self.near, &mut self.far);
        let out = match begun {
            Ok(None) => self.out.pump(near, far, tools).map_err(Broken::By),
            Ok(Some(more)) => Ok(more),
            Err(broken) => Err(broken),
        };
        // Where nobody takes what the near side says, what it was told still arrives.
        if let Err(Broken::By(_)) = out {
            self.back.rescue(far, near, tools);
        }
        let out = out?;
        if self.gate.as_ref().is_some_and(Gate::awaits) {
            return Ok(out);
        }
        let back = self.back.pump(&mut self.far, &mut self.near, tools)?;
        Ok(out || back)
    }

    /// Lets through what may go on while a gate stands. Returns whether there may be more without
    /// waiting; `None` when there is no gate any more.
    fn begin(&mut self, tools: &mut Tools) -> Result<Option<bool>, Broken> {
        let Some(gate) = &mut self.gate else { return Ok(None) };
        match gate.look(&mut self.near, &mut tools.lodge)? {
            Passage::Waits => return Ok(Some(false)),
            Passage::Refused => return Err(Broken::OtherServer),
            Passage::Part(length) => {
                let sides = (&mut self.near, &mut self.far);
                let given = self.out.begin(sides, length, tools)?;
                let is_remembered = gate.passed(given, &tools.lodge);
                return if is_remembered { Ok(Some(given > 0)) } else { Err(Broken::OtherServer) };
            }
            Passage::Free => self.gate = None,
        }
        Ok(None)
    }

    fn is_over(&self) -> bool {
        self.out.closed && self.back.closed
    }

    fn owes(&self, reversed: impl Fn(&T) -> bool) -> bool {
        let said = if reversed(&self.about) { &self.back } else { &self.out };
        !said.closed
    }

    /// An end by an error is passed on as one: both sides see a reset, and none takes half of what
    /// was sent for all.
    fn end(self, broken: Option<Broken>, tools: &mut Tools) -> Over<T> {
        if broken.is_some() {
            reset(self.near.socket);
            reset(self.far.socket);
        }
        let (sent, received) = (self.out.bytes, self.back.bytes);
        self.out.abandon(&mut tools.pipes);
        self.back.abandon(&mut tools.pipes);
        Over { about: self.about, sent, received, broken }
    }
}

/// Ends a connection so that the other side sees an error, at once: a process that the supervisor
/// made meanwhile may have the descriptor too, and then closing it ends nothing.
pub(super) fn reset(socket: OwnedFd) {
    let _ = set_socket_linger(&socket, Some(Duration::ZERO));
    let _ = connect_unspec(&socket);
}
