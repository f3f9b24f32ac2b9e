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
    /// Settings of git's on the host, which lead to what is meant.
    Settings {
        /// The file.
        file: Arc<str>,
    },
    /// A link on the host in the place of a protected name, or within one, which leads to what is meant.
    Link {
        /// The link.
        link: Arc<str>,
    },
    /// A word of an entry that stands for what the entry itself doesn't name.
    Word {
        /// The word, such as `registry:npm`.
        word: Arc<str>,
        /// Where the entry was written.
        entry: Arc<Origin>,
    },
}

impl Origin {
    /// Returns whether the command line said it.
    pub fn is_flag(&self) -> bool {
        match self {
            Self::Flag(_) => true,
            Self::Word { entry, .. } => entry.is_flag(),
            Self::Default
            | Self::Profile { .. }
            | Self::File { .. }
            | Self::Settings { .. }
            | Self::Link { .. } => false,
        }
    }

    /// Returns the origin of what a word of this entry stands for. A flag holds its word already.
    #[must_use]
    pub fn of_word(&self, word: &str) -> Self {
        match self {
            Self::Flag(flag) => Self::Flag(Arc::clone(flag)),
            entry => Self::Word { word: word.into(), entry: Arc::new(entry.clone()) },
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Profile { name } => write!(f, "profile {name}"),
            Self::File { name, line } => write!(f, "{name}:{line}"),
            Self::Flag(flag) => f.write_str(flag),
            Self::Settings { file } => write!(f, "git's settings in {file}"),
            Self::Link { link } => write!(f, "the link {link}"),
            Self::Word { word, entry } => write!(f, "{word}, {entry}"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::Origin;

    #[test]
    fn word_stays_beside_its_entry() {
        let check = |entry: Origin, expected: &str| {
            assert_eq!(entry.of_word("registry:npm").to_string(), expected);
        };
        check(Origin::Flag("--net registry:npm".into()), "--net registry:npm");
        check(Origin::File { name: "endow.toml".into(), line: 3 }, "registry:npm, endow.toml:3");
        check(Origin::Profile { name: "node".into() }, "registry:npm, profile node");
    }
}
