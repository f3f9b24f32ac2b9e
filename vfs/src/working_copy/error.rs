//! What can go wrong with a working copy.

use std::path::PathBuf;

use crate::fs::Errno;
use crate::git_tree::{GitError, Id};
use crate::layer::LayerError;
use crate::snapshot::NameFault;

/// Why a working copy can't be made or captured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// A repository, the host's or the command's, can't be read.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The layer can't be read.
    #[error(transparent)]
    Layer(#[from] LayerError),
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
    /// An object that the command made is none that a repository may have.
    #[error("object {id}, which the command made, {fault}")]
    Object {
        /// Which.
        id: Id,
        /// What is wrong with it.
        fault: ObjectFault,
    },
    /// The command made more than is taken over.
    #[error("more than {most} {what}")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// The bound.
        most: u64,
    },
}

/// What is wrong with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectFault {
    /// It does not follow its format.
    Format,
    /// A tree has a name that it must not have.
    Name(NameFault),
    /// A tree has a name twice.
    Twice,
    /// A tree has an entry that leads to no object.
    Null,
    /// A tree has a symbolic link in the place of a file that git reads.
    Link,
    /// A tree has an entry of a kind that there is not.
    Mode(u32),
    /// It is not what the object that names it says.
    Kind,
    /// It can't be taken over, or leads to one that can't, as was found before.
    Broken,
}

impl std::fmt::Display for ObjectFault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Format => out.write_str("is not in the format of its kind"),
            Self::Name(fault) => write!(out, "has a name that no tree may have: {fault}"),
            Self::Twice => out.write_str("has a name twice"),
            Self::Null => out.write_str("has an entry that leads to no object"),
            Self::Link => out.write_str("has a symbolic link named .gitmodules"),
            Self::Mode(mode) => write!(out, "has an entry of the unknown mode {mode:o}"),
            Self::Broken => out.write_str("can't be taken over, or leads to one that can't"),
            Self::Kind => out.write_str("is of another kind than is said of it"),
        }
    }
}
