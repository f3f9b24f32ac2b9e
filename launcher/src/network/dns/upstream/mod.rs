//! The supervisor's own resolver: names to the addresses that the world gives them.
//!
//! It never waits. All its sockets are in one epoll instance, whose descriptor is all that a loop
//! has to watch: epoll instances nest (epoll(7)). What is found is no judgement: whether an address
//! may be reached is for the caller to say.

mod cache;
mod config;
mod exchange;
mod files;
mod half;
mod hosts;
mod local;
mod lookup;
mod queue;
mod reading;
mod resolv_conf;
mod sent;
mod watched;

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use self::cache::Cache;
pub(crate) use self::config::ResolverConfig;
use self::files::Files;
use self::lookup::{Lookup, Step};
use self::queue::{Queue, Queued};
use self::watched::Watch;
use super::name::Name;

/// The most lookups at once, further ones wait. Each has two sockets; the run has other use for descriptors.
const LOOKUPS_MAX: usize = 64;

/// The most addresses of each family that are kept of a name.
const ADDRESSES_MAX: usize = 16;

/// How long an answer is believed: a second even if it says less, so that who asks can use it, and
/// five minutes even if it says more.
const SECONDS: std::ops::RangeInclusive<u32> = 1..=300;

/// How long it is believed that there is nothing, or one family only.
const NOTHING_SECONDS: u32 = 10;

/// How long a failure is, so that a command that tries again at once asks nobody.
const FAILED_SECONDS: u32 = 1;

/// Names looked up, one after the other and at once.
#[derive(Debug)]
pub(crate) struct Upstream {
    config: ResolverConfig,
    /// Where the configuration stands, if it may change.
    files: Option<Files>,
    watch: Watch,
    cache: Cache,
    lookups: Vec<Lookup>,
    queue: Queue,
    done: Vec<(LookupId, String, Outcome)>,
    started: u64,
}

/// A lookup that is under way. None is ever used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(test, derive(Default))]
pub(crate) struct LookupId(u64);

/// What became of asking for a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LookUp {
    /// It is known.
    Done(Outcome),
    /// It will be among what [`Upstream::take_done`] returns.
    Waiting(LookupId),
}

/// What is known of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It has these addresses, IPv4 first, until then.
    Addresses { addresses: Vec<IpAddr>, expires: Instant },
    /// There is no such name.
    NoSuchName,
    /// It has no address.
    NoAddress,
    /// It could not be found out.
    Failed(Failure),
}

/// Why a name could not be looked up: what the last server that was asked left to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// No server answered in time.
    TimedOut,
    /// No server could be reached.
    Unreachable,
    /// A server says that it failed.
    Server,
    /// A server refuses to answer.
    Refused,
    /// An answer can't be read.
    Malformed,
    /// The name is an alias of an alias, and so on, too often.
    Aliases,
    /// There are as many lookups as there may be, and as many that wait, or it waited for too long.
    Busy,
}

impl Upstream {
    /// Makes a resolver that looks names up as they are where this process is.
    pub(crate) fn of_this_machine() -> Result<Self, Errno> {
        Self::reading("/etc/hosts".as_ref(), "/etc/resolv.conf".as_ref())
    }

    fn reading(hosts: &Path, resolv_conf: &Path) -> Result<Self, Errno> {
        let mut files = Files::new(hosts, resolv_conf);
        let made = Self::new(files.read())?;
        Ok(Self { files: Some(files), ..made })
    }

    /// Makes a resolver. Nothing is asked yet.
    pub(crate) fn new(config: ResolverConfig) -> Result<Self, Errno> {
        Ok(Self {
            config,
            files: None,
            watch: Watch::new()?,
            cache: Cache::default(),
            lookups: Vec::new(),
            queue: Queue::default(),
            done: Vec::new(),
            started: 0,
        })
    }

    /// Returns what to wait for: once it can be read, [`Upstream::ready`] has work.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.watch.descriptor()
    }

    /// Answers from what is known, joins the lookup of this name, or starts one.
    pub(crate) fn look_up(&mut self, name: &str, now: Instant) -> LookUp {
        let Some(wire) = Name::from_host(name) else { return LookUp::Done(Outcome::NoSuchName) };
        let name = name.to_ascii_lowercase();
        self.follow_files(now);
        if let Some(outcome) = self.known(&name, now) {
            return LookUp::Done(outcome);
        }
        if let Some(id) = self.under_way(&name) {
            return LookUp::Waiting(id);
        }
        let id = LookupId(self.started);
        self.started += 1;
        if self.lookups.len() >= LOOKUPS_MAX {
            let is_queued = self.queue.add(id, name, wire, now);
            let busy = LookUp::Done(Outcome::Failed(Failure::Busy));
            return if is_queued { LookUp::Waiting(id) } else { busy };
        }
        self.start(id, name, &wire, now).map_or(LookUp::Waiting(id), LookUp::Done)
    }

    /// Reads what arrived.
    pub(crate) fn ready(&mut self, now: Instant) {
        let step = Step { config: &self.config, watch: &self.watch, now };
        for token in self.watch.ready() {
            for lookup in &mut self.lookups {
                lookup.ready(token, &step);
            }
        }
        self.collect(now);
    }

    /// Gives up on what took too long.
    pub(crate) fn expire(&mut self, now: Instant) {
        let step = Step { config: &self.config, watch: &self.watch, now };
        for lookup in &mut self.lookups {
            lookup.expire(&step);
        }
        let late = self.queue.expire(now).into_iter();
        self.done.extend(late.map(|it| (it.id, it.name, Outcome::Failed(Failure::Busy))));
        self.collect(now);
    }

    /// Returns when to call [`Upstream::expire`]; `None` while nothing is under way.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.lookups.iter().filter_map(Lookup::deadline).chain(self.queue.deadline()).min()
    }

    /// Returns the lookups that ended since.
    pub(crate) fn take_done(&mut self) -> Vec<(LookupId, String, Outcome)> {
        std::mem::take(&mut self.done)
    }

    /// Looks names up as the files say by now. What was found before may not hold in another network, nor what is
    /// still to be found there.
    fn follow_files(&mut self, now: Instant) {
        if let Some(config) = self.files.as_mut().and_then(|files| files.changed(now)) {
            self.config = config;
            self.cache = Cache::default();
            self.lookups.iter_mut().for_each(Lookup::outdate);
        }
    }

    /// What needs no question: numbers, what was asked before, names of this machine's table, and
    /// of itself.
    fn known(&self, name: &str, now: Instant) -> Option<Outcome> {
        if local::is_number(name) {
            return Some(Outcome::NoSuchName);
        }
        self.cache.find(name, now).or_else(|| {
            let of_table = self.config.hosts.addresses(name);
            let is_this_machine = of_table.is_empty() && local::is_this_machine(name);
            let addresses = if is_this_machine { local::LOOPBACK.to_vec() } else { of_table };
            let expires = now + Duration::from_secs(u64::from(*SECONDS.end()));
            (!addresses.is_empty()).then_some(Outcome::Addresses { addresses, expires })
        })
    }

    fn under_way(&self, name: &str) -> Option<LookupId> {
        let mut lookups = self.lookups.iter().filter(|lookup| !lookup.is_outdated());
        let lookup = lookups.find(|lookup| lookup.name() == name);
        lookup.map(Lookup::id).or_else(|| self.queue.find(name))
    }

    /// Starts a lookup; returns what came of it where that is clear at once.
    fn start(&mut self, id: LookupId, name: String, wire: &Name, now: Instant) -> Option<Outcome> {
        let first = self.config.first_server(id.0 + 1);
        let step = Step { config: &self.config, watch: &self.watch, now };
        let lookup = Lookup::start(id, (name, wire), first, &step);
        let Some((outcome, until)) = lookup.outcome(now) else {
            self.lookups.push(lookup);
            return None;
        };
        self.cache.keep(lookup.into_name(), outcome.clone(), until, now);
        Some(outcome)
    }

    /// Moves lookups that ended to where they are taken from, remembers what they found, and starts
    /// those that waited for a place.
    fn collect(&mut self, now: Instant) {
        let (ended, under_way): (Vec<_>, Vec<_>) =
            self.lookups.drain(..).map(|lookup| (lookup.outcome(now), lookup)).partition(is_ended);
        self.lookups = under_way.into_iter().map(|(_, lookup)| lookup).collect();
        for (outcome, lookup) in ended {
            let Some((outcome, until)) = outcome else { continue };
            let (id, is_outdated) = (lookup.id(), lookup.is_outdated());
            let name = lookup.into_name();
            if !is_outdated {
                self.cache.keep(name.clone(), outcome.clone(), until, now);
            }
            self.done.push((id, name, outcome));
        }
        while self.lookups.len() < LOOKUPS_MAX
            && let Some(Queued { id, name, wire, .. }) = self.queue.take()
        {
            let outcome = self.start(id, name.clone(), &wire, now);
            self.done.extend(outcome.map(|outcome| (id, name, outcome)));
        }
    }
}

fn is_ended<T, L>((outcome, _): &(Option<T>, L)) -> bool {
    outcome.is_some()
}
