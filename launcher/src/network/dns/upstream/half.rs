//! Half of a lookup: the addresses of one family, asked for until a server answers.

use std::net::IpAddr;
use std::time::Instant;

use super::exchange::{Exchange, Progress};
use super::lookup::Step;
use super::reading::{ALIASES_MAX, Reading};
use super::resolv_conf::{Extension, Transport};
use super::sent::{Family, Sent};
use super::{Failure, SECONDS, local};
use crate::network::dns::name::Name;

/// One family.
#[derive(Debug)]
pub(super) struct Half {
    family: Family,
    /// What is asked for: the name, or what it is an alias of.
    asked: Name,
    /// How many aliases were followed so far, and how long the shortest of them lives.
    aliases: u8,
    seconds: u32,
    /// The server that was asked first, and how often any was since.
    first: usize,
    tries: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    Asking { exchange: Exchange, server: usize, until: Instant },
    Ended(Ended),
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Addresses { addresses: Vec<IpAddr>, seconds: u32 },
    NoSuchName,
    NoAddress,
    Failed(Failure),
}

impl Half {
    /// Asks the first server.
    pub(super) fn start(family: Family, name: Name, first: usize, step: &Step<'_>) -> Self {
        let mut half = Self {
            family,
            asked: name,
            aliases: 0,
            seconds: *SECONDS.end(),
            first,
            tries: 0,
            state: State::Ended(Ended::Failed(Failure::Unreachable)),
        };
        half.try_next(Failure::Unreachable, step);
        half
    }

    /// Looks at the socket if the token is its.
    pub(super) fn ready(&mut self, token: u64, step: &Step<'_>) {
        let State::Asking { exchange, server, .. } = &mut self.state else { return };
        if exchange.token() != token {
            return;
        }
        let server = *server;
        match exchange.advance() {
            Progress::Waiting => {}
            Progress::Answered(reading) => self.take(reading, server, step),
            Progress::Broken(failure) => self.try_next(failure, step),
        }
    }

    /// Asks the next server when this one took too long.
    pub(super) fn expire(&mut self, step: &Step<'_>) {
        if self.deadline().is_some_and(|until| until <= step.now) {
            self.try_next(Failure::TimedOut, step);
        }
    }

    /// Stops asking.
    pub(super) fn give_up(&mut self) {
        if matches!(self.state, State::Asking { .. }) {
            self.state = State::Ended(Ended::Failed(Failure::TimedOut));
        }
    }

    /// Returns until when the server may answer.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Asking { until, .. } => Some(*until),
            State::Ended(_) => None,
        }
    }

    /// Returns what came of it; `None` while a server is asked.
    pub(super) fn ended(&self) -> Option<&Ended> {
        match &self.state {
            State::Asking { .. } => None,
            State::Ended(ended) => Some(ended),
        }
    }

    fn take(&mut self, reading: Reading, server: usize, step: &Step<'_>) {
        let ended = match reading {
            Reading::NotOurs => return,
            Reading::Truncated => {
                if self.ask(server, Transport::Tcp, step).is_none() {
                    self.try_next(Failure::Unreachable, step);
                }
                return;
            }
            Reading::Failed(failure) if failure != Failure::Aliases => {
                return self.try_next(failure, step);
            }
            Reading::Alias { target, seconds, followed } => {
                return self.follow(target, seconds, followed, step);
            }
            Reading::Addresses { addresses, seconds } => {
                let seconds = self.seconds.min(seconds).max(*SECONDS.start());
                Ended::Addresses { addresses, seconds }
            }
            Reading::NoSuchName => Ended::NoSuchName,
            Reading::NoAddress => Ended::NoAddress,
            Reading::Failed(failure) => Ended::Failed(failure),
        };
        self.state = State::Ended(ended);
    }

    /// Asks for the name behind an alias, the first server first again.
    fn follow(&mut self, target: Name, seconds: u32, followed: u8, step: &Step<'_>) {
        self.aliases = self.aliases.saturating_add(followed);
        let goes_out = !target.to_host().is_some_and(|host| local::stays(&host));
        if self.aliases > ALIASES_MAX {
            self.state = State::Ended(Ended::Failed(Failure::Aliases));
        } else if goes_out {
            self.seconds = self.seconds.min(seconds);
            self.asked = target;
            self.tries = 0;
            self.try_next(Failure::Unreachable, step);
        } else {
            self.state = State::Ended(Ended::NoAddress);
        }
    }

    /// Asks the next server that can be asked, and fails as the last one did when there is none.
    fn try_next(&mut self, failure: Failure, step: &Step<'_>) {
        let config = step.config;
        let servers = config.nameservers.len();
        while self.tries < servers * usize::from(config.attempts) {
            let server = (self.first + self.tries) % servers;
            self.tries += 1;
            if self.ask(server, config.transport, step).is_some() {
                return;
            }
        }
        self.state = State::Ended(Ended::Failed(failure));
    }

    /// Asks one server; `None` when it can't be reached.
    fn ask(&mut self, server: usize, transport: Transport, step: &Step<'_>) -> Option<()> {
        let config = step.config;
        let address = *config.nameservers.get(server)?;
        // A server that does not know the extension gets the second attempt without it.
        let is_first_round = self.tries <= config.nameservers.len();
        let extension = if is_first_round { config.edns } else { Extension::Plain };
        let sent = Sent::new(self.asked.clone(), self.family, extension).ok()?;
        let exchange = Exchange::open(address, transport, sent, step.watch).ok()?;
        let until = step.now + config.timeout;
        self.state = State::Asking { exchange, server, until };
        Some(())
    }
}
