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

    /// Returns the addresses in the range in which the host of a secret must be. Of special ones that range opens what
    /// one of a rule does; without a range there is none.
    fn checked_endpoint(
        &mut self,
        number: usize,
        mut named: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, Special> {
        let endpoint = self.rules.endpoints.get(number).map(|endpoint| &endpoint.value);
        let range = endpoint.and_then(|endpoint| endpoint.address);
        named.retain(|at| range.is_none_or(|range| range.contains(at.ip())));
        let nearby = self.nearby.now();
        let closed = |at: SocketAddr| {
            let special = nearby.special_range(at.ip())?;
            let opened = range.is_some_and(|range| special.range.covers(&range));
            (!opened).then_some(Special { at, range: special })
        };
        allowed(named, |at| closed(at).map_or(Ok(()), Err))
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

#[cfg(test)]
mod tests {
    use endow_policy::{AddressRange, Header, Network, Origin, Server};

    use super::*;
    use crate::network::dns::upstream::{ResolverConfig, Upstream};
    use crate::network::nearby::Surroundings;

    /// Whether a secret with this `address` is sent to a server there.
    fn is_dialled(range: &str, at: &str) -> bool {
        let value = Endpoint {
            secret: "A".to_owned(),
            server: Server::parse("api.example.com").expect("a server"),
            header: Header::parse("X-Key: {}").expect("a header"),
            address: Some(AddressRange::parse(range).expect("a range")),
            port: 8601,
            variable: "A_BASE_URL".to_owned(),
            websocket: false,
        };
        let endpoints = vec![Stated { value, origin: Origin::Default, span: 0..0 }];
        let rules = Network { endpoints, ..Network::default() };
        let upstream = Upstream::new(ResolverConfig::new("", "")).expect("made");
        let nearby = Surroundings::new().expect("read");
        let mut served = Served::new(rules, upstream, nearby).expect("made");
        let checked =
            served.checked_endpoint(0, vec![(at.parse::<IpAddr>().expect("one"), 443).into()]);
        checked.is_ok_and(|addresses| !addresses.is_empty())
    }

    #[test]
    fn range_of_a_secret_opens_no_special_address_that_it_does_not_mean() {
        assert!(is_dialled("0.0.0.0/0", "8.8.8.8") && !is_dialled("8.8.4.0/24", "8.8.8.8"));
        for at in ["127.0.0.1", "169.254.169.254", "10.1.2.3"] {
            assert!(!is_dialled("0.0.0.0/0", at), "{at}");
        }
        assert!(!is_dialled("169.254.0.0/16", "169.254.169.254"));
        assert!(is_dialled("169.254.169.254", "169.254.169.254"));
    }
}
