//! What goes wrong with the cache of trees.

use std::path::PathBuf;

use crate::fs::Errno;
use crate::state::StateError;
use crate::tree::RemoveError;

/// Why the cache of trees can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The directory of the cache can't be used.
    #[error("can't use the cache directory")]
    Place(#[source] StateError),
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
    /// Something of a tree is still there.
    #[error("can't remove the tree: {}", path.display())]
    Remove {
        /// The tree.
        path: PathBuf,
        /// What stayed.
        #[source]
        left: RemoveError,
    },
}

/// Returns a conversion of an errno into the error of `action` on `path`.
pub(super) fn failed(
    action: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(Errno) -> TreeError {
    let path = path.into();
    move |errno| TreeError::Io { action, path, errno }
}
