//! Why the files of a directory can't be inputs.

use std::path::{Path, PathBuf};

use crate::cas::StoreError;
use crate::fs::Errno;

/// Why the files of a directory can't be inputs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The names in a directory can't be read.
    #[error("can't list {}", path.display())]
    List {
        /// Its path below the directory; `.` for that itself.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// A file can't be read.
    #[error("can't read {}", path.display())]
    Read {
        /// Its path below the directory.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// A device, socket or FIFO, which no tree of contents has.
    #[error("neither a file nor a link: {}", path.display())]
    Kind {
        /// Its path.
        path: PathBuf,
    },
    /// A name or a link's target that is no UTF-8, which no tree of contents has.
    #[error("not UTF-8: {}", path.display())]
    Text {
        /// The path.
        path: PathBuf,
    },
    /// The directory passes a bound.
    #[error("more than {limit} {of}: {}", path.display())]
    TooLarge {
        /// Where.
        path: PathBuf,
        /// Of what.
        of: &'static str,
        /// The bound.
        limit: u64,
    },
    /// A file was changed after it had been hashed.
    #[error("it changed while the build began: {}", path.display())]
    Changed {
        /// Its path.
        path: PathBuf,
    },
    /// The store can't take a content.
    #[error("can't store {}", path.display())]
    Store {
        /// Its path.
        path: PathBuf,
        /// Why.
        #[source]
        error: StoreError,
    },
}

impl InputError {
    /// Returns the path that it is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::List { path, .. }
            | Self::Read { path, .. }
            | Self::Kind { path }
            | Self::Text { path }
            | Self::TooLarge { path, .. }
            | Self::Changed { path }
            | Self::Store { path, .. } => path,
        }
    }
}
