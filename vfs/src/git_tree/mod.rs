//! Git trees for read-only mounts, read without running git: a revision becomes a tree, a tree a
//! [`Snapshot`](crate::snapshot::Snapshot), and each content is read when it is wanted.
//!
//! Nothing a repository says is believed. Of its settings only its format is looked at, so nothing
//! in them runs or leads elsewhere; no variable of the environment is read. Every object is checked
//! against its name, and every file is opened below a directory that was opened once: what lies
//! outside the directory handed in is told by [`Repository::object_dirs`], for the caller to judge.
//!
//! Deltas and inflating are those of gix-pack. It is used alone, since `gix` follows alternates each
//! time it looks for new packs, when nobody can judge them any more.

mod cache;
mod config;
mod difference;
mod error;
mod files;
mod id;
mod layout;
mod loose;
mod packs;
mod places;
mod reader;
mod references;
mod refs;
mod repository;
mod revision;
mod sparse;
mod start;
mod tree;
mod walk;

pub use difference::Difference;
pub use error::{GitError, RevisionFault, TreeFault};
pub use id::{Algorithm, BadId, Id};
pub use places::{Places, places};
pub use reader::Reader;
pub use references::Head;
pub use repository::Repository;
pub use revision::Resolved;
pub use sparse::Sparse;
pub use start::{Start, start};
pub use walk::{Blob, Options};

pub(crate) use loose::path as loose_path;
pub(crate) use reader::{Limit, OBJECT_MAX};
pub(crate) use revision::{STRUCTURE_MAX, field};
pub(crate) use tree::{DIRECTORY, Entry, SUBMODULE, check, entry, order};

#[cfg(test)]
mod tests;
