//! Objects read as a whole, with their hash.

use std::os::fd::{AsFd, BorrowedFd};

use super::{Damage, Store, StoreError, failed};
use crate::cas::{Digest, Hasher};

const CHUNK: usize = 128 << 10;

impl Store<'_> {
    /// Reads an object of at most `limit` bytes, and marks it as used.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] before anything is read, [`StoreError::Missing`],
    /// [`StoreError::Damaged`] when its bytes have another hash, or a failing call.
    pub fn read(&self, digest: &Digest, limit: u64) -> Result<Vec<u8>, StoreError> {
        check_limit(digest, limit)?;
        let file = self.open_object(digest)?;
        self.read_open(digest, file.as_fd())
    }

    /// Reads an object without marking it as used.
    pub(in crate::cas) fn read_unused(
        &self,
        digest: &Digest,
        limit: u64,
    ) -> Result<Vec<u8>, StoreError> {
        check_limit(digest, limit)?;
        let (file, _) = self.open_unused(digest)?;
        self.read_open(digest, file.as_fd())
    }

    /// Hashes an object again.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Damaged`], or a failing call.
    pub fn verify(&self, digest: &Digest) -> Result<(), StoreError> {
        let (file, _) = self.open_unused(digest)?;
        self.hash_open(digest, file.as_fd(), |_| ())
    }

    /// Reads what an opened object holds, which may lie in another store.
    pub(in crate::cas) fn read_open(
        &self,
        digest: &Digest,
        file: BorrowedFd<'_>,
    ) -> Result<Vec<u8>, StoreError> {
        // Its size was compared when it was opened, so that this is no promise of a stranger.
        let mut bytes = Vec::with_capacity(usize::try_from(digest.size).unwrap_or(0));
        self.hash_open(digest, file, |piece| bytes.extend_from_slice(piece))?;
        Ok(bytes)
    }

    fn hash_open(
        &self,
        digest: &Digest,
        file: BorrowedFd<'_>,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), StoreError> {
        let (mut hasher, mut buffer) = (Hasher::default(), vec![0; CHUNK]);
        loop {
            let length = self.fs.read(file, &mut buffer);
            let length = length.map_err(failed("read", self.object_path(digest)))?;
            let piece = buffer.get(..length).unwrap_or_default();
            hasher.update(piece);
            if length == 0 || hasher.size() > digest.size {
                break;
            }
            take(piece);
        }
        if hasher.size() != digest.size {
            return Err(StoreError::Damaged { digest: *digest, damage: Damage::Size });
        }
        if hasher.finish() != *digest {
            return Err(StoreError::Damaged { digest: *digest, damage: Damage::Hash });
        }
        Ok(())
    }
}

fn check_limit(digest: &Digest, limit: u64) -> Result<(), StoreError> {
    if digest.size > limit {
        return Err(StoreError::TooLarge { digest: *digest, limit });
    }
    Ok(())
}
