//! What was connected and what was refused.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::Duration;

use endow_policy::{Protocol, SpecialRange};
use rustix::io::Errno;

use super::processes::Process;

/// The most entries that are kept; what came after them is counted.
const ENTRIES_MAX: usize = 10_000;
/// The most refused hosts that are told apart.
const REFUSED_MAX: usize = 1_000;

/// One connection, or the refusal of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Where to, as the command named it.
    pub(crate) host: String,
    /// The port; `None` when a name was asked for and that was all.
    pub(crate) port: Option<u16>,
    /// TCP or UDP.
    pub(crate) protocol: Protocol,
    /// The address that was dialled.
    pub(crate) address: Option<SocketAddr>,
    /// What came of it.
    pub(crate) decision: Decision,
    /// The rule that allows it, as it was written, and where.
    pub(crate) rule: Option<(String, String)>,
    /// The process inside, where it was looked for and found.
    pub(crate) process: Option<Process>,
    /// Bytes that the command sent and the other side got.
    pub(crate) sent: u64,
    /// Bytes that came back.
    pub(crate) received: u64,
    /// From the first news of it to its end.
    pub(crate) duration: Duration,
}

/// What came of a wish to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It was connected, and ended: by both sides, or by an error.
    Connected(Option<Errno>),
    /// No rule allows the name.
    NotAllowed,
    /// The name leads to an address that only a rule of its own would allow.
    Special(Special),
    /// The name of a secret's server leads to an address that the secret does not name.
    NotOfSecret(Special),
    /// The server's name that the client asked for is another.
    OtherServer,
    /// The rules allow it, and no address answered.
    Unreachable(Errno),
    /// The rules allow it, and the name could not be resolved.
    Unresolved,
}

/// An address that needs a rule of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Special {
    /// The address, and the port that was meant.
    pub(crate) at: SocketAddr,
    /// Why it needs one.
    pub(crate) range: SpecialRange,
}

/// Everything so far.
#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: Vec<Entry>,
    /// What was refused already.
    refused: HashSet<(String, Option<(Protocol, u16)>)>,
    left_out: u64,
    told: usize,
}

impl Log {
    /// Keeps an entry.
    pub(super) fn add(&mut self, entry: Entry) {
        if self.entries.len() < ENTRIES_MAX {
            self.entries.push(entry);
        } else {
            self.left_out += 1;
        }
    }

    /// Keeps the refusal of a host, once for each and its port: without one, of a name that was asked
    /// for.
    pub(super) fn refuse(&mut self, host: &str, port: Option<(Protocol, u16)>, decision: Decision) {
        let what = (host.to_owned(), port);
        if self.refused.contains(&what) {
            return;
        }
        if self.refused.len() >= REFUSED_MAX {
            self.left_out += 1;
            return;
        }
        self.refused.insert(what);
        self.add(Entry {
            host: host.to_owned(),
            port: port.map(|(_, port)| port),
            protocol: port.map_or(Protocol::Tcp, |(protocol, _)| protocol),
            address: None,
            decision,
            rule: None,
            process: None,
            sent: 0,
            received: 0,
            duration: Duration::ZERO,
        });
    }

    /// Returns what nobody was told yet.
    pub(crate) fn news(&mut self) -> &[Entry] {
        let from = std::mem::replace(&mut self.told, self.entries.len());
        self.entries.get(from..).unwrap_or_default()
    }

    /// Returns the entries, in the order in which they ended.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How many entries there were no room for.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }
}
