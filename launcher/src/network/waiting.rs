//! Who waits for a name to be resolved.

use std::collections::HashMap;

use super::datagrams::First;
use super::dns::upstream::LookupId;
use super::names::Asked;
use super::outgoing::Outgoing;

/// The most who wait at once: a command may ask faster than a name server answers.
const WAITERS_MAX: usize = 4096;

/// The most bytes that wait with them: a datagram may have 64 KiB, and a sender many ports.
const BYTES_MAX: usize = 4 << 20;

/// Who waits for a name to be resolved.
#[derive(Debug)]
pub(super) enum Waiter {
    /// A question, to be answered.
    Question(Asked),
    /// A connection, to be dialled.
    Connection(Outgoing),
    /// The first datagram of a sender.
    Datagram(First),
}

impl Waiter {
    /// How many bytes it holds for the time after.
    fn bytes(&self) -> usize {
        match self {
            Self::Datagram(first) => first.len(),
            Self::Question(_) | Self::Connection(_) => 0,
        }
    }

    /// Whether it takes the place of a connection.
    fn is_connection(&self) -> bool {
        matches!(self, Self::Connection(_))
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    of: HashMap<LookupId, Vec<Waiter>>,
    count: usize,
    connections: usize,
    bytes: usize,
}

impl Waiting {
    /// Lets one wait. One too many is let go: a question is asked again, a connection ends, a datagram
    /// is lost.
    pub(super) fn add(&mut self, id: LookupId, waiter: Waiter) {
        let bytes = self.bytes + waiter.bytes();
        if self.count < WAITERS_MAX && bytes <= BYTES_MAX {
            self.bytes = bytes;
            self.count += 1;
            self.connections += usize::from(waiter.is_connection());
            self.of.entry(id).or_default().push(waiter);
        }
    }

    /// Takes those who waited for one name.
    pub(super) fn take(&mut self, id: LookupId) -> Vec<Waiter> {
        let waiters = self.of.remove(&id).unwrap_or_default();
        self.count -= waiters.len();
        self.connections -= waiters.iter().filter(|waiter| waiter.is_connection()).count();
        self.bytes -= waiters.iter().map(Waiter::bytes).sum::<usize>();
        waiters
    }

    /// How many connections are among them.
    pub(super) fn connections(&self) -> usize {
        self.connections
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: usize = 65_507;

    fn add(waiting: &mut Waiting, length: usize, count: usize) {
        for _ in 0..count {
            waiting.add(LookupId::default(), Waiter::Datagram(First::of_length(length)));
        }
    }

    #[test]
    fn large_datagrams_wait_in_bounded_memory() {
        let mut waiting = Waiting::default();
        add(&mut waiting, LARGE, WAITERS_MAX);
        assert_eq!(waiting.count, BYTES_MAX / LARGE);
        assert_eq!(waiting.take(LookupId::default()).len(), BYTES_MAX / LARGE);
        // What went makes room.
        add(&mut waiting, LARGE, 1);
        assert_eq!((waiting.count, waiting.bytes), (1, LARGE));
    }

    #[test]
    fn small_datagrams_wait_as_many_as_others() {
        let mut waiting = Waiting::default();
        add(&mut waiting, 48, WAITERS_MAX + 1);
        assert_eq!(waiting.count, WAITERS_MAX);
    }
}
