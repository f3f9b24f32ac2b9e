//! The parts of which files of what is remembered are made: numbers are little-endian, and a hash of all
//! stands at the end.
//!
//! ```text
//! stamp: dev, ino, size u64 | mode u32 | modified, changed (i64 s, u32 ns)
//! ```

use sha2::{Digest as _, Sha256};

use super::stamp::Stamp;
use crate::fs::FileId;

const SUM: usize = 32;
/// How long a stamp is.
pub(super) const STAMP: usize = 52;

/// Puts the hash behind all that was written.
pub(super) fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum: [u8; SUM] = Sha256::digest(&bytes).into();
    bytes.extend(sum);
    bytes
}

/// Returns what stands before the hash; `None` when that is of something else.
pub(super) fn unsealed(bytes: &[u8]) -> Option<&[u8]> {
    let (bytes, sum) = bytes.split_at_checked(bytes.len().checked_sub(SUM)?)?;
    (sum == Sha256::digest(bytes).as_slice()).then_some(bytes)
}

/// Writes a stamp.
pub(super) fn put_stamp(bytes: &mut Vec<u8>, stamp: &Stamp) {
    let numbers = [stamp.id.dev, stamp.id.ino, stamp.size];
    bytes.extend(numbers.iter().flat_map(|it| it.to_le_bytes()));
    bytes.extend(stamp.mode.to_le_bytes());
    for (seconds, nanos) in [stamp.modified, stamp.changed] {
        bytes.extend(seconds.to_le_bytes());
        bytes.extend(nanos.to_le_bytes());
    }
}

/// What is still to be read.
pub(super) struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    /// Reads what these bytes are.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns whether nothing is left.
    pub(super) fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns how many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.0.len()
    }

    /// Reads some bytes; `None` when there are fewer, as in all that follow.
    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn time(&mut self) -> Option<(i64, u32)> {
        Some((i64::from_le_bytes(self.array()?), self.u32()?))
    }

    /// Reads a stamp.
    pub(super) fn stamp(&mut self) -> Option<Stamp> {
        let id = FileId { dev: self.u64()?, ino: self.u64()? };
        let (size, mode) = (self.u64()?, self.u32()?);
        let [modified, changed] = [self.time()?, self.time()?];
        Some(Stamp { id, size, mode, modified, changed })
    }
}
