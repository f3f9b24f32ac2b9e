//! How names are looked up on this machine.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use std::time::Duration;

use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::hosts::Hosts;
use super::resolv_conf::{self, Extension, Order, Server, Transport};

/// The port of name servers.
const PORT: u16 = 53;

/// Whom to ask, and how.
#[derive(Clone, Debug)]
pub(crate) struct ResolverConfig {
    /// The servers, that to ask first in front.
    pub(crate) nameservers: Vec<SocketAddr>,
    /// How long to wait for one.
    pub(crate) timeout: Duration,
    /// How often to ask each.
    pub(crate) attempts: u8,
    pub(super) order: Order,
    pub(super) transport: Transport,
    pub(super) edns: Extension,
    pub(super) hosts: Hosts,
}

impl ResolverConfig {
    /// Takes the texts of `/etc/hosts` and `/etc/resolv.conf`, which the caller has limited; empty
    /// ones for files that are not there.
    pub(crate) fn new(hosts: &str, resolv_conf: &str) -> Self {
        let conf = resolv_conf::parse(resolv_conf);
        let mut nameservers: Vec<SocketAddr> = conf.servers.iter().filter_map(reached).collect();
        if conf.servers.is_empty() {
            // resolv.conf(5): none means the one of this machine.
            nameservers.push((Ipv4Addr::LOCALHOST, PORT).into());
        }
        Self {
            nameservers,
            timeout: Duration::from_secs(conf.timeout.into()),
            attempts: conf.attempts,
            order: conf.order,
            transport: conf.transport,
            edns: conf.edns,
            hosts: Hosts::new(hosts),
        }
    }

    /// Returns which server the lookup of this number asks first.
    pub(super) fn first_server(&self, lookup: u64) -> usize {
        let turn = usize::try_from(lookup).unwrap_or_default();
        match self.order {
            Order::Listed => 0,
            Order::Rotating => turn.checked_rem(self.nameservers.len()).unwrap_or_default(),
        }
    }
}

/// Returns where a server is reached; `None` when its interface is gone.
fn reached(server: &Server) -> Option<SocketAddr> {
    match (server.address, server.scope.as_deref()) {
        (IpAddr::V6(address), Some(scope)) => {
            Some(SocketAddrV6::new(address, PORT, 0, interface(scope)?).into())
        }
        (address, _) => Some((address, PORT).into()),
    }
}

fn interface(scope: &str) -> Option<u32> {
    let by_name = || {
        let kind = (AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC);
        name_to_index(socket_with(kind.0, kind.1, kind.2, None).ok()?, scope).ok()
    };
    scope.parse().ok().or_else(by_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(text: &str) -> Vec<String> {
        let config = ResolverConfig::new("", text);
        config.nameservers.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn servers_of_interfaces_have_their_number() {
        assert_eq!(servers("nameserver fe80::1%lo\n"), ["[fe80::1%1]:53"]);
        assert_eq!(servers("nameserver fe80::1%7\n"), ["[fe80::1%7]:53"]);
        assert_eq!(servers("nameserver fe80::1%no-such\nnameserver ::1\n"), ["[::1]:53"]);
    }

    #[test]
    fn without_a_server_this_machine_is_asked() {
        assert_eq!(servers("search a.test\n"), ["127.0.0.1:53"]);
    }

    #[test]
    fn rotating_servers_take_turns() {
        let text = "nameserver ::1\nnameserver ::2\n";
        let first = |text: &str| {
            let config = ResolverConfig::new("", text);
            [0, 1, 2, 3].map(|lookup| config.first_server(lookup))
        };
        assert_eq!(first(text), [0; 4]);
        assert_eq!(first(&format!("{text}options rotate\n")), [0, 1, 0, 1]);
    }
}
