//! Datagrams to hosts that a rule for UDP names.

use std::net::IpAddr;
use std::time::Instant;

use endow_policy::Protocol;

use super::Served;
use crate::network::datagrams::{First, Passed};
use crate::network::dns::upstream::{LookUp, Outcome};
use crate::network::log::{Decision, Entry};
use crate::network::outgoing::About;
use crate::network::slab::Key;
use crate::network::waiting::Waiter;

impl Served {
    pub(super) fn send_out(&mut self, key: Key, now: Instant) {
        for first in self.datagrams.take_inside(key, now) {
            let looked_up = first.target.name().map(|name| self.upstream.look_up(name, now));
            match looked_up {
                None => self.send_checked(first, &[], now),
                Some(LookUp::Done(outcome)) => self.send_first(first, &outcome, now),
                Some(LookUp::Waiting(id)) => {
                    self.waiting.add(id, Waiter::Datagram(first));
                }
            }
        }
    }

    pub(super) fn send_first(&mut self, first: First, outcome: &Outcome, now: Instant) {
        if let Outcome::Addresses { addresses, .. } = outcome {
            self.send_checked(first, addresses, now);
        }
    }

    /// Sends to the addresses of a name, or those that its target has by itself: of them all, those
    /// that were checked. What can't be sent is lost, as datagrams are.
    fn send_checked(&mut self, first: First, real: &[IpAddr], now: Instant) {
        let target = first.target.clone();
        match self.checked(Protocol::Udp, &target, real) {
            Ok(addresses) => {
                let opened = self.datagrams.open(&self.poll, first, &addresses, now);
                self.note_datagrams(opened.unwrap_or_default().as_slice());
            }
            Err(special) => {
                let (host, port) = target.named();
                let port = port.map(|port| (Protocol::Udp, port));
                self.log.refuse(&host, port, Decision::Special(special));
            }
        }
    }

    pub(super) fn note_datagrams(&mut self, gone: &[Passed]) {
        let now = Instant::now();
        for Passed { target, address, since, sent, received } in gone.iter().cloned() {
            let rule = self.rule_of(Protocol::Udp, &target);
            let about = About { target, rule, since, address: Some(address), process: None };
            let entry = about.entry(Decision::Connected(None), now);
            self.log.add(Entry { protocol: Protocol::Udp, sent, received, ..entry });
        }
    }
}
