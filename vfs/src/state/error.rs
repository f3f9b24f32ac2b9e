//! What goes wrong with the state.

use std::path::PathBuf;

use super::record::RecordError;
use crate::fs::Errno;
use crate::tree::RemoveError;

/// Why the state directory or a run in it can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// A call failed.
    #[error("can't {action}: {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// A symbolic link or a file stands where the directory belongs.
    #[error("not a directory: {}", path.display())]
    NotADirectory {
        /// The place.
        path: PathBuf,
    },
    /// The directory is somebody else's.
    #[error("owned by user {owner}: {}", path.display())]
    ForeignOwner {
        /// The place.
        path: PathBuf,
        /// Who owns it.
        owner: u32,
    },
    /// Others may look into the directory.
    #[error("open to others (mode {mode:04o}): {}", path.display())]
    OpenToOthers {
        /// The place.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Another process holds the lock.
    #[error("in use: {}", path.display())]
    InUse {
        /// The run.
        path: PathBuf,
    },
    /// There is no such run any more.
    #[error("no such run: {}", path.display())]
    Gone {
        /// Where it would be.
        path: PathBuf,
    },
    /// What a run is can't be read.
    #[error("can't use the record: {}", path.display())]
    Record {
        /// The record.
        path: PathBuf,
        /// Why.
        #[source]
        error: RecordError,
    },
    /// No name for a run was free, time after time.
    #[error("can't make a run: {}", path.display())]
    NoRun {
        /// Where runs are made.
        path: PathBuf,
    },
    /// Something of a run is still there.
    #[error("can't remove the run: {}", path.display())]
    Remove {
        /// The run.
        path: PathBuf,
        /// What stayed.
        #[source]
        left: RemoveError,
    },
}

impl StateError {
    /// Returns whether there was no room on the disk, or none of it left for this user.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Io { errno: Errno::NOSPC | Errno::DQUOT, .. })
    }
}

/// Returns a conversion of an errno into the error of `action` on `path`.
pub(super) fn failed(
    action: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(Errno) -> StateError {
    move |errno| StateError::Io { action, path: path.into(), errno }
}
