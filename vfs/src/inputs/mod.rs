//! The files of a build's directory as a tree of contents.
//!
//! A walk hashes what an action may see, and remembers the digest of each file with all that tells
//! whether it changed: a tree that did not change costs one look at each file. Of what the walk found,
//! [`Folder`]s are put together, which share what is the same in many actions.

mod error;
mod folder;
mod gather;
mod growing;
mod identity;
mod listings;
mod put;
mod record;
mod remembered;
mod stamp;
#[cfg(test)]
mod tests;
mod walk;

use std::os::fd::BorrowedFd;

pub use error::InputError;
pub use folder::{Clash, Folder, Leaf, Selection};
pub use identity::{Identity, identity};
pub use put::put_leaf;
pub use walk::{Found, walk};

use crate::fs::Fs;
use crate::snapshot::Bounds;

/// What to walk, and how.
pub struct Inputs<'a> {
    /// The file calls.
    pub fs: &'a dyn Fs,
    /// The directory.
    pub root: BorrowedFd<'a>,
    /// Where digests are remembered: a directory of this user's, closed to others.
    pub memory: Option<BorrowedFd<'a>>,
    /// Whether a directory, by its path, may have a file that counts.
    pub enters: &'a (dyn Fn(&str) -> bool + Sync),
    /// Whether a file, by its path, counts.
    pub takes: &'a (dyn Fn(&str) -> bool + Sync),
    /// What the tree may be.
    pub bounds: Bounds,
}
