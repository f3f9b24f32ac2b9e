//! Everything that is served in one sandbox's network namespace.

mod connections;
mod datagrams;
mod demand;
mod logins;
mod names;
mod published;
mod rules;
mod shares;
mod wishes;

#[cfg(test)]
mod tests;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use endow_policy::{HostRule, Network, Protocol, Stated};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_type;
use rustix::net::{SocketType, getsockname};

use super::datagrams::Datagrams;
use super::dns::upstream::Upstream;
use super::listeners::Listeners;
use super::log::{Entry, Log};
use super::names::NameService;
use super::nearby::Surroundings;
use super::outgoing::{About, Outgoings};
use super::poll::{News, Poll, Source};
use super::processes::Processes;
use super::proxy::Clients;
use super::relay::{Over, Relay};
use super::slab::Key;
use super::spares::{Inside, Spares};
use super::synthetic::Names;
use super::target::Target;
use super::waiting::{Waiter, Waiting};
use crate::adapters::{Broker, End};
use crate::plan::network::RESOLVER;
use crate::sys::{self, internet};
use logins::Logins;
pub(crate) use published::PublishError;
use shares::Shares;

/// How long bytes and news are seen to before the supervisor turns to its other duties: a command that
/// sends without an end is ended by its time limit all the same.
const LOOK_TIME: Duration = Duration::from_millis(10);

/// The network of one sandbox.
#[derive(Debug)]
pub(crate) struct Served {
    rules: Network,
    nearby: Surroundings,
    poll: Poll,
    names: Names,
    upstream: Upstream,
    service: NameService,
    clients: Clients,
    spares: Spares,
    listeners: Listeners,
    logins: Logins,
    datagrams: Datagrams,
    outgoing: Outgoings,
    relay: Relay<About>,
    connections_max: usize,
    waiting: Waiting,
    log: Log,
    broker: Option<Broker>,
    processes: Processes,
}

impl Served {
    /// Prepares to serve what a plan says; names are resolved by `upstream`, and lead to what is near
    /// where a rule says so.
    pub(crate) fn new(
        rules: Network,
        upstream: Upstream,
        nearby: Surroundings,
    ) -> Result<Self, Errno> {
        let poll = Poll::new()?;
        poll.add_reader(upstream.descriptor(), Source::LookUp, Key::ONLY)?;
        Ok(Self {
            rules,
            nearby,
            poll,
            names: Names::default(),
            upstream,
            service: NameService::default(),
            clients: Clients::default(),
            spares: Spares::default(),
            listeners: Listeners::default(),
            logins: Logins::default(),
            datagrams: Datagrams::default(),
            outgoing: Outgoings::default(),
            relay: Relay::default(),
            connections_max: Shares::default().connections,
            waiting: Waiting::default(),
            log: Log::default(),
            broker: None,
            processes: Processes::default(),
        })
    }

    /// Adds secrets by this broker.
    pub(crate) fn adding(&mut self, broker: Option<Broker>) {
        self.broker = broker;
    }

    /// Returns what tells that the broker has ended, if there is one.
    pub(crate) fn end_of_broker(&self) -> Option<End> {
        self.broker.as_ref().and_then(Broker::end)
    }

    /// Finds out the process of each connection.
    pub(crate) fn naming_processes(&mut self) {
        self.processes.want();
    }

    /// Takes a socket that pid 1 made: what it is for is said by its address.
    pub(crate) fn take(&mut self, socket: OwnedFd) -> Result<(), Errno> {
        let at = internet::plain(getsockname(&socket)?.try_into()?);
        if at.port() == 0 {
            self.spares.add(socket);
            return Ok(());
        }
        match socket_type(&socket)? {
            SocketType::DGRAM if at == RESOLVER => self.service.serve(&self.poll, socket),
            SocketType::DGRAM => {
                self.datagrams.add(&self.poll, socket, self.target_at(at)).map(drop)
            }
            _ => self.listeners.add_standing(&self.poll, (socket, at), self.target_at(at)),
        }
    }

    /// Returns what to wait for.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.poll.as_fd()
    }

    /// Returns when to look without news.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let more = self.relay.has_more().then(Instant::now);
        self.deadlines().chain(more).min()
    }

    /// Does all that can be done without waiting, or a good part of it.
    pub(crate) fn look(&mut self, inside: Option<Inside<'_>>) {
        let mut now = Instant::now();
        let until = now + LOOK_TIME;
        while now < until {
            let news = self.poll.news();
            if news.is_empty() && !self.relay.has_more() && !self.is_due(now) {
                return;
            }
            for news in &news {
                self.hear(news, inside);
            }
            self.pass_time(inside);
            self.move_bytes(until);
            now = Instant::now();
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        self.deadlines().any(|at| at <= now)
    }

    fn deadlines(&self) -> impl Iterator<Item = Instant> {
        let inside = [self.datagrams.deadline(), self.listeners.deadline(), self.logins.deadline()];
        let dialled = [self.upstream.deadline(), self.outgoing.deadline()];
        let silent = [self.clients.deadline(), self.service.deadline()];
        dialled.into_iter().chain(inside).chain(silent).flatten()
    }

    fn hear(&mut self, news: &News, inside: Option<Inside<'_>>) {
        let now = Instant::now();
        match news.source {
            Source::Names => {
                let asked = self.service.receive();
                self.ask_all(asked, inside, now);
            }
            Source::Asking => {
                let asked = self.service.read(&self.poll, news.key, now);
                self.ask_all(asked, inside, now);
            }
            Source::Client => {
                if let Some((near, wish)) = self.clients.hear(&self.poll, news) {
                    self.wish(near, &wish, inside, now);
                }
            }
            Source::Listener => self.accept(news, inside, now),
            Source::LookUp => self.upstream.ready(now),
            Source::Dial => {
                let ended = self.outgoing.go_on(&self.poll, news.key, now);
                self.dialled(ended, now);
            }
            Source::DatagramsInside => self.send_out(news.key, now),
            Source::DatagramsOutside => self.datagrams.take_outside(news.key, now),
            Source::Near | Source::Far => self.relay.hear(news),
        }
    }

    fn pass_time(&mut self, inside: Option<Inside<'_>>) {
        let now = Instant::now();
        self.upstream.expire(now);
        for (id, name, outcome) in self.upstream.take_done() {
            for waiter in self.waiting.take(id) {
                match waiter {
                    Waiter::Question(asked) => self.answer(&asked, &name, &outcome, inside),
                    Waiter::Connection(outgoing) => self.dial(outgoing, &outcome, now),
                    Waiter::Datagram(first) => self.send_first(first, &outcome, now),
                }
            }
        }
        for key in self.outgoing.due(now) {
            let ended = self.outgoing.go_on(&self.poll, key, now);
            self.dialled(ended, now);
        }
        self.end_logins(now);
        self.clients.expire(&self.poll, now);
        self.service.expire(&self.poll, now);
        if self.datagrams.deadline().is_some_and(|at| at <= now) {
            let gone = self.datagrams.let_go(&self.poll, Some(now));
            self.note_datagrams(&gone);
        }
    }

    fn move_bytes(&mut self, until: Instant) {
        let over = self.relay.turn(until);
        self.note(&over);
        self.listeners.pause(&self.poll, self.room() == 0, Instant::now());
    }

    /// How many more connections there may be.
    fn room(&self) -> usize {
        let there = self.relay.len() + self.outgoing.len() + self.waiting.connections();
        self.connections_max.saturating_sub(there)
    }

    /// Takes as many descriptors as the user may have. What was started before keeps its limit: the
    /// command has that of the caller.
    pub(crate) fn take_descriptors(&mut self) {
        let most = sys::fd::take_all();
        let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        let is_datagram = |rule: &Stated<HostRule>| rule.value.protocol == Protocol::Udp;
        let shares = Shares::of(most, self.rules.allow.iter().any(is_datagram));
        self.listeners.limit(shares.listeners);
        self.datagrams.limit(shares.datagrams);
        self.connections_max = shares.connections;
    }
}

/// The end.
impl Served {
    /// Delivers what the command sent before it ended, and ends all else.
    pub(crate) fn finish(mut self, patience: Duration) -> Log {
        let until = Instant::now() + patience;
        self.look(None);
        while self.owes() && Instant::now() < until {
            self.wait(until);
            self.look(None);
        }
        let over = self.relay.end_all(is_published);
        self.note(&over);
        let gone = self.datagrams.let_go(&self.poll, None);
        self.note_datagrams(&gone);
        self.log
    }

    fn note(&mut self, over: &[Over<About>]) {
        let now = Instant::now();
        for over in over {
            self.log.add(over.entry(now));
        }
    }

    /// Whether something that the command said may still have to go out. Nobody inside says more.
    fn owes(&self) -> bool {
        self.relay.owes(is_published) || self.outgoing.len() > 0 || self.waiting.connections() > 0
    }

    fn wait(&self, until: Instant) {
        let soonest = self.deadline().map_or(until, |at| at.min(until));
        let left = soonest.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).ok();
        let mut fd = [PollFd::new(&self.poll, PollFlags::IN)];
        let _ = poll(&mut fd, left.as_ref());
    }

    /// Returns what happened since this was asked last.
    pub(crate) fn news(&mut self) -> &[Entry] {
        self.log.news()
    }
}

/// Whether the command has the far side.
fn is_published(about: &About) -> bool {
    matches!(about.target, Target::Published(_))
}

/// Prepares to serve what a plan says, with names resolved as on this machine.
pub(crate) fn serve(rules: &Network, nearby: Surroundings) -> Result<Served, Errno> {
    Served::new(rules.clone(), Upstream::of_this_machine()?, nearby)
}
