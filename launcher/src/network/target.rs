//! Where a connection that was taken is to go.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use endow_policy::{HostName, HostPattern};

/// What a listening socket stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A port of a host, by its name.
    Name(HostName, u16),
    /// The very address that the socket has inside.
    Address(SocketAddr),
    /// A port of the host's own loopback.
    HostLoopback(u16),
    /// A host of this number among those to which the broker adds a secret.
    Endpoint(HostName, u16, usize),
    /// Names are asked for in the connection.
    Resolver,
    /// Where to go is said in the connection.
    Proxy,
    /// A port inside, reached from the host.
    Published(u16),
}

impl Target {
    /// Returns how the command named it, and the port.
    pub(super) fn named(&self) -> (String, Option<u16>) {
        match self {
            Self::Name(name, port) | Self::Endpoint(name, port, _) => {
                (name.as_str().to_owned(), Some(*port))
            }
            Self::Address(address) => (address.ip().to_string(), Some(address.port())),
            Self::HostLoopback(port) | Self::Published(port) => {
                ("localhost".to_owned(), Some(*port))
            }
            Self::Resolver | Self::Proxy => (String::new(), None),
        }
    }

    /// Returns its name, if that must be looked up.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name, _) | Self::Endpoint(name, ..) => Some(name.as_str()),
            _ => None,
        }
    }

    /// Returns whether a rule's host is what the target is.
    pub(super) fn is_under(&self, host: &HostPattern) -> bool {
        match (self, host) {
            (Self::Name(name, _), host) => host.matches_name(name),
            (Self::Address(address), host) => host.contains(address.ip()),
            (Self::HostLoopback(_), HostPattern::Loopback) => true,
            _ => false,
        }
    }

    /// Returns the addresses of a target that needs no look-up.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        match self {
            Self::Address(address) => vec![*address],
            Self::HostLoopback(port) | Self::Published(port) => loopback(*port),
            Self::Name(..) | Self::Endpoint(..) | Self::Resolver | Self::Proxy => Vec::new(),
        }
    }
}

fn loopback(port: u16) -> Vec<SocketAddr> {
    let addresses: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    addresses.map(|address| SocketAddr::new(address, port)).into()
}
