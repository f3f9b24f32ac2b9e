//! How the changes of a buffered run are written back.

use serde::{Deserialize, Serialize};

use crate::{PatternRule, Stated};

/// When changes are written back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SyncMode {
    /// At the end, whatever the command's exit code.
    #[default]
    Apply,
    /// At the end when the command exited with 0; else they wait.
    ApplyOk,
    /// Not by itself: they wait for `endow apply`.
    Review,
    /// Never: they are dropped.
    Discard,
}

impl SyncMode {
    /// All modes, in the order of the documents.
    pub const ALL: &[Self] = &[Self::Apply, Self::ApplyOk, Self::Review, Self::Discard];

    /// Returns the mode as it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::ApplyOk => "apply-ok",
            Self::Review => "review",
            Self::Discard => "discard",
        }
    }
}

/// What happens to a path that the run and somebody outside both changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnConflict {
    /// The host's stays, the run's is kept, all else is applied.
    #[default]
    Host,
    /// The run's wins; undo takes it back.
    Guest,
    /// Text is merged three ways where the base is known; else as `host`.
    Merge,
    /// One conflict, and nothing is applied.
    Abort,
}

impl OnConflict {
    /// All choices, in the order of the documents.
    pub const ALL: &[Self] = &[Self::Host, Self::Guest, Self::Merge, Self::Abort];

    /// Returns the choice as it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Guest => "guest",
            Self::Merge => "merge",
            Self::Abort => "abort",
        }
    }
}

/// How changes are written back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SyncRules {
    /// When.
    pub mode: SyncMode,
    /// What happens to what both sides changed.
    pub on_conflict: OnConflict,
    /// Patterns of what is written back; all of it when there are none.
    pub only: Vec<PatternRule>,
    /// Held changes count as not written back.
    pub strict: bool,
}

/// The table `[sync]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncTable {
    /// When.
    pub mode: Option<Stated<SyncMode>>,
    /// What happens to what both sides changed.
    pub on_conflict: Option<Stated<OnConflict>>,
    /// Patterns of what is written back; `!X` leaves X out.
    pub only: Vec<Stated<String>>,
    /// `--strict` was given.
    pub strict: Option<Stated<bool>>,
}
