//! Addresses that are served when somebody is about to connect to them: a range has too many to
//! serve them all, and so has a name whose ports are not listed.

use std::net::SocketAddr;

use endow_policy::Protocol;

use super::Served;
use crate::network::spares::Inside;
use crate::network::target::Target;

impl Served {
    /// Serves an address if a rule allows it. Where that can't be, the connection finds nobody.
    pub(crate) fn expect(&mut self, at: SocketAddr, inside: Option<Inside<'_>>) {
        let target = match self.names.name_of(at.ip()).cloned() {
            Some(name) => Target::Name(name, at.port()),
            None => Target::Address(at),
        };
        let allowed = self.rule_of(&target).is_some();
        let checked = match target {
            Target::Address(at) => self.rules.may_dial(Protocol::Tcp, at.ip(), at.port()).is_ok(),
            _ => true,
        };
        if allowed && checked && !at.ip().is_loopback() {
            let spares = (&mut self.spares, inside);
            let _ = self.listeners.ensure(&self.poll, spares, at, target);
        }
    }
}
