//! Further names of objects.

use std::os::fd::AsFd;

use super::{Store, StoreError, failed, names};
use crate::cas::Digest;
use crate::fs::{At, Errno};

impl Store<'_> {
    /// Gives an object a further name outside of the store, and marks it as used. The bytes stay for
    /// as long as one of its names does.
    ///
    /// Returns whether the name is there now, for this object or another one: its bytes are not
    /// looked at. There may be a limit of names, another file system, or an owner that forbids it.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::Damaged`] for what can be seen from outside, or a
    /// failing call.
    pub fn link_object(&self, digest: &Digest, to: At<'_>) -> Result<bool, StoreError> {
        drop(self.open_object(digest)?);
        let (fan, name) = names(digest);
        let fan = self.fs.open_handle(self.objects.as_fd(), &fan);
        match fan.and_then(|fan| self.fs.link(At { dir: fan.as_fd(), name: &name }, to)) {
            Ok(()) | Err(Errno::EXIST) => Ok(true),
            Err(Errno::MLINK | Errno::XDEV | Errno::PERM) => Ok(false),
            Err(Errno::NOENT) => Err(StoreError::Missing { digest: *digest }),
            Err(errno) => Err(failed("link", self.object_path(digest))(errno)),
        }
    }
}
