//! A port of the sandbox that the host can reach.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::fmt;

use serde::{Serialize, Serializer};

use super::{WordError, WordFault, spelling};
use crate::port::port;

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

    /// Reads `PORT`, `HOST_PORT:PORT` or `ADDRESS:HOST_PORT:PORT`.
    ///
    /// # Errors
    /// The first thing that is wrong, with what to write.
    pub fn parse(word: &str) -> Result<Self, WordError> {
        read(word).map_err(|fault| WordError { fault, hint: spelling::hint(word, fault) })
    }

    /// Returns whether another one is found at the same place; those of free ports never are.
    pub(crate) fn is_where(&self, other: &Self) -> bool {
        self.host_port != 0 && self.at() == other.at()
    }

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

fn read(word: &str) -> Result<PublishedPort, WordFault> {
    let (before, inside) =
        word.rsplit_once(':').map_or((None, word), |(host, port)| (Some(host), port));
    let inside = port(inside).ok_or(WordFault::Publish)?;
    let Some(before) = before else {
        return Ok(PublishedPort {
            address: PublishedPort::LOOPBACK,
            host_port: inside,
            port: inside,
        });
    };
    let (address, host_port) = match before.rsplit_once(':') {
        Some((address, host_port)) => (read_address(address)?, host_port),
        None => (PublishedPort::LOOPBACK, before),
    };
    let chosen = (host_port == "0").then_some(0);
    let host_port = chosen.or_else(|| port(host_port)).ok_or(WordFault::Publish)?;
    Ok(PublishedPort { address, host_port, port: inside })
}

fn read_address(text: &str) -> Result<IpAddr, WordFault> {
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address: Option<IpAddr> = match bracketed {
        Some(inside) => inside.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    };
    address.map(|address| address.to_canonical()).ok_or(WordFault::PublishAddress)
}
