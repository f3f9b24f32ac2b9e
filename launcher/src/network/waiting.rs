//! Who waits for a name to be resolved.

use std::collections::HashMap;

use super::datagrams::First;
use super::dns::upstream::LookupId;
use super::names::Asked;
use super::outgoing::Outgoing;

/// The most who wait at once: a command may ask faster than a name server answers.
const WAITERS_MAX: usize = 4096;

/// One of them.
#[derive(Debug)]
pub(super) enum Waiter {
    /// A question, to be answered.
    Question(Asked),
    /// A connection, to be dialled.
    Connection(Outgoing),
    /// The first datagram of a sender.
    Datagram(First),
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    of: HashMap<LookupId, Vec<Waiter>>,
    count: usize,
}

impl Waiting {
    /// Lets one wait. One too many is let go: a question is asked again, a connection ends.
    pub(super) fn add(&mut self, id: LookupId, waiter: Waiter) {
        if self.count < WAITERS_MAX {
            self.count += 1;
            self.of.entry(id).or_default().push(waiter);
        }
    }

    /// Takes those who waited for one name.
    pub(super) fn take(&mut self, id: LookupId) -> Vec<Waiter> {
        let waiters = self.of.remove(&id).unwrap_or_default();
        self.count -= waiters.len();
        waiters
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Whether a connection is among them.
    pub(super) fn has_connections(&self) -> bool {
        let mut waiters = self.of.values().flatten();
        waiters.any(|waiter| matches!(waiter, Waiter::Connection(_)))
    }
}
