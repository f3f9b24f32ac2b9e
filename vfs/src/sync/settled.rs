//! What endow itself left in a tree, which is no change of the host's, and what of a layer is no
//! change of the run's any more.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};

use super::indexes::KnownIndexes;
use super::journal::Ledger;
use super::{Seen, Time};
use crate::fs::Fs;

/// The inodes that earlier write-backs of the same run put, touched or put back, as they left
/// them.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    known: FxHashMap<u64, (Option<Time>, Time)>,
    /// By the time of change, what it was before.
    displaced: FxHashMap<(u64, Time), (Option<Time>, Time)>,
    /// The inodes that steps in force put in place.
    placed: FxHashSet<u64>,
    merged: FxHashMap<PathBuf, (u64, Time)>,
    pub(super) indexes: KnownIndexes,
}

impl Settled {
    /// Adds what is known of indexes of repositories in a mount, which git writes anew when it only looks.
    #[must_use]
    pub fn with_indexes(
        self,
        fs: &dyn Fs,
        run: BorrowedFd<'_>,
        (ledger, mount): (&Ledger, u32),
    ) -> Self {
        Self { indexes: KnownIndexes::read(fs, run, (ledger, mount)), ..self }
    }

    pub(super) fn add(&mut self, seen: &Seen) {
        self.known.insert(seen.ino, (seen.born, seen.changed));
    }

    /// Adds a file that a step took from one of its names: that changed its time of change.
    pub(super) fn add_displaced(&mut self, was: &Seen, now: Time) {
        if was.changed < now {
            self.displaced.insert((was.ino, now), (was.born, was.changed));
        }
    }

    /// Adds a file or link that a step put in place, and that was not undone.
    pub(super) fn add_placed(&mut self, seen: &Seen) {
        self.placed.insert(seen.ino);
    }

    pub(super) fn add_merged(&mut self, path: &Path, upper: &Seen) {
        self.merged.insert(path.to_owned(), (upper.size, upper.modified));
    }

    /// Returns whether nothing of the layer was written back: then it holds all that the run did.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty() && self.merged.is_empty()
    }

    /// Returns whether what the layer has at a path is part of the host's version already. Known by
    /// size and time, which a copy of the layer has, too.
    pub(super) fn has_merged(&self, path: &Path, upper: &Seen) -> bool {
        self.merged.get(path) == Some(&(upper.size, upper.modified))
    }

    /// Returns whether write-back left this inode in the tree, whatever happened to it since.
    pub(super) fn knows(&self, seen: &Seen) -> bool {
        self.known.get(&seen.ino).is_some_and(|(born, _)| *born == seen.born)
    }

    /// Returns whether nothing happened to this inode since write-back left it.
    pub(super) fn has(&self, seen: &Seen) -> bool {
        self.known.get(&seen.ino) == Some(&(seen.born, seen.changed))
    }

    /// Returns whether write-back put this inode in place, and nothing happened to it since.
    pub(super) fn has_placed(&self, seen: &Seen) -> bool {
        self.placed.contains(&seen.ino) && self.has(seen)
    }

    /// Returns what a file was before a write-back took another name of it, when nothing happened to
    /// it since.
    pub(super) fn before_displaced(&self, seen: &Seen) -> Option<Seen> {
        let (born, changed) = self.displaced.get(&(seen.ino, seen.changed))?;
        (*born == seen.born).then_some(Seen { changed: *changed, ..*seen })
    }
}
