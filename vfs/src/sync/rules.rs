//! The rules that a plan follows, and what it says of changes that it leaves.

use std::path::{Path, PathBuf};

pub use endow_policy::OnConflict;
use serde::{Deserialize, Serialize};

use super::{ChangeKind, Conflict, Refusal};
use crate::fs::Kind;

/// Why a path is held for review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Held {
    /// A protected name, by this pattern.
    Protected(String),
    /// A denied name, by this pattern.
    Denied(String),
}

/// What a plan is made by.
pub struct Rules<'a> {
    /// Says whether a path is held, and why.
    pub held: &'a dyn Fn(&Path, Kind) -> Option<Held>,
    /// Says whether a path is to be written back at all. Directories that have to be made for
    /// one that is, come along.
    pub only: &'a dyn Fn(&Path) -> bool,
    /// Who wins.
    pub on_conflict: OnConflict,
}

/// Whose version of a path stands in the tree after a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Winner {
    /// The host's.
    Host,
    /// The run's.
    Guest,
}

/// A conflict, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Where.
    pub path: PathBuf,
    /// What the run had done.
    pub kind: ChangeKind,
    /// What the host had done.
    pub conflict: Conflict,
    /// Who won.
    pub winner: Winner,
}

/// A change that can't be written back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Where.
    pub path: PathBuf,
    /// Why.
    pub reason: Refusal,
}

/// A change that waits for a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldPath {
    /// Where.
    pub path: PathBuf,
    /// What the run had done.
    pub kind: ChangeKind,
    /// Why.
    pub reason: Held,
}

/// A change that nothing is wrong with, and that is not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// It was not asked for.
    NotSelected(PathBuf),
    /// A directory that the run removed, in which something stays.
    NotEmpty(PathBuf),
    /// What is above it, or was to be removed for it, stays as it is.
    Blocked(PathBuf),
    /// The plan was given up, because of a conflict elsewhere.
    Aborted(PathBuf),
}
