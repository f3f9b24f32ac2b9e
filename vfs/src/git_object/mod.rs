//! Whether objects that a command wrote are what their names say.
//!
//! git hashes no object that it reads: with a pack whose index gives a known name other bytes, or a file of another
//! content than its name's, `git checkout .` brings these, and `git gc` drops the true ones (measured, git 2.47). Nothing
//! here is believed: all is inflated and hashed, with bounded memory and for a bounded time.

mod counted;
mod delta;
mod inflate;
mod loose;
mod pack;
mod packed;
mod stored;
mod walk;

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::os::fd::OwnedFd;

use gix_hash::{Hasher, ObjectId};
use gix_object::Kind;

use crate::git_tree::{Algorithm, Id};

pub(crate) use stored::{loose_tree, packed_tree};

/// How many bytes of content are looked at in one go, of all objects together.
const WORK: u64 = 128 << 30;
/// How much is read and hashed at once.
const CHUNK: usize = 64 << 10;

/// What may still be looked at: a small pack can hold any number of bytes.
#[derive(Debug)]
pub struct Work {
    left: Cell<u64>,
    is_spent: Cell<bool>,
}

impl Default for Work {
    fn default() -> Self {
        Self::of(WORK)
    }
}

impl Work {
    /// Returns work of so many bytes.
    pub(crate) fn of(bytes: u64) -> Self {
        Self { left: Cell::new(bytes), is_spent: Cell::new(false) }
    }

    /// Takes so many bytes of the work; `None` when there are no more, and from then on.
    pub(crate) fn take(&self, bytes: u64) -> Option<()> {
        let left = self.left.get().checked_sub(bytes);
        self.left.set(left.unwrap_or(0));
        self.is_spent.set(self.is_spent.get() || left.is_none());
        left.map(drop)
    }

    /// Returns how many bytes are left.
    pub(crate) fn left(&self) -> u64 {
        self.left.get()
    }

    /// Returns whether more was asked for than was left.
    pub(crate) fn is_spent(&self) -> bool {
        self.is_spent.get()
    }
}

/// Returns whether an open file holds the object of a name, as git keeps one that has a file of its own.
pub fn is_loose(file: &OwnedFd, id: &Id, work: &Work) -> bool {
    loose::check(file, id, work).is_some()
}

/// Returns whether each object of a pack is what its index names it, and both are whole and of the name that has these
/// digits.
pub fn is_pack(
    (data, index): (&OwnedFd, &OwnedFd),
    (digits, algorithm): (&str, Algorithm),
    work: &Work,
) -> bool {
    pack::check((data, index), (digits, algorithm), work).is_some()
}

/// Begins to compute the name of an object.
pub(crate) fn begin(algorithm: Algorithm, kind: Kind, size: u64) -> Hasher {
    let mut hash = gix_hash::hasher(algorithm.kind());
    hash.update(kind.as_bytes());
    hash.update(format!(" {size}\0").as_bytes());
    hash
}

/// Returns the name that was computed; `None` where the bytes are those of a known collision of SHA-1.
fn finish(hash: Hasher) -> Option<ObjectId> {
    hash.try_finalize().ok()
}
