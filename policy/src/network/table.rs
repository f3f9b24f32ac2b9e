//! The table `[network]`, as one source says it.

use super::{HostRule, NetworkMode, PublishedPort};
use crate::Stated;

/// The table `[network]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkTable {
    /// What is there. `none` and `host` take back what weaker sources allow.
    pub mode: Option<Stated<NetworkMode>>,
    /// What can be reached; one entry makes the mode `allow`.
    pub allow: Vec<Stated<Edit<HostRule>>>,
    /// Ports of the sandbox that the host can reach.
    pub publish: Vec<Stated<Edit<PublishedPort>>>,
    /// The port of a proxy inside.
    pub proxy: Option<Stated<u16>>,
    /// Whether the name in a connection's first bytes must be the allowed one.
    pub match_server_name: Option<Stated<bool>>,
}

/// One entry of a list that adds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit<T> {
    /// The entry is added.
    Add(T),
    /// `!X`: what weaker sources say of it is taken back.
    Remove(T),
}

impl<T> Edit<T> {
    /// Returns the entry, when it is added.
    pub fn added(&self) -> Option<&T> {
        match self {
            Self::Add(entry) => Some(entry),
            Self::Remove(_) => None,
        }
    }

    /// Reads an entry as it is written in a file.
    pub(crate) fn parse<E>(text: &str, read: impl Fn(&str) -> Result<T, E>) -> Result<Self, E> {
        match text.strip_prefix('!') {
            Some(removed) => read(removed).map(Self::Remove),
            None => read(text).map(Self::Add),
        }
    }
}
