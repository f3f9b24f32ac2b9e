//! What is in a store.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};

use super::{Store, StoreError, failed};
use crate::cas::Digest;
use crate::fs::{Errno, Kind, Timespec};

/// How much a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How many objects.
    pub objects: u64,
    /// The bytes in them.
    pub bytes: u64,
    /// The bytes they take on the disk.
    pub allocated: u64,
}

/// An object as it is found in its directory; its size is that of the file.
#[derive(Clone, Copy, Debug)]
pub(in crate::cas) struct Object {
    pub(in crate::cas) digest: Digest,
    pub(in crate::cas) used: Timespec,
    pub(in crate::cas) allocated: u64,
}

impl Store<'_> {
    /// Returns the digests of all objects, sorted. The sizes are those of the files: a truncated
    /// object is listed under a digest that it doesn't have.
    ///
    /// # Errors
    /// A failing call.
    pub fn list(&self) -> Result<Vec<Digest>, StoreError> {
        let objects = self.all_objects()?;
        let mut digests: Vec<Digest> = objects.iter().map(|object| object.digest).collect();
        digests.sort_unstable();
        Ok(digests)
    }

    /// Returns how much the store holds.
    ///
    /// # Errors
    /// A failing call.
    pub fn usage(&self) -> Result<Usage, StoreError> {
        Ok(self.all_objects()?.iter().fold(Usage::default(), |sum, object| Usage {
            objects: sum.objects + 1,
            bytes: sum.bytes.saturating_add(object.digest.size),
            allocated: sum.allocated.saturating_add(object.allocated),
        }))
    }

    /// Returns all regular files whose place is that of an object.
    pub(in crate::cas) fn all_objects(&self) -> Result<Vec<Object>, StoreError> {
        let mut objects = Vec::new();
        let fans = self.fs.list(self.objects.as_fd(), usize::MAX);
        for fan in fans.map_err(failed("list", self.path().join("objects")))? {
            if fan.name.len() == 2 {
                let listed = self.list_fan(&fan.name, &mut objects);
                let path = self.path().join("objects").join(&fan.name);
                listed.map_err(failed("list", path))?;
            }
        }
        Ok(objects)
    }

    fn list_fan(&self, fan: &OsStr, objects: &mut Vec<Object>) -> Result<(), Errno> {
        let dir = match self.fs.open_dir(self.objects.as_fd(), fan) {
            Err(Errno::NOTDIR | Errno::LOOP | Errno::NOENT) => return Ok(()),
            result => result?,
        };
        for entry in self.fs.list(dir.as_fd(), usize::MAX)? {
            let digits = [fan.to_str(), entry.name.to_str()];
            let [Some(fan), Some(rest)] = digits else { continue };
            let Ok(digest) = Digest::from_hex(&format!("{fan}{rest}"), 0) else { continue };
            objects.extend(self.found(dir.as_fd(), &entry.name, digest)?);
        }
        Ok(())
    }

    fn found(
        &self,
        dir: BorrowedFd<'_>,
        name: &OsStr,
        digest: Digest,
    ) -> Result<Option<Object>, Errno> {
        let status = match self.fs.status(dir, name) {
            Err(Errno::NOENT) => return Ok(None),
            result => result?,
        };
        let digest = Digest { size: status.size, ..digest };
        let object = Object { digest, used: status.modified, allocated: status.allocated };
        Ok((status.kind == Kind::File).then_some(object))
    }
}
