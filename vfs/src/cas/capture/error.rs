//! Why changes of a tree can't be captured.

use std::path::{Path, PathBuf};

use crate::cas::message::MessageError;
use crate::cas::{Digest, StoreError};
use crate::fs::Errno;
use crate::layer::LayerError;

/// Why changes of a tree can't be captured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The layer can't be read.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The store lacks a directory of the tree, or can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A directory of the tree is none.
    #[error("not a directory: {digest}")]
    Message {
        /// Its digest.
        digest: Digest,
        /// What is wrong with it.
        #[source]
        error: MessageError,
    },
    /// A directory has names that can't stand in a message together.
    #[error("no message can hold the directory {}", path.display())]
    Directory {
        /// Its path.
        path: PathBuf,
        /// Why.
        #[source]
        error: MessageError,
    },
    /// A file can't be read or written.
    #[error("can't {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// The command made more than a tree may have.
    #[error("more than {most} {what}")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// The bound.
        most: u64,
    },
}

pub(super) fn failed(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(Errno) -> CaptureError + use<> {
    let path = path.to_owned();
    move |errno| CaptureError::Io { action, path, errno }
}
