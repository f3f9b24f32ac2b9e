//! What became of a plan.

use std::path::{Path, PathBuf};

use super::journal::Step;
use super::{
    ChangeKind, Conflict, Direction, HeldPath, LeftOut, Moved, Refusal, Refused, Resolved,
};
use crate::fs::{Errno, Kind};

/// A change that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Where, below the root of the mount.
    pub path: PathBuf,
    /// What was done.
    pub kind: ChangeKind,
    /// To what kind of file.
    pub node: Kind,
}

/// A change that the kernel did not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Where.
    pub path: PathBuf,
    /// What it said.
    pub errno: Errno,
}

/// What became of one mount's plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// What was done, parents first.
    pub applied: Vec<Applied>,
    /// Conflicts of the plan, and those found while applying.
    pub conflicts: Vec<Resolved>,
    /// What the plan refused.
    pub refused: Vec<Refused>,
    /// What the plan held.
    pub held: Vec<HeldPath>,
    /// What the plan left out.
    pub left_out: Vec<LeftOut>,
    /// What the kernel did not allow; all else is done.
    pub failed: Vec<Failed>,
    /// Where in the tree now stands what somebody had put in the way meanwhile, and could not stay there.
    pub set_aside: Vec<PathBuf>,
    /// Repositories that both sides moved, with those of the run's references that stand in the tree.
    pub moved: Vec<Moved>,
}

impl SyncReport {
    /// Returns whether everything that the run changed stands in the tree now or is dropped, so that its layer
    /// has nothing left to keep.
    pub fn is_complete(&self) -> bool {
        let all_won = self.conflicts.iter().all(|found| found.winner != super::Winner::Host);
        let none_left = self.refused.is_empty() && self.held.is_empty() && self.failed.is_empty();
        all_won && none_left && self.left_out.len() == self.dropped().count()
    }

    /// Returns what is never written back.
    pub fn dropped(&self) -> impl Iterator<Item = &Path> {
        self.left_out.iter().filter_map(|it| match it {
            LeftOut::Dropped(path) => Some(path.as_path()),
            LeftOut::NotSelected(_)
            | LeftOut::NotEmpty(_)
            | LeftOut::Blocked(_)
            | LeftOut::Aborted(_) => None,
        })
    }

    pub(super) fn refuse(&mut self, step: &Step, reason: Refusal) {
        self.conflicts.retain(|found| found.path != step.path);
        self.refused.push(Refused { path: step.path.clone(), reason });
    }

    pub(super) fn lost(&mut self, path: PathBuf, kind: ChangeKind, conflict: Conflict) {
        let winner = super::Winner::Host;
        // The plan may have taken it for won.
        self.conflicts.retain(|found| found.path != path);
        self.conflicts.push(Resolved { path, kind, conflict, winner });
    }
}

/// Why a tree could not be collected, written back or restored.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// A call that must not fail, in the run's directory, the layer or the target.
    #[error("can't {action}: {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what, below the directory it was tried in.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// More changed than is kept in memory.
    #[error("more names changed than can be compared, as was noticed in: {}", path.display())]
    TooMany {
        /// Where, below the root of the mount.
        path: PathBuf,
    },
    /// The file system of the target can't do what every write-back to it must.
    #[error("the file system can't {what} in one step, as write-back must")]
    CantMove {
        /// Which way of moving names it lacks.
        what: &'static str,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// A file of ours that another version wrote, or nobody.
    #[error("can't read what is stored: {}", path.display())]
    Stored {
        /// Which file of the run's directory.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        error: serde_json::Error,
    },
    /// A file of a newer version.
    #[error("written by a newer version ({version}): {}", path.display())]
    Newer {
        /// Which file of the run's directory.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// A journal is there: what it tells must be finished first.
    #[error("an earlier write-back is not finished")]
    Unfinished,
    /// Something failed once the journal held: some may be done, and [`super::resume()`] does the rest.
    #[error("{} was begun and can't be finished yet", .direction.words())]
    Begun {
        /// Which way it goes.
        direction: Direction,
        /// What failed.
        #[source]
        error: Box<Self>,
    },
    /// The journal tells of a mount that was not handed in, or whose root is another directory.
    #[error("the directory of mount {mount} is another one")]
    OtherRoot {
        /// The number of the mount.
        mount: u32,
    },
}

impl SyncError {
    /// What fails once the journal of a batch holds.
    pub(super) fn begun(direction: Direction) -> impl Fn(Self) -> Self {
        move |error| Self::Begun { direction, error: Box::new(error) }
    }
}
