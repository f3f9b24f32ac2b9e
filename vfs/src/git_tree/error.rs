//! What can go wrong with a repository.

use std::fmt;
use std::path::{Path, PathBuf};

use super::Id;
use crate::fs::Errno;
use crate::snapshot::SnapshotError;

/// Why a repository, or something in it, can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// There is no repository.
    #[error("not a git repository: {}", path.display())]
    NotARepository {
        /// Where one was looked for.
        path: PathBuf,
    },
    /// A call failed.
    #[error("can't read {}", path.display())]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// A symbolic link inside a git directory leads out of it.
    #[error("{}: a link leads out of the git directory; clone the repository to use it", path.display())]
    Outside {
        /// The name that was looked up.
        path: PathBuf,
    },
    /// A file does not follow its format, is no regular file, or is larger than any is.
    #[error("{}: damaged; `git fsck` tells more", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The indexes of packs are larger than what is read.
    #[error("{}: an index of {size} bytes; all packs together may have {most}", path.display())]
    PackIndex {
        /// The index that is one too many.
        path: PathBuf,
        /// How many bytes it has.
        size: u64,
        /// How many are read, of all indexes.
        most: u64,
    },
    /// A reference names neither an object nor another reference.
    #[error("{name}: it names no object")]
    Reference {
        /// Its whole name.
        name: String,
    },
    /// References stand in a reftable.
    #[error(
        "{}: references in a reftable can't be read; name the whole id that `git rev-parse` tells, \
         or turn them into files: `git refs migrate --ref-format=files`",
        path.display()
    )]
    Reftable {
        /// The configuration that says so.
        path: PathBuf,
    },
    /// The repository has an extension that is not known here.
    #[error("{}: unknown extension `{name}`; clone the repository to use it", path.display())]
    Extension {
        /// The configuration that says so.
        path: PathBuf,
        /// The extension.
        name: String,
    },
    /// The repository has another format.
    #[error("{}: unknown repository format; clone the repository to use it", path.display())]
    Version {
        /// The configuration that says so.
        path: PathBuf,
    },
    /// Objects are named by an unknown algorithm.
    #[error("{}: object names are neither SHA-1 nor SHA-256; clone it as one of them", path.display())]
    ObjectFormat {
        /// The configuration that says so.
        path: PathBuf,
    },
    /// Object directories lead to too many others.
    #[error("{}: too many alternates; `git repack -ad` makes the repository whole", path.display())]
    Alternates {
        /// The file that names one too many.
        path: PathBuf,
    },
    /// A revision can't be resolved.
    #[error("revision `{rev}`: {fault}")]
    Revision {
        /// As it was written.
        rev: String,
        /// What is wrong with it.
        fault: RevisionFault,
    },
    /// An object is not there.
    #[error("object {id} is missing; `git fsck` tells more")]
    Missing {
        /// Which.
        id: Id,
    },
    /// An object is not there, and would have to be fetched.
    #[error(
        "{}object {id} was not fetched by this partial clone; \
         `git fetch --refetch --no-filter` gets all",
        before(path)
    )]
    PartialClone {
        /// Which.
        id: Id,
        /// The first path of the tree that it is needed for; nothing when that is not known.
        path: PathBuf,
    },
    /// The bytes that stand for an object are not the ones it names.
    #[error("object {id} is damaged; `git fsck` tells more")]
    Corrupt {
        /// Which.
        id: Id,
    },
    /// An object is not of the kind it is used as.
    #[error("object {id} is not a {expected}")]
    Kind {
        /// Which.
        id: Id,
        /// What it should be.
        expected: &'static str,
    },
    /// An object is larger than what is read.
    #[error("object {id} has {size} bytes; the limit is {limit}")]
    ObjectSize {
        /// Which.
        id: Id,
        /// How many bytes it has.
        size: u64,
        /// How many are read.
        limit: u64,
    },
    /// A tree object breaks a rule of its format.
    #[error("tree {id}: {fault}")]
    Tree {
        /// Which.
        id: Id,
        /// What is wrong with it.
        fault: TreeFault,
    },
    /// An entry of a tree is of a kind that git does not make.
    #[error("{}: unknown mode {mode:o}", path.display())]
    Mode {
        /// The path of the entry.
        path: PathBuf,
        /// The mode.
        mode: u32,
    },
    /// A tree can't be shown.
    #[error("the tree can't be shown")]
    Snapshot(#[from] SnapshotError),
}

impl GitError {
    /// Says for which path an object is needed, where it is not known yet.
    pub(super) fn needed_for(self, needed: impl FnOnce() -> PathBuf) -> Self {
        match self {
            Self::PartialClone { id, path } if path.as_os_str().is_empty() => {
                Self::PartialClone { id, path: needed() }
            }
            other => other,
        }
    }
}

/// Returns a path as it begins a message.
fn before(path: &Path) -> String {
    if path.as_os_str().is_empty() { String::new() } else { format!("{}: ", path.display()) }
}

/// Why a revision can't be resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RevisionFault {
    /// It is empty, begins with `-`, or has a control byte.
    Malformed,
    /// No reference and no object has the name.
    Unknown,
    /// Several have it; these are their full names.
    Ambiguous(Vec<String>),
    /// The history does not go back so far.
    NoParent,
    /// The clone has no more of the history.
    Shallow,
    /// It is no commit, no tree, or what it was said to be.
    Kind(&'static str),
    /// It is written in a way that is not known here.
    Unsupported(&'static str),
    /// References lead to each other without an end.
    Loop,
    /// There are more references than are read.
    TooMany(usize),
}

impl fmt::Display for RevisionFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => out.write_str("no revision can be written so"),
            Self::Unknown => out.write_str("unknown"),
            Self::Ambiguous(names) => {
                write!(out, "ambiguous; write one of {}", names.join(", "))
            }
            Self::NoParent => out.write_str("the history does not go back so far"),
            Self::Shallow => out.write_str(
                "the clone is shallow and does not go back so far; `git fetch --deepen=N` gets N commits more",
            ),
            Self::Kind(expected) => write!(out, "not a {expected}"),
            Self::Unsupported(what) => write!(out, "{what} is not supported; write a commit"),
            Self::Loop => out.write_str("references lead to each other without an end"),
            Self::TooMany(most) => write!(out, "more than {most} references"),
        }
    }
}

/// What is wrong with a tree object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeFault {
    /// It does not follow the format.
    Format,
    /// Its entries are not in order.
    Unsorted,
    /// Two entries have the same name.
    Twice,
}

impl fmt::Display for TreeFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Format => "it does not follow the format",
            Self::Unsorted => "its entries are not in order",
            Self::Twice => "two entries have the same name",
        })
    }
}
