//! The rules that a plan follows, and what it says of changes that it leaves.

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use endow_policy::OnConflict;
use serde::{Deserialize, Serialize};

use super::{Change, ChangeKind, Conflict, Refusal};
use crate::fs::Kind;

/// Why a path is held for review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Held {
    /// A protected name, by this pattern.
    Protected(String),
    /// A denied name, by this pattern.
    Denied(String),
    /// A removal: the run moved it to a name that is held by this pattern.
    Moved(String),
}

/// What a plan is made by.
pub struct Rules<'a> {
    /// Says whether a path is held, and why.
    pub held: &'a dyn Fn(&Path, Kind) -> Option<Held>,
    /// Says whether a path is to be written back at all. Directories that have to be made for
    /// one that is, come along.
    pub only: &'a dyn Fn(&Path) -> bool,
    /// Whether paths were asked for: objects of a repository come along with what names them, and all else waits on.
    /// Where none were, what is not to be written back is dropped.
    pub by_name: bool,
    /// Who wins.
    pub on_conflict: OnConflict,
    /// Returns what both sides made of a file together, asked for where the host's version would
    /// stay else. It was merged from exactly what the change tells of both.
    pub merged: &'a dyn Fn(&Path) -> Option<Arc<[u8]>>,
}

impl Held {
    /// Returns why the place is held from which something was moved to one that is held by this.
    pub(super) fn of_old_place(&self) -> Self {
        match self {
            Self::Protected(pattern) | Self::Denied(pattern) | Self::Moved(pattern) => {
                Self::Moved(pattern.clone())
            }
        }
    }
}

impl Rules<'_> {
    /// Returns what a file gets in place of the run's version.
    pub(super) fn merged(&self, change: &Change) -> Option<Arc<[u8]>> {
        let keeps_host = matches!(self.on_conflict, OnConflict::Merge | OnConflict::Host);
        let is_asked = keeps_host && change.is_mergeable();
        is_asked.then(|| (self.merged)(&change.path)).flatten()
    }
}

/// Whose version of a path stands in the tree after a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Winner {
    /// The host's.
    Host,
    /// The run's.
    Guest,
    /// Neither's: one that holds the changes of both.
    Merged,
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
    /// It was not asked for, and waits on.
    NotSelected(PathBuf),
    /// It is never written back.
    Dropped(PathBuf),
    /// A directory that the run removed, in which something stays.
    NotEmpty(PathBuf),
    /// What is above it, or was to be removed for it, stays as it is.
    Blocked(PathBuf),
    /// The plan was given up, because of a conflict elsewhere.
    Aborted(PathBuf),
}

impl LeftOut {
    /// Returns the path, unless it is dropped.
    pub fn waits(&self) -> Option<&Path> {
        match self {
            Self::Dropped(_) => None,
            Self::NotSelected(path)
            | Self::NotEmpty(path)
            | Self::Blocked(path)
            | Self::Aborted(path) => Some(path),
        }
    }
}
