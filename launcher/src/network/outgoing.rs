//! Connections that were taken inside, on their way outward.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::log::{Decision, Entry};
use super::poll::{Poll, Source};
use super::processes::Process;
use super::proxy::{Language, Verdict};
use super::relay::{Broken, Dial, Dialed, Over, Place};
use super::slab::{Key, Slab};
use super::target::Target;

/// What is known of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct About {
    /// Where to.
    pub(super) target: Target,
    /// The rule that allows it, and where it is written.
    pub(super) rule: Option<(String, String)>,
    /// When it was taken.
    pub(super) since: Instant,
    /// The address that answered.
    pub(super) address: Option<SocketAddr>,
    /// Who has the near side.
    pub(super) process: Option<Process>,
}

impl About {
    /// Returns what is kept of it.
    pub(super) fn entry(&self, decision: Decision, now: Instant) -> Entry {
        let (host, port) = self.target.named();
        Entry {
            host,
            port,
            protocol: endow_policy::Protocol::Tcp,
            address: self.address,
            decision,
            rule: self.rule.clone(),
            process: self.process.clone(),
            sent: 0,
            received: 0,
            duration: now.saturating_duration_since(self.since),
        }
    }
}

impl Over<About> {
    /// Returns what is kept of a connection that stood.
    pub(super) fn entry(&self, now: Instant) -> Entry {
        let (sent, received) = (self.sent, self.received);
        let decision = match self.broken {
            None => Decision::Connected(None),
            Some(Broken::By(errno)) => Decision::Connected(Some(errno)),
            Some(Broken::OtherServer) => Decision::OtherServer,
        };
        Entry { sent, received, ..self.about.entry(decision, now) }
    }
}

/// A connection that was taken, and has no other side yet.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) near: OwnedFd,
    /// How it is told what comes of it; `None` when it takes itself to be connected.
    pub(super) language: Option<Language>,
    pub(super) about: About,
}

impl Outgoing {
    /// Says what came of it, to a client of the proxy.
    pub(super) fn tell(&self, verdict: Verdict) {
        if let Some(language) = self.language {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            // A client that is gone needs no reply.
            let _ = send(&self.near, language.reply(verdict), flags);
        }
    }
}

/// The connections for which an address is being dialled.
#[derive(Debug, Default)]
pub(super) struct Outgoings {
    dialling: Slab<Dialling>,
    deadlines: BTreeSet<(Instant, Key)>,
}

#[derive(Debug)]
struct Dialling {
    dial: Dial,
    deadline: Option<Instant>,
    outgoing: Outgoing,
}

/// How a dial ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// Both sides are there.
    Connected(Outgoing, OwnedFd),
    /// No address answered.
    Failed(Outgoing, Errno),
}

impl Outgoings {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.dialling.len()
    }

    /// Begins to dial.
    pub(super) fn dial(
        &mut self,
        poll: &Poll,
        outgoing: Outgoing,
        places: Vec<Place>,
        now: Instant,
    ) -> Option<Ended> {
        let dial = Dial::new(places, now);
        let key = self.dialling.insert(Dialling { dial, deadline: None, outgoing });
        self.go_on(poll, key, now)
    }

    /// Goes on with one that has news, or whose time has come.
    pub(super) fn go_on(&mut self, poll: &Poll, key: Key, now: Instant) -> Option<Ended> {
        let dialling = self.dialling.get_mut(key)?;
        let mut watch =
            |socket: std::os::fd::BorrowedFd<'_>| poll.add_both(socket, Source::Dial, key);
        let dialed = dialling.dial.go_on(now, &mut watch);
        let deadline = matches!(dialed, Dialed::Waits).then(|| dialling.dial.deadline());
        if let Some(old) = std::mem::replace(&mut dialling.deadline, deadline) {
            self.deadlines.remove(&(old, key));
        }
        self.deadlines.extend(deadline.map(|at| (at, key)));
        let (socket, address) = match dialed {
            Dialed::Waits => return None,
            Dialed::Connected(socket, address) => (Ok(socket), Some(address)),
            Dialed::Failed(errno) => (Err(errno), None),
        };
        let mut outgoing = self.dialling.remove(key)?.outgoing;
        outgoing.about.address = address;
        Some(match socket {
            Ok(socket) => Ended::Connected(outgoing, socket),
            Err(errno) => Ended::Failed(outgoing, errno),
        })
    }

    /// Returns the connections whose time has come.
    pub(super) fn due(&self, now: Instant) -> Vec<Key> {
        self.deadlines.iter().take_while(|(at, _)| *at <= now).map(|(_, key)| *key).collect()
    }

    /// When to look again without news.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(at, _)| *at)
    }
}
