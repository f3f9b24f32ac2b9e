//! What can go wrong with a store.

use std::path::PathBuf;

use crate::cas::Digest;
use crate::fs::Errno;
use crate::state::StateError;

/// Why a store can't be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
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
    /// The directory of the store is no private directory of this user.
    #[error("can't use the store: {}", path.display())]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// Why.
        #[source]
        error: Box<StateError>,
    },
    /// What is to be stored can't be read.
    #[error("can't read what is to be stored")]
    Source {
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// There is no such object.
    #[error("not in the store: {digest}")]
    Missing {
        /// The object.
        digest: Digest,
    },
    /// The object is not what its digest says.
    #[error("damaged, {damage}: {digest}")]
    Damaged {
        /// The object.
        digest: Digest,
        /// What is wrong.
        damage: Damage,
    },
    /// The object is larger than the caller takes.
    #[error("more than {limit} bytes: {digest}")]
    TooLarge {
        /// The object.
        digest: Digest,
        /// The bound.
        limit: u64,
    },
    /// Others published, or collected, all the time.
    #[error("in use: {}", path.display())]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// The file of a lease or a pin holds something else than digests.
    #[error("not a list of digests: {}", path.display())]
    Roots {
        /// The file.
        path: PathBuf,
    },
}

/// How an object differs from what its digest says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// It is a link, a directory or anything else that is no regular file.
    Kind,
    /// It has another size.
    Size,
    /// It belongs to another user, who could change it.
    Owner,
    /// Its bytes have another hash.
    Hash,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Kind => "not a regular file",
            Self::Size => "of another size",
            Self::Owner => "of another owner",
            Self::Hash => "of another content",
        })
    }
}
