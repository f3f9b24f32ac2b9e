//! What endow itself left in a tree, which is no change of the host's.

use rustc_hash::FxHashMap;

use super::{Seen, Time};

/// The inodes that earlier write-backs of the same run put, touched or put back, as they left
/// them.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    known: FxHashMap<u64, (Option<Time>, Time)>,
}

impl Settled {
    pub(super) fn add(&mut self, seen: &Seen) {
        self.known.insert(seen.ino, (seen.born, seen.changed));
    }

    /// Returns whether write-back left this inode in the tree, whatever happened to it since.
    pub(super) fn knows(&self, seen: &Seen) -> bool {
        self.known.get(&seen.ino).is_some_and(|(born, _)| *born == seen.born)
    }

    /// Returns whether nothing happened to this inode since write-back left it.
    pub(super) fn has(&self, seen: &Seen) -> bool {
        self.known.get(&seen.ino) == Some(&(seen.born, seen.changed))
    }
}
