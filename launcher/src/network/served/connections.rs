//! Connections that were taken inside, until both of their sides are there.

use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use endow_policy::Protocol;
use rustix::io::Errno;

use super::Served;
use crate::network::dns::upstream::{LookUp, Outcome};
use crate::network::log::Decision;
use crate::network::outgoing::{About, Ended, Outgoing};
use crate::network::poll::News;
use crate::network::processes::Process;
use crate::network::proxy::{Language, Verdict};
use crate::network::relay::reset;
use crate::network::spares::Inside;
use crate::network::target::Target;
use crate::network::waiting::Waiter;

impl Served {
    pub(super) fn accept(&mut self, news: &News, inside: Option<Inside<'_>>, now: Instant) {
        // Others may have had news at the same time: what is left over is told again.
        for taken in self.listeners.take(news.key, self.room()) {
            self.welcome(taken, inside, now);
        }
    }

    fn welcome(
        &mut self,
        (near, target): (OwnedFd, Target),
        inside: Option<Inside<'_>>,
        now: Instant,
    ) {
        match target {
            Target::Resolver => self.service.join(&self.poll, near, now),
            Target::Proxy => self.clients.join(&self.poll, near, now),
            Target::Published(port) => self.enter(near, port, inside, now),
            target => {
                let process = self.processes.other_side(&near, inside);
                self.begin((near, None, process), target, now);
            }
        }
    }

    pub(super) fn begin(
        &mut self,
        from: (OwnedFd, Option<Language>, Option<Process>),
        target: Target,
        now: Instant,
    ) {
        let (near, language, process) = from;
        let rule = self.rule_of(Protocol::Tcp, &target);
        let name = target.name().map(str::to_owned);
        let about = About { target, rule, since: now, address: None, process };
        let outgoing = Outgoing { near, language, about };
        let Some(name) = name else { return self.dial_all(outgoing, &[], now) };
        match self.upstream.look_up(&name, now) {
            LookUp::Done(outcome) => self.dial(outgoing, &outcome, now),
            LookUp::Waiting(id) => {
                self.waiting.add(id, Waiter::Connection(outgoing));
            }
        }
    }

    pub(super) fn dial(&mut self, outgoing: Outgoing, outcome: &Outcome, now: Instant) {
        match outcome {
            Outcome::Addresses { addresses, .. } => self.dial_all(outgoing, addresses, now),
            _ => self.give_up(outgoing, Decision::Unresolved, now),
        }
    }

    /// Dials the addresses of a name, or those that its target has by itself: of them all, those
    /// that were checked.
    fn dial_all(&mut self, outgoing: Outgoing, real: &[IpAddr], now: Instant) {
        match self.checked(Protocol::Tcp, &outgoing.about.target, real) {
            Err(special) => {
                let decision = match outgoing.about.target {
                    Target::Endpoint(..) => Decision::NotOfSecret(special),
                    _ => Decision::Special(special),
                };
                self.give_up(outgoing, decision, now);
            }
            Ok(addresses) => {
                let places = addresses.into_iter().map(|address| (address, None)).collect();
                let ended = self.outgoing.dial(&self.poll, outgoing, places, now);
                self.dialled(ended, now);
            }
        }
    }

    /// Goes on with a dial that has ended, if it has.
    pub(super) fn dialled(&mut self, ended: Option<Ended>, now: Instant) {
        match ended {
            None => {}
            Some(Ended::Failed(outgoing, errno)) => {
                self.give_up(outgoing, Decision::Unreachable(errno), now);
            }
            Some(Ended::Connected(outgoing, far)) => {
                self.poll.remove(far.as_fd());
                outgoing.tell(Verdict::Connected);
                let about = outgoing.about.clone();
                let expected = self.expected(&about.target);
                let joined = self.beyond(&about.target, far).and_then(|far| {
                    let sockets = (outgoing.near, far);
                    self.relay.join(&self.poll, sockets, expected, outgoing.about)
                });
                if let Err(errno) = joined {
                    self.log.add(about.entry(Decision::Connected(Some(errno)), now));
                }
            }
        }
    }

    /// Returns what stands for the far side: the broker where it adds a secret.
    fn beyond(&self, target: &Target, far: OwnedFd) -> Result<OwnedFd, Errno> {
        let Target::Endpoint(_, _, number) = target else { return Ok(far) };
        self.broker.as_ref().ok_or(Errno::PIPE)?.stand_before(*number, far)
    }

    /// Returns the server that a connection must be for. What the broker adds a secret to, it sends
    /// to that server alone.
    fn expected(&self, target: &Target) -> Option<String> {
        let named = Some(target).filter(|target| !matches!(target, Target::Endpoint(..)))?;
        named.name().filter(|_| self.rules.match_server_name).map(str::to_owned)
    }

    /// The command sees its connection reset.
    fn give_up(&mut self, outgoing: Outgoing, decision: Decision, now: Instant) {
        self.log.add(outgoing.about.entry(decision, now));
        match outgoing.language {
            Some(_) => outgoing.tell(Verdict::Unreachable),
            None => reset(outgoing.near),
        }
    }
}
