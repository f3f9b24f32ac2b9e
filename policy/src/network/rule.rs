//! One thing that may be reached.

use core::net::IpAddr;
use std::fmt;

use serde::{Serialize, Serializer};

use super::{AddressRange, HostName, Ports, SpecialRange, special};

/// One thing that may be reached: a host or several, at ports of one protocol.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostRule {
    /// How it is spoken to.
    pub protocol: Protocol,
    /// Which host it is.
    pub host: HostPattern,
    /// At which ports; those of a registry come from its tool's configuration.
    pub ports: Ports,
}

/// The protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// A stream.
    Tcp,
    /// Datagrams.
    Udp,
}

/// Which host a rule is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostPattern {
    /// This name.
    Name(HostName),
    /// Every name below this one, and not the name itself: `*.example.com`.
    Below(HostName),
    /// These addresses, without a name.
    Range(AddressRange),
    /// The host's own loopback: `localhost`.
    Loopback,
    /// The hosts from which a tool fetches packages, as its user has configured it.
    Registry(Registry),
}

/// A tool that fetches packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Registry {
    /// Packages of JavaScript.
    Npm,
    /// Packages of Rust.
    Cargo,
    /// Packages of Python.
    Pip,
    /// Modules of Go.
    Go,
}

impl HostRule {
    /// Returns whether it is about a protocol and a port.
    pub fn is_for(&self, protocol: Protocol, port: u16) -> bool {
        self.protocol == protocol && self.ports.contains(port)
    }

    /// Returns whether all that `other` allows is allowed by this rule alone.
    pub fn covers(&self, other: &Self) -> bool {
        self.protocol == other.protocol
            && self.ports.covers(&other.ports)
            && self.host.covers(&other.host)
    }

    /// Returns whether something of what `other` allows is allowed by this rule, for every host of
    /// `other`.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.protocol == other.protocol
            && self.ports.meets(&other.ports)
            && self.host.covers(&other.host)
    }
}

impl Protocol {
    /// Returns the protocol as it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

impl HostPattern {
    /// Returns whether a name is meant.
    pub fn matches_name(&self, name: &HostName) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::Below(above) => name.is_below(above),
            Self::Range(_) | Self::Loopback | Self::Registry(_) => false,
        }
    }

    /// Returns whether an address is meant by itself.
    pub fn contains(&self, address: IpAddr) -> bool {
        matches!(self, Self::Range(range) if range.contains(address))
    }

    /// Returns whether an address of a special range is meant by itself. A wider range doesn't mean
    /// it: `0.0.0.0/0` stands for addresses of the internet, and whoever means a private network
    /// writes it.
    pub fn contains_special(&self, address: IpAddr, special: &SpecialRange) -> bool {
        matches!(self, Self::Range(range) if range.contains(address) && special.range.covers(range))
    }

    /// Returns how many bits its addresses share: the more, the fewer they are.
    pub fn prefix(&self) -> Option<u8> {
        match self {
            Self::Range(range) => Some(range.prefix()),
            Self::Name(_) | Self::Below(_) | Self::Loopback | Self::Registry(_) => None,
        }
    }

    /// Returns whether every host that `other` means is meant.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Below(_), Self::Name(name)) => self.matches_name(name),
            (Self::Below(above), Self::Below(below)) => above == below || below.is_below(above),
            // Of special addresses, a range opens those among which all of it lies; a single address
            // may be the host's own, which no range opens.
            (Self::Range(wide), Self::Range(narrow)) => {
                let special = special::around(narrow);
                let may_be_own = wide != narrow && narrow.single().is_some();
                let is_within = special.is_none_or(|special| special.range.covers(wide));
                wide.covers(narrow) && !may_be_own && is_within
            }
            _ => self == other,
        }
    }
}

impl Registry {
    /// All tools, in the order of the documents.
    pub const ALL: &[Self] = &[Self::Npm, Self::Cargo, Self::Pip, Self::Go];

    /// Returns the tool as it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Cargo => "cargo",
            Self::Pip => "pip",
            Self::Go => "go",
        }
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.protocol == Protocol::Udp {
            f.write_str("udp:")?;
        }
        match &self.host {
            HostPattern::Registry(_) => self.host.fmt(f),
            host => write!(f, "{host}:{}", self.ports),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Below(name) => write!(f, "*.{name}"),
            Self::Range(range) if range.is_v6() => write!(f, "[{range}]"),
            Self::Range(range) => range.fmt(f),
            Self::Loopback => f.write_str("localhost"),
            Self::Registry(registry) => write!(f, "registry:{}", registry.word()),
        }
    }
}

impl Serialize for HostRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
