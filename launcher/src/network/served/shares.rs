//! How many descriptors each part of a network may have, of those that the process may.

use crate::network::datagrams;
use crate::network::listeners::LISTENERS_MAX;

/// The most connections at once; each takes two descriptors.
const CONNECTIONS_MAX: usize = 4096;

/// The fewest, however few descriptors there are.
const CONNECTIONS_MIN: usize = 16;

/// How many are left for all else: pipes, look-ups, clients of the proxy, what the supervisor has.
const OTHERS: usize = 512;

/// The shares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    /// Sockets that listen.
    pub(super) listeners: usize,
    /// Sockets for datagrams.
    pub(super) datagrams: datagrams::Most,
    /// Connections.
    pub(super) connections: usize,
}

impl Shares {
    /// Shares out as many as this; datagrams have a part where a rule is for them.
    pub(super) fn of(most: usize, has_datagrams: bool) -> Self {
        let listeners = (most / 4).min(LISTENERS_MAX);
        let datagrams = datagrams::Most::within(most);
        let of_datagrams = if has_datagrams { datagrams.inside + datagrams.senders } else { 0 };
        let left = most.saturating_sub(listeners + of_datagrams + OTHERS) / 2;
        let connections = left.clamp(CONNECTIONS_MIN, CONNECTIONS_MAX);
        Self { listeners, datagrams, connections }
    }
}

impl Default for Shares {
    fn default() -> Self {
        Self::of(usize::MAX, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_no_more_than_there_is() {
        for most in [1024, 1500, 4096, 20_000, 1 << 20] {
            for has_datagrams in [false, true] {
                let Shares { listeners, datagrams, connections } = Shares::of(most, has_datagrams);
                let of_datagrams = datagrams.inside + datagrams.senders;
                let of_datagrams = of_datagrams * usize::from(has_datagrams);
                assert!(listeners + of_datagrams + 2 * connections + OTHERS <= most, "{most}");
                assert!(listeners >= 256 && datagrams.inside >= 128 && datagrams.senders >= 64);
            }
        }
        let Shares { listeners, datagrams, connections } = Shares::default();
        let datagrams = (datagrams.inside, datagrams.senders);
        assert_eq!((listeners, datagrams, connections), (4096, (1024, 512), 4096));
        assert_eq!(Shares::of(12, true).connections, CONNECTIONS_MIN);
    }
}
