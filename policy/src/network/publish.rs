//! A port of the sandbox that the host can reach.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::fmt;

use serde::{Serialize, Serializer};

/// A port of the sandbox that the host can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublishedPort {
    /// The address of the host at which it is found.
    pub address: IpAddr,
    /// The port there; 0 is one that is free.
    pub host_port: u16,
    /// The port inside.
    pub port: u16,
}

impl PublishedPort {
    /// The host's loopback, where nobody else's machine reaches it.
    pub const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// Returns where on the host it is found.
    pub fn at(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.host_port)
    }
}

impl fmt::Display for PublishedPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.address == Self::LOOPBACK {
            write!(f, "{}:{}", self.host_port, self.port)
        } else {
            write!(f, "{}:{}", self.at(), self.port)
        }
    }
}

impl Serialize for PublishedPort {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
