//! Where an entry of the policy was written.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// The place where one entry was written, kept through all merging.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// What endow gives without being asked (workspace, private directories).
    Default,
    /// A built-in profile.
    Profile {
        /// The profile's name, such as `base`.
        name: Arc<str>,
    },
    /// A policy file, with the line (from 1) of the entry.
    File {
        /// The file's name as the user would write it.
        name: Arc<str>,
        /// The line of the entry, counted from 1.
        line: usize,
    },
    /// A flag of the command line, as typed.
    Flag(Arc<str>),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Profile { name } => write!(f, "profile {name}"),
            Self::File { name, line } => write!(f, "{name}:{line}"),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
