//! What the rules say.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use endow_policy::{Endpoint, HostName, HostPattern, HostRule, Ports, Protocol, Stated};

use super::Served;
use crate::network::log::Special;
use crate::network::target::Target;
use crate::plan::network::RESOLVER;

impl Served {
    /// Returns whether a rule is about a name, whatever its protocol and ports.
    pub(super) fn knows(&self, name: &HostName) -> bool {
        self.rules.rules_for(name).next().is_some()
    }

    /// Returns the ports at which a name may be reached, as far as rules list them.
    pub(super) fn ports(&self, name: &HostName) -> Vec<(Protocol, u16)> {
        let listed = |rule: &Stated<HostRule>| {
            let ports = match &rule.value.ports {
                Ports::Some(ports) => ports.iter().copied().collect(),
                Ports::Any => Vec::new(),
            };
            let protocol = rule.value.protocol;
            ports.into_iter().map(move |port| (protocol, port))
        };
        self.rules.rules_for(name).flat_map(listed).collect()
    }

    /// Returns the rule that allows a target, as it was written, and where.
    pub(super) fn rule_of(&self, protocol: Protocol, target: &Target) -> Option<(String, String)> {
        if let Target::Endpoint(_, _, number) = target {
            let endpoint = self.rules.endpoints.get(*number)?;
            let rule = format!("secrets.{}", endpoint.value.secret);
            return Some((rule, endpoint.origin.to_string()));
        }
        let (_, port) = target.named();
        let fits = |rule: &&Stated<HostRule>| {
            let rule = &rule.value;
            port.is_some_and(|port| rule.is_for(protocol, port)) && target.is_under(&rule.host)
        };
        let rule = self.rules.allow.iter().find(fits)?;
        Some((rule.value.to_string(), rule.origin.to_string()))
    }

    /// Returns the addresses of a target that may be dialled: those that its name has, or that it
    /// has by itself. The first that is forbidden is the error when all are.
    pub(super) fn checked(
        &mut self,
        protocol: Protocol,
        target: &Target,
        real: &[IpAddr],
    ) -> Result<Vec<SocketAddr>, Special> {
        let real = |port: &u16| real.iter().map(|it| SocketAddr::new(*it, *port)).collect();
        let named: Vec<SocketAddr> = match target {
            Target::HostLoopback(_) => return Ok(target.addresses()),
            Target::Endpoint(_, port, number) => return self.checked_endpoint(*number, real(port)),
            Target::Name(_, port) => real(port),
            _ => target.addresses(),
        };
        let nearby = self.nearby.now();
        let may_dial = |at: SocketAddr| {
            self.rules
                .may_dial(protocol, at.ip(), at.port(), nearby)
                .map_err(|range| Special { at, range })
        };
        allowed(named, may_dial)
    }

    /// Returns the addresses in the range in which the host of a secret must be; without a range, those that are not
    /// special.
    fn checked_endpoint(
        &mut self,
        number: usize,
        mut named: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, Special> {
        let endpoint = self.rules.endpoints.get(number).map(|endpoint| &endpoint.value);
        let Some(range) = endpoint.and_then(|endpoint| endpoint.address) else {
            let nearby = self.nearby.now();
            let special = |at: SocketAddr| nearby.special_range(at.ip());
            return allowed(named, |at| {
                special(at).map_or(Ok(()), |range| Err(Special { at, range }))
            });
        };
        named.retain(|at| range.contains(at.ip()));
        Ok(named)
    }

    fn endpoint_at(&self, port: u16) -> Option<Target> {
        let is_there = |it: &Stated<Endpoint>| it.value.port == port;
        let number = self.rules.endpoints.iter().position(is_there)?;
        let server = &self.rules.endpoints.get(number)?.value.server;
        Some(Target::Endpoint(server.host.clone(), server.port, number))
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
            _ => match self.endpoint_at(port).filter(|_| loopback) {
                Some(endpoint) => endpoint,
                None => Target::Address(at),
            },
        }
    }
}

/// Returns the addresses that are not refused; the first refusal when all are.
fn allowed(
    named: Vec<SocketAddr>,
    judge: impl Fn(SocketAddr) -> Result<(), Special>,
) -> Result<Vec<SocketAddr>, Special> {
    let (mut allowed, mut refused) = (Vec::new(), None);
    for at in named {
        match judge(at) {
            Ok(()) => allowed.push(at),
            Err(special) => refused = refused.or(Some(special)),
        }
    }
    refused.filter(|_| allowed.is_empty()).map_or(Ok(allowed), Err)
}
