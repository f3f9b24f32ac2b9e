//! Contents put into a store.

use std::ops::Deref;
use std::os::fd::BorrowedFd;

use super::lock::StoreLock;
use super::store::failed;
use super::temporary::Temporary;
use super::{Damage, Digest, Hasher, Other, Store, StoreError};
use crate::fs::{Fs, Result, write_all};

/// A content up to this size is hashed before anything is written; of what is larger no more than
/// this is in memory.
const CHUNK: usize = 128 << 10;

/// The right to publish. While one is held no object is collected, so that what was there or was
/// put stays until it is leased or retained.
pub struct Publishing<'a> {
    store: &'a Store<'a>,
    _lock: StoreLock,
}

/// An object that was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its name.
    pub digest: Digest,
    /// Whether it was not there before.
    pub is_new: bool,
}

/// A file to be put, as it is read.
pub(super) struct Reading<'a> {
    /// The file calls for it.
    pub(super) fs: &'a dyn Fs,
    /// The file, open for reading.
    pub(super) file: BorrowedFd<'a>,
    /// What is behind this place is left out.
    pub(super) limit: u64,
}

impl<'a> Deref for Publishing<'a> {
    type Target = Store<'a>;

    fn deref(&self) -> &Store<'a> {
        self.store
    }
}

impl<'a> Publishing<'a> {
    pub(super) fn new(store: &'a Store<'a>, lock: StoreLock) -> Self {
        Self { store, _lock: lock }
    }

    /// Puts bytes.
    ///
    /// # Errors
    /// A failing call; nothing is published then.
    pub fn put_bytes(&self, bytes: &[u8]) -> std::result::Result<Stored, StoreError> {
        let digest = Digest::of(bytes);
        if self.has_used(&digest)? {
            return Ok(Stored { digest, is_new: false });
        }
        let temporary = Temporary::create(self.store)?;
        self.write(&temporary, bytes)?;
        let is_new = temporary.publish(&digest)?;
        Ok(Stored { digest, is_new })
    }

    /// Puts all of an open file, from its beginning. What is copied is what is hashed, also when
    /// the file changes meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Source`] when the file can't be read, or a failing call; nothing is published
    /// then.
    pub fn put_file(&self, file: BorrowedFd<'_>) -> std::result::Result<Stored, StoreError> {
        let reading = Reading { fs: self.store.fs, file, limit: u64::MAX };
        self.put_reading(&reading, &mut buffer(), None)
    }

    /// Puts an object of another store, when it is what its digest says.
    ///
    /// # Errors
    /// [`StoreError::Missing`] and [`StoreError::Damaged`] of the other store, or a failing call;
    /// nothing is published then.
    pub fn import(
        &self,
        other: &Other<'_>,
        digest: &Digest,
    ) -> std::result::Result<Stored, StoreError> {
        if self.has_used(digest)? {
            return Ok(Stored { digest: *digest, is_new: false });
        }
        let file = other.open_object(digest)?;
        let file = std::os::fd::AsFd::as_fd(&file);
        // One byte more shows a file that has grown.
        let reading = Reading { fs: other.fs(), file, limit: digest.size.saturating_add(1) };
        self.put_reading(&reading, &mut buffer(), Some(digest))
    }

    /// Puts a file by way of a buffer from [`buffer`].
    pub(super) fn put_reading(
        &self,
        reading: &Reading<'_>,
        buffer: &mut [u8],
        expected: Option<&Digest>,
    ) -> std::result::Result<Stored, StoreError> {
        let length = reading.fill(buffer, 0).map_err(unreadable)?;
        let piece = buffer.get(..length).unwrap_or_default();
        if length == buffer.len() {
            return self.put_stream(reading, buffer, expected);
        }
        expect(&Digest::of(piece), expected)?;
        self.put_bytes(piece)
    }

    /// Puts a file of which one buffer is read.
    fn put_stream(
        &self,
        reading: &Reading<'_>,
        buffer: &mut [u8],
        expected: Option<&Digest>,
    ) -> std::result::Result<Stored, StoreError> {
        let temporary = Temporary::create(self.store)?;
        let (mut hasher, mut length) = (Hasher::default(), buffer.len());
        while length > 0 {
            let piece = buffer.get(..length).unwrap_or_default();
            hasher.update(piece);
            self.write(&temporary, piece)?;
            length = reading.fill(buffer, hasher.size()).map_err(unreadable)?;
        }
        let digest = hasher.finish();
        expect(&digest, expected)?;
        let is_new = temporary.publish(&digest)?;
        Ok(Stored { digest, is_new })
    }

    fn write(
        &self,
        temporary: &Temporary<'_>,
        bytes: &[u8],
    ) -> std::result::Result<(), StoreError> {
        let written = write_all(self.store.fs, temporary.file(), bytes);
        written.map_err(failed("write", self.store.path().join("tmp")))
    }

    /// Returns whether there is a sound object, which is marked as used then.
    fn has_used(&self, digest: &Digest) -> std::result::Result<bool, StoreError> {
        match self.store.open_object(digest) {
            Ok(_) => Ok(true),
            Err(StoreError::Missing { .. } | StoreError::Damaged { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Returns room for one piece of a file.
pub(super) fn buffer() -> Vec<u8> {
    vec![0; CHUNK]
}

impl Reading<'_> {
    /// Reads until the buffer is full or the file ends.
    fn fill(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let left = self.limit.saturating_sub(offset);
        let room = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let mut filled = 0;
        while filled < room {
            let rest = buffer.get_mut(filled..room).unwrap_or_default();
            match self.fs.read_at(self.file, rest, offset + filled as u64)? {
                0 => break,
                length => filled += length,
            }
        }
        Ok(filled)
    }
}

fn expect(digest: &Digest, expected: Option<&Digest>) -> std::result::Result<(), StoreError> {
    match expected {
        Some(expected) if digest.size != expected.size => {
            Err(StoreError::Damaged { digest: *expected, damage: Damage::Size })
        }
        Some(expected) if digest != expected => {
            Err(StoreError::Damaged { digest: *expected, damage: Damage::Hash })
        }
        _ => Ok(()),
    }
}

fn unreadable(errno: crate::fs::Errno) -> StoreError {
    StoreError::Source { errno }
}
