//! Which paths a git work tree tracks, read from its index; no program is run.
//!
//! An own reader: gix-index 0.58 without features brings 84 packages into the lock file, and all
//! that is asked here is the list of names. Formats 2, 3 and 4 are read, with SHA-1 and SHA-256
//! ids. A split index is refused, and the checksum is not verified: who can write the index can
//! write a right checksum.

mod find;
mod parse;
mod tracked;

use std::path::PathBuf;

use crate::fs::Errno;

pub use find::load;
pub use tracked::Tracked;

/// Why an index was not read, so that nothing counts as tracked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexWarning {
    /// A call failed.
    #[error("can't read the git index: {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// The content is not what an index has.
    #[error("git index: {fault}: {}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        fault: IndexFault,
    },
}

/// What is wrong with the content of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexFault {
    /// It doesn't follow the format.
    #[error("damaged")]
    Damaged,
    /// It is in another format.
    #[error("unknown version {0}")]
    Version(u32),
    /// Its names are in another file.
    #[error("split index")]
    Split,
    /// It has a part that must be understood and isn't.
    #[error("unknown extension")]
    Extension,
    /// It is beyond what is read.
    #[error("too large")]
    TooLarge,
    /// It is no regular file.
    #[error("not a file")]
    NotAFile,
    /// The `.git` file doesn't name a directory.
    #[error("no gitdir")]
    NoGitDir,
}

#[cfg(test)]
mod tests;
