//! The ports of a rule.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Serialize, Serializer};

/// The ports at which a host may be reached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ports {
    /// Every port.
    Any,
    /// These; at least one, and never 0.
    Some(BTreeSet<u16>),
}

/// The port of HTTPS, which a host alone stands for.
pub(super) const HTTPS: u16 = 443;

impl Ports {
    /// Returns one port.
    pub fn one(port: u16) -> Self {
        Self::Some(BTreeSet::from([port]))
    }

    /// Returns whether a port is among them.
    pub fn contains(&self, port: u16) -> bool {
        match self {
            Self::Any => true,
            Self::Some(ports) => ports.contains(&port),
        }
    }

    /// Returns whether all of `other` are among them.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) => true,
            (Self::Some(_), Self::Any) => false,
            (Self::Some(all), Self::Some(some)) => some.is_subset(all),
        }
    }

    /// Returns whether they have a port in common.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => true,
            (Self::Some(some), Self::Some(others)) => !some.is_disjoint(others),
        }
    }

    /// Returns what is left without `other`: nothing of all ports, since the rest of them can't be
    /// written.
    pub(crate) fn without(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => None,
            (Self::Some(ports), Self::Some(taken)) => {
                let left: BTreeSet<u16> = ports.difference(taken).copied().collect();
                (!left.is_empty()).then_some(Self::Some(left))
            }
        }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Some(ports) => {
                let words: Vec<String> = ports.iter().map(u16::to_string).collect();
                f.write_str(&words.join(","))
            }
        }
    }
}

impl Serialize for Ports {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
