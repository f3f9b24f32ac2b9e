//! What the supervisor serves in the network namespace of a sandbox.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use endow_policy::{HostPattern, HostRule, Network, NetworkMode, Ports, Protocol, Stated};

use super::step::InitStep;

/// The range of addresses that stand for names: for tests of network devices (RFC 2544), so that
/// nothing has them.
pub const SYNTHETIC_4: (Ipv4Addr, u8) = (Ipv4Addr::new(198, 18, 0, 0), 15);
/// The range of IPv6 addresses that stand for names: a unique local prefix (RFC 4193).
pub const SYNTHETIC_6: (Ipv6Addr, u8) = (Ipv6Addr::new(0xfd65, 0x6e64, 0x6f77, 0, 0, 0, 0, 0), 64);
/// Where names are asked for.
pub const RESOLVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1)), 53);

/// How many sockets pid 1 makes in advance, for names that are asked for first.
const SPARE_SOCKETS: u16 = 12;

/// Returns what is served of a network; `None` for one without a say.
pub(super) fn served(network: Network) -> Option<Network> {
    let serves =
        network.mode == NetworkMode::Allow || has_ports(&network) || !network.endpoints.is_empty();
    serves.then_some(network)
}

/// Whether ports of the host lead inside, or may.
fn has_ports(network: &Network) -> bool {
    !network.publish.is_empty() || network.logins
}

/// The steps of pid 1 that make what is served: nothing of it depends on the host.
pub(super) fn opening(network: &Network) -> Vec<InitStep> {
    let spares = InitStep::SpareSockets { count: SPARE_SOCKETS };
    let serve = |(protocol, at)| InitStep::Serve { protocol, at };
    let endpoints = endpoints(network).map(serve);
    if network.mode != NetworkMode::Allow {
        let spares = has_ports(network).then_some(spares);
        return endpoints.chain(spares).collect();
    }
    let local = local_ranges(network).into_iter();
    let local = local.map(|(address, prefix_len)| InitStep::LocalRange { address, prefix_len });
    let served = served_at(network).into_iter().map(serve);
    local.chain(served).chain(endpoints).chain([spares]).collect()
}

/// Whether a rule allows more addresses than can be served before somebody connects: those of a
/// range, and those at any port.
pub(super) fn is_on_demand(network: &Network) -> bool {
    let many = |rule: &Stated<HostRule>| match &rule.value.host {
        HostPattern::Range(range) => range.single().is_none() || rule.value.ports == Ports::Any,
        HostPattern::Name(_) | HostPattern::Below(_) => rule.value.ports == Ports::Any,
        HostPattern::Loopback | HostPattern::Registry(_) => false,
    };
    network.mode == NetworkMode::Allow && network.allow.iter().any(many)
}

/// The addresses that lead to the supervisor: those that stand for names, and those of rules. The
/// loopback's are local in any case.
fn local_ranges(network: &Network) -> Vec<(IpAddr, u8)> {
    let of_rule = |rule: &Stated<HostRule>| match &rule.value.host {
        HostPattern::Range(range) if !range.first().is_loopback() => {
            Some((range.first(), range.prefix()))
        }
        _ => None,
    };
    let mut ranges = vec![
        (IpAddr::V4(SYNTHETIC_4.0), SYNTHETIC_4.1),
        (IpAddr::V6(SYNTHETIC_6.0), SYNTHETIC_6.1),
    ];
    // Two rules may state the same range, at other ports.
    for range in network.allow.iter().filter_map(of_rule) {
        if !ranges.contains(&range) {
            ranges.push(range);
        }
    }
    ranges
}

/// The sockets that are there before the command: of the resolver, the proxy, and all addresses
/// that are known before anybody asks for a name.
fn served_at(network: &Network) -> Vec<(Protocol, SocketAddr)> {
    let proxy = network.proxy.as_ref();
    let proxy = proxy.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port.value)));
    let of_rule = |rule: &Stated<HostRule>| {
        let protocol = rule.value.protocol;
        addresses(&rule.value).into_iter().map(move |at| (protocol, at))
    };
    let fixed = network.allow.iter().flat_map(of_rule);
    let mut served = vec![(Protocol::Udp, RESOLVER), (Protocol::Tcp, RESOLVER)];
    for socket in fixed.chain(proxy.map(|at| (Protocol::Tcp, at))) {
        if !served.contains(&socket) {
            served.push(socket);
        }
    }
    served
}

/// Where requests are taken to which the broker adds a secret.
fn endpoints(network: &Network) -> impl Iterator<Item = (Protocol, SocketAddr)> {
    let ports = network.endpoints.iter().map(|endpoint| endpoint.value.port);
    ports.map(|port| (Protocol::Tcp, SocketAddr::from((Ipv4Addr::LOCALHOST, port))))
}

fn addresses(rule: &HostRule) -> Vec<SocketAddr> {
    let addresses: Vec<IpAddr> = match &rule.host {
        HostPattern::Range(range) => range.single().into_iter().collect(),
        HostPattern::Loopback => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        HostPattern::Name(_) | HostPattern::Below(_) | HostPattern::Registry(_) => Vec::new(),
    };
    let Ports::Some(ports) = &rule.ports else { return Vec::new() };
    let at = |address: IpAddr| ports.iter().map(move |port| SocketAddr::new(address, *port));
    addresses.into_iter().flat_map(at).collect()
}
