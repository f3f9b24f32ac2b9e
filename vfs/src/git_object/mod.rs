//! Whether objects that a command wrote are what their names say.
//!
//! git hashes no object that it reads: with a pack whose index gives a known name other bytes, or a file of another
//! content than its name's, `git checkout .` brings these, and `git gc` drops the true ones (measured, git 2.47). Nothing
//! here is believed: all is inflated and hashed, with bounded memory and for a bounded time.

mod delta;
mod inflate;
mod loose;
mod pack;
mod walk;

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::os::fd::OwnedFd;

use gix_hash::{Hasher, ObjectId};
use gix_object::Kind;

use crate::git_tree::{Algorithm, Id};

/// How many bytes of content are looked at in one go, of all objects together.
const WORK: u64 = 128 << 30;
/// How much is read and hashed at once.
const CHUNK: usize = 64 << 10;

/// What may still be looked at: a small pack can hold any number of bytes.
#[derive(Debug)]
pub struct Work(Cell<u64>);

impl Default for Work {
    fn default() -> Self {
        Self(Cell::new(WORK))
    }
}

impl Work {
    /// Takes so many bytes of it; `None` when there are no more.
    fn take(&self, bytes: u64) -> Option<()> {
        self.0.set(self.0.get().checked_sub(bytes)?);
        Some(())
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
