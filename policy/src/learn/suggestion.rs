//! One line of a proposal.

use std::fmt;

use super::written::quoted;
use crate::{AllowWord, HostRule};

/// One line, with why it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// What the line would give.
    pub gives: Suggested,
    /// What was asked for.
    pub reason: String,
    /// Why it is no grant but a comment, when it is one.
    pub danger: Option<String>,
}

/// What a line would give.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suggested {
    /// A built-in profile.
    Profile(&'static str),
    /// That the workspace can be changed.
    Workspace,
    /// A mount, by its path as it is written.
    Mount {
        /// The path.
        at: String,
        /// What may be done there.
        how: How,
    },
    /// A host, or the registry of a tool.
    Host(HostRule),
    /// A group of calls.
    Call(AllowWord),
}

/// What may be done below a proposed mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// Read.
    Ro,
    /// Read and change; changes are written back at the end.
    Cow,
    /// Read and change; changes are dropped at the end.
    Discard,
    /// Connect.
    Socket,
}

impl How {
    /// Returns what stands behind the `=`.
    pub const fn toml(self) -> &'static str {
        match self {
            Self::Ro => "\"ro\"",
            Self::Cow => "\"cow\"",
            Self::Discard => "{ access = \"cow\", sync = \"discard\" }",
            Self::Socket => "{ socket = true }",
        }
    }
}

impl Suggested {
    /// Returns the key of the policy file where it belongs.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Profile(_) => "extends",
            Self::Workspace => "workspace.access",
            Self::Mount { .. } => "mounts",
            Self::Host(_) => "network.allow",
            Self::Call(_) => "process.allow",
        }
    }

    /// Returns the word of a list, for what stands in one.
    pub fn word(&self) -> Option<String> {
        match self {
            Self::Profile(name) => Some((*name).to_owned()),
            Self::Host(rule) => Some(short(rule)),
            Self::Call(word) => Some(word.word().to_owned()),
            Self::Workspace | Self::Mount { .. } => None,
        }
    }
}

/// A host without its port means 443.
fn short(rule: &HostRule) -> String {
    let text = rule.to_string();
    let alone = text.strip_suffix(":443").filter(|host| HostRule::parse(host).as_ref() == Ok(rule));
    alone.map_or_else(|| text.clone(), str::to_owned)
}

/// As a line of the file.
impl fmt::Display for Suggested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workspace => f.write_str("access = \"cow\""),
            Self::Mount { at, how } => {
                write!(f, "{} = {}", quoted(at), how.toml())
            }
            Self::Profile(_) | Self::Host(_) | Self::Call(_) => {
                f.write_str(&quoted(&self.word().unwrap_or_default()))
            }
        }
    }
}
