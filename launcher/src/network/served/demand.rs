//! Addresses that are served when somebody is about to connect to them: a range has too many to
//! serve them all, and so has a name whose ports are not listed.

use std::net::SocketAddr;

use endow_policy::{Protocol, special_range};

use super::Served;
use crate::network::log::{Decision, Special};
use crate::network::spares::Inside;
use crate::network::target::Target;

impl Served {
    /// Serves an address if a rule allows it. Where that can't be, the connection finds nobody, and so
    /// does one to port 0, at which nobody can listen.
    pub(crate) fn expect(&mut self, at: SocketAddr, inside: Option<Inside<'_>>) {
        if at.port() == 0 {
            return;
        }
        let target = match self.names.name_of(at.ip()).cloned() {
            Some(name) => Target::Name(name, at.port()),
            None => Target::Address(at),
        };
        let allowed = self.rule_of(Protocol::Tcp, &target).is_some();
        // The addresses of a name are checked when it is dialled.
        let checked = self.checked(Protocol::Tcp, &target, &[]);
        if !allowed || at.ip().is_loopback() {
            return;
        }
        match checked {
            Ok(_) => {
                let spares = (&mut self.spares, inside);
                let _ = self.listeners.ensure(&self.poll, spares, at, target);
            }
            // Where one listens from before, the connection is taken, and its refusal told then.
            Err(_) if self.listeners.has(at) => {}
            Err(special) => self.refuse_nearby(special),
        }
    }

    /// Says that a wide range does not open this machine and what is beside it. Other ranges are
    /// known to whoever reads the rule.
    fn refuse_nearby(&mut self, special: Special) {
        let Special { at, range } = special;
        if special_range(at.ip()) != Some(range) {
            let port = Some((Protocol::Tcp, at.port()));
            self.log.refuse(&at.ip().to_string(), port, Decision::Special(special));
        }
    }
}
