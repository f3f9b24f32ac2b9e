//! How much of the promise must hold.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::Origin;

/// A level of enforcement, weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Without namespaces: grants at their own paths, network, seccomp, environment, rlimits.
    Landlock,
    /// Without Landlock.
    Namespaces,
    /// Every promise kept by the kernel, by two layers where this kernel has two.
    #[default]
    Full,
}

impl Level {
    /// Returns the level as it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Landlock => "landlock",
            Self::Namespaces => "namespaces",
            Self::Full => "full",
        }
    }
}

/// The words of losses that can be accepted one by one.
pub const LOSSES: [&str; 4] = ["deny", "memory", "pids", "protect"];

/// What must hold, and which single losses are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Require {
    /// The level that must be reached.
    pub level: Level,
    /// Who asked for it; `None` when nobody did.
    pub origin: Option<Origin>,
    /// Losses accepted by name, each one of [`LOSSES`].
    pub best_effort: BTreeSet<String>,
}
