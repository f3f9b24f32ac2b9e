//! Why an index was not read.

use std::path::PathBuf;

use crate::fs::Errno;

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
    /// A path that no git writes into an index: it would have git write elsewhere.
    #[error("a path that leads elsewhere")]
    Path,
    /// What it says of directories is not what its entries are, or can't be compared with them.
    #[error("its trees are not those of its entries")]
    Trees,
    /// Its names are in another file.
    #[error("split index")]
    Split,
    /// It has a part that must be understood and isn't.
    #[error("unknown extension")]
    Extension,
    /// It is beyond what is read.
    #[error("too large")]
    TooLarge,
    /// It can't be read to its end.
    #[error("can't be read: {0}")]
    Unreadable(Errno),
    /// It is no regular file.
    #[error("not a file")]
    NotAFile,
    /// The `.git` file doesn't name a directory.
    #[error("no gitdir")]
    NoGitDir,
}
