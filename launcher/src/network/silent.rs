//! Connections that may be silent for a while, and are let go then: they would keep others out.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::poll::Poll;
use super::slab::{Key, Slab};

/// How long a connection may be silent (for questions: RFC 7766, 6.2.3).
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Connections, each with its time.
#[derive(Debug)]
pub(super) struct Silent<T> {
    all: Slab<(T, Instant)>,
    /// When the first of them may have been silent for too long.
    deadline: Option<Instant>,
}

impl<T> Default for Silent<T> {
    fn default() -> Self {
        Self { all: Slab::default(), deadline: None }
    }
}

impl<T: AsFd> Silent<T> {
    /// Takes a connection, which has been silent from now on.
    pub(super) fn insert(&mut self, connection: T, now: Instant) -> Key {
        let until = now + PATIENCE;
        self.deadline = self.deadline.or(Some(until));
        self.all.insert((connection, until))
    }

    /// Returns a connection that is there.
    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.all.get_mut(key).map(|(connection, _)| connection)
    }

    /// Notes that a connection has said something.
    pub(super) fn heard(&mut self, key: Key, now: Instant) {
        if let Some((_, until)) = self.all.get_mut(key) {
            *until = now + PATIENCE;
        }
    }

    /// Gives a connection back, of which there is no more news: a process that the supervisor made meanwhile may have
    /// it too, and then closing it would not end them (epoll(7)).
    pub(super) fn remove(&mut self, poll: &Poll, key: Key) -> Option<T> {
        let (connection, _) = self.all.remove(key)?;
        poll.remove(connection.as_fd());
        Some(connection)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns all keys.
    #[cfg(test)]
    pub(super) fn keys(&self) -> Vec<Key> {
        self.all.iter().map(|(key, _)| key).collect()
    }

    /// When to look for connections that were silent for too long.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Lets the connections go that were silent for too long.
    pub(super) fn expire(&mut self, poll: &Poll, now: Instant) {
        if self.deadline.is_none_or(|at| now < at) {
            return;
        }
        let late = self.all.iter().filter(|(_, (_, until))| *until <= now);
        let late: Vec<Key> = late.map(|(key, _)| key).collect();
        for key in late {
            drop(self.remove(poll, key));
        }
        self.deadline = self.all.iter().map(|(_, (_, until))| *until).min();
    }
}
