//! Questions for names, and the addresses that stand for them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;

use endow_policy::{HostName, Protocol};
use rustix::io::Errno;

use super::Served;
use crate::network::dns::answer::Answer;
use crate::network::dns::question::Kind;
use crate::network::dns::upstream::{LookUp, Outcome};
use crate::network::log::Decision;
use crate::network::names::Asked;
use crate::network::spares::Inside;
use crate::network::synthetic;
use crate::network::target::Target;
use crate::network::waiting::Waiter;

/// How long an answer may be kept inside, in seconds. An address stands for its name to the end.
const ANSWER_SECONDS: u32 = 60;

impl Served {
    pub(super) fn ask_all(&mut self, asked: Vec<Asked>, inside: Option<Inside<'_>>, now: Instant) {
        for asked in asked {
            self.ask(asked, inside, now);
        }
    }

    fn ask(&mut self, asked: Asked, inside: Option<Inside<'_>>, now: Instant) {
        if let Kind::Pointer(address) = asked.question.kind {
            let name = self.names.name_of(address).map(HostName::as_str);
            let seconds = ANSWER_SECONDS;
            let answer = name.map_or(Answer::NoSuchName, |name| Answer::Name { name, seconds });
            return self.service.answer(&self.poll, &asked, &answer);
        }
        let name = asked.question.name.clone();
        let host = HostName::parse(&name).ok();
        if host.as_ref().is_some_and(HostName::is_loopback) {
            return self.say(&asked, &[Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        if host.is_none_or(|host| !self.knows(&host)) {
            self.log.refuse(&name, None, Decision::NotAllowed);
            return self.service.answer(&self.poll, &asked, &Answer::NoSuchName);
        }
        match self.upstream.look_up(&name, now) {
            LookUp::Done(outcome) => self.answer(&asked, &name, &outcome, inside),
            LookUp::Waiting(id) => {
                self.waiting.add(id, Waiter::Question(asked));
            }
        }
    }

    pub(super) fn answer(
        &mut self,
        asked: &Asked,
        name: &str,
        outcome: &Outcome,
        inside: Option<Inside<'_>>,
    ) {
        let answer = match outcome {
            Outcome::Addresses { addresses, .. } => {
                return match self.stand_for(name, addresses, inside) {
                    Ok(synthetic) => self.say(asked, &synthetic),
                    Err(None) => self.service.answer(&self.poll, asked, &Answer::NoSuchName),
                    Err(Some(_)) => {
                        self.log.refuse(name, None, Decision::Unresolved);
                        self.service.answer(&self.poll, asked, &Answer::Failed);
                    }
                };
            }
            Outcome::NoSuchName => Answer::NoSuchName,
            Outcome::NoAddress => Answer::Nothing,
            Outcome::Failed(_) => Answer::Failed,
        };
        self.service.answer(&self.poll, asked, &answer);
    }

    fn say(&mut self, asked: &Asked, addresses: &[IpAddr]) {
        let answer = Answer::Addresses { addresses, seconds: ANSWER_SECONDS };
        self.service.answer(&self.poll, asked, &answer);
    }

    /// Gives a name addresses inside, and has sockets listen on them. Without an error number when
    /// no address that it really has may be dialled.
    fn stand_for(
        &mut self,
        name: &str,
        real: &[IpAddr],
        inside: Option<Inside<'_>>,
    ) -> Result<Vec<IpAddr>, Option<Errno>> {
        let host = HostName::parse(name).map_err(|_| None)?;
        let ports = self.ports(&host);
        let mut checked = |(protocol, port): &(Protocol, u16)| {
            self.checked(*protocol, &Target::Name(host.clone(), *port), real)
        };
        let verdicts: Vec<_> = ports.iter().map(&mut checked).collect();
        if let Some(Err(special)) = verdicts.first()
            && verdicts.iter().all(Result::is_err)
        {
            self.log.refuse(name, None, Decision::Special(*special));
            return Err(None);
        }
        if !self.listeners.has_room_for(ports.len()) {
            return Err(Some(Errno::NFILE));
        }
        let number = self.names.number(&host).ok_or(Some(Errno::NFILE))?;
        let mut standing = Vec::new();
        for address in synthetic::addresses(number) {
            match self.listen(address, &host, &ports, inside) {
                Ok(()) => standing.push(address),
                // A kernel without the sixth version has the fourth.
                Err(_) if address.is_ipv6() => {}
                Err(errno) => return Err(Some(errno)),
            }
        }
        Ok(standing)
    }

    fn listen(
        &mut self,
        address: IpAddr,
        host: &HostName,
        ports: &[(Protocol, u16)],
        inside: Option<Inside<'_>>,
    ) -> Result<(), Errno> {
        ports.iter().try_for_each(|(protocol, port)| {
            let (at, target) = (SocketAddr::new(address, *port), Target::Name(host.clone(), *port));
            match protocol {
                Protocol::Tcp => {
                    let spares = (&mut self.spares, inside);
                    self.listeners.ensure(&self.poll, spares, at, target)
                }
                Protocol::Udp => self.listen_for_datagrams(inside, at, target),
            }
        })
    }

    /// A name is served without datagrams where all sockets for these stand for good.
    fn listen_for_datagrams(
        &mut self,
        inside: Option<Inside<'_>>,
        at: SocketAddr,
        target: Target,
    ) -> Result<(), Errno> {
        match self.datagrams.ensure(&self.poll, inside, at, target) {
            Ok(gone) => self.note_datagrams(&gone),
            Err(Errno::NFILE) => {}
            Err(errno) => return Err(errno),
        }
        Ok(())
    }
}
