//! Contents put into a store.

use std::ops::Deref;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use super::lock::StoreLock;
use super::store::failed;
use super::temporary::Temporary;
use super::{Damage, Digest, Hasher, Other, Store, StoreError};
use crate::fs::{Fs, Result, room, write_all};

/// A content up to this size is hashed before anything is written; of what is larger no more than
/// this is in memory.
const CHUNK: usize = 128 << 10;

/// The right to publish. While one is held no object is collected, so that what was there or was
/// put stays until it is leased or retained.
pub struct Publishing<'a> {
    store: &'a Store<'a>,
    _lock: StoreLock,
    files: AtomicU64,
    bytes: AtomicU64,
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
    /// Where the content begins in it, when it is read by place.
    pub(super) from: u64,
    /// What has more bytes than this is left out.
    pub(super) limit: u64,
    /// How the file is read.
    pub(super) order: Order,
}

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// From its beginning, wherever others have come in it.
    ByPlace,
    /// From where it stands on: a pipe has no beginning.
    AsItComes,
}

impl<'a> Deref for Publishing<'a> {
    type Target = Store<'a>;

    fn deref(&self) -> &Store<'a> {
        self.store
    }
}

impl<'a> Publishing<'a> {
    pub(super) fn new(store: &'a Store<'a>, lock: StoreLock) -> Self {
        let (files, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { store, _lock: lock, files, bytes }
    }

    /// Returns how many files were read so far, and how many bytes of all: another thread may ask.
    pub fn read_so_far(&self) -> (u64, u64) {
        (self.files.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
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
        let order = Order::ByPlace;
        let size = self.store.fs.status_of(file).map_err(unreadable)?.size;
        let reading = Reading { fs: self.store.fs, file, from: 0, limit: u64::MAX, order };
        self.put_reading(&reading, &mut buffer_for(size), None)
    }

    /// Puts a part of an open file, from this place on, when it is what its digest says.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it is another content, or as [`Self::put_file`].
    pub fn put_part(
        &self,
        file: BorrowedFd<'_>,
        from: u64,
        digest: &Digest,
    ) -> std::result::Result<Stored, StoreError> {
        let (limit, order) = (digest.size, Order::ByPlace);
        let reading = Reading { fs: self.store.fs, file, from, limit, order };
        self.put_reading(&reading, &mut buffer_for(digest.size), Some(digest))
    }

    /// Puts what comes of an open file, a pipe or a socket from now to its end.
    ///
    /// # Errors
    /// As [`Self::put_file`].
    pub fn put_rest(&self, file: BorrowedFd<'_>) -> std::result::Result<Stored, StoreError> {
        let order = Order::AsItComes;
        let reading = Reading { fs: self.store.fs, file, from: 0, limit: u64::MAX, order };
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
        let (limit, order) = (digest.size.saturating_add(1), Order::ByPlace);
        let reading = Reading { fs: other.fs(), file, from: 0, limit, order };
        self.put_reading(&reading, &mut buffer_for(digest.size), Some(digest))
    }

    /// Puts a file by way of a buffer, which a small one does not fill.
    pub(super) fn put_reading(
        &self,
        reading: &Reading<'_>,
        buffer: &mut [u8],
        expected: Option<&Digest>,
    ) -> std::result::Result<Stored, StoreError> {
        let length = reading.fill(buffer, (0, &self.bytes)).map_err(unreadable)?;
        let piece = buffer.get(..length).unwrap_or_default();
        let stored = if length == buffer.len() {
            self.put_stream(reading, buffer, expected)?
        } else {
            expect(&Digest::of(piece), expected)?;
            self.put_bytes(piece)?
        };
        self.files.fetch_add(1, Ordering::Relaxed);
        Ok(stored)
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
            length = reading.fill(buffer, (hasher.size(), &self.bytes)).map_err(unreadable)?;
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
    pub(super) fn has_used(&self, digest: &Digest) -> std::result::Result<bool, StoreError> {
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

/// Returns room for one piece of a file that says to have this size.
fn buffer_for(size: u64) -> Vec<u8> {
    vec![0; room(size, CHUNK)]
}

impl Reading<'_> {
    /// Reads until the buffer is full or the file ends; `sum` grows with what is read.
    fn fill(&self, buffer: &mut [u8], (offset, sum): (u64, &AtomicU64)) -> Result<usize> {
        let left = self.limit.saturating_sub(offset);
        let room = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let mut filled = 0;
        while filled < room {
            let rest = buffer.get_mut(filled..room).unwrap_or_default();
            let length = match self.order {
                Order::ByPlace => {
                    self.fs.read_at(self.file, rest, self.from + offset + filled as u64)?
                }
                Order::AsItComes => self.fs.read(self.file, rest)?,
            };
            if length == 0 {
                break;
            }
            filled += length;
            sum.fetch_add(length as u64, Ordering::Relaxed);
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
