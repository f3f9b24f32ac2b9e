//! Where clients of the proxy want to go.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Instant;

use endow_policy::{HostName, Protocol};
use rustix::net::{SendFlags, send};

use super::Served;
use crate::network::log::Decision;
use crate::network::proxy::{Verdict, Wish};
use crate::network::spares::Inside;
use crate::network::target::Target;

impl Served {
    /// Goes where a client of the proxy wants to go, if a rule allows it.
    pub(super) fn wish(
        &mut self,
        near: OwnedFd,
        wish: &Wish,
        inside: Option<Inside<'_>>,
        now: Instant,
    ) {
        let target = self.wished(wish);
        let allowed = target.filter(|target| self.rule_of(Protocol::Tcp, target).is_some());
        if let Some(target) = allowed {
            let process = self.processes.other_side(&near, inside);
            return self.begin((near, Some(wish.language), process), target, now);
        }
        self.log.refuse(&wish.host, Some((Protocol::Tcp, wish.port)), Decision::NotAllowed);
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let _ = send(&near, wish.language.reply(Verdict::NotAllowed), flags);
    }

    /// Returns the target of a wish: by address, by the name of the loopback, or by another name.
    fn wished(&self, wish: &Wish) -> Option<Target> {
        if let Ok(address) = wish.host.parse::<IpAddr>() {
            let at = SocketAddr::new(address.to_canonical(), wish.port);
            let stands_for = self.names.name_of(at.ip()).cloned();
            let named = stands_for.map(|name| Target::Name(name, wish.port));
            return Some(named.unwrap_or_else(|| self.target_at(at)));
        }
        let name = HostName::parse(&wish.host).ok()?;
        let loopback = name.is_loopback();
        Some(if loopback { Target::HostLoopback(wish.port) } else { Target::Name(name, wish.port) })
    }
}
