//! What the rules say.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use endow_policy::{HostName, HostPattern, HostRule, Ports, Protocol, SpecialRange, Stated};

use super::Served;
use crate::network::target::Target;
use crate::plan::network::RESOLVER;

impl Served {
    pub(super) fn rules<'a>(
        &'a self,
        name: &'a HostName,
    ) -> impl Iterator<Item = &'a Stated<HostRule>> {
        self.rules.rules_for(name).filter(|rule| rule.value.protocol == Protocol::Tcp)
    }

    pub(super) fn ports(&self, name: &HostName) -> Vec<u16> {
        let listed = |rule: &Stated<HostRule>| match &rule.value.ports {
            Ports::Some(ports) => ports.iter().copied().collect(),
            Ports::Any => Vec::new(),
        };
        self.rules(name).flat_map(listed).collect()
    }

    pub(super) fn may_dial(&self, address: IpAddr, port: u16) -> Result<(), SpecialRange> {
        self.rules.may_dial(Protocol::Tcp, address, port)
    }

    pub(super) fn rule_of(&self, target: &Target) -> Option<(String, String)> {
        let (_, port) = target.named();
        let fits = |rule: &&Stated<HostRule>| {
            let rule = &rule.value;
            port.is_some_and(|port| rule.is_for(Protocol::Tcp, port)) && target.is_under(&rule.host)
        };
        let rule = self.rules.allow.iter().find(fits)?;
        Some((rule.value.to_string(), rule.origin.to_string()))
    }

    pub(super) fn target_at(&self, at: SocketAddr) -> Target {
        let port = at.port();
        let loopback = at.ip() == Ipv4Addr::LOCALHOST || at.ip() == Ipv6Addr::LOCALHOST;
        let proxy = self.rules.proxy.as_ref().is_some_and(|proxy| proxy.value == port);
        let named = |rule: &Stated<HostRule>| {
            rule.value.host == HostPattern::Loopback && rule.value.ports.contains(port)
        };
        match at {
            RESOLVER => Target::Resolver,
            _ if loopback && proxy => Target::Proxy,
            _ if loopback && self.rules.allow.iter().any(named) => Target::HostLoopback(port),
            _ => Target::Address(at),
        }
    }
}
