//! Why a tree can't be put.

use std::path::PathBuf;

use crate::cas::StoreError;
use crate::fs::Errno;

/// Why a tree on the disk can't be put into a store.
#[derive(Debug, thiserror::Error)]
pub enum PutError {
    /// Something of the tree can't be read.
    #[error("can't read: {}", path.display())]
    Source {
        /// What, below the tree; `.` for the tree itself.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// A device, socket or FIFO, which no store can hold.
    #[error("no file, directory or symbolic link: {}", path.display())]
    Kind {
        /// What, below the tree.
        path: PathBuf,
    },
    /// A name, or the target of a symbolic link, is no UTF-8, which messages are made of.
    #[error("not UTF-8: {}", path.display())]
    Text {
        /// The path of the name, or of the link.
        path: PathBuf,
    },
    /// The tree passes one of its bounds.
    #[error("more than {limit} {of}: {}", path.display())]
    TooLarge {
        /// Where that was found.
        path: PathBuf,
        /// Which bound.
        of: &'static str,
        /// The bound.
        limit: u64,
    },
    /// The store can't take it.
    #[error(transparent)]
    Store(#[from] StoreError),
}
