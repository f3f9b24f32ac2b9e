//! Whether two files are the same in all that is written back.

use std::os::fd::{AsFd, BorrowedFd};

use super::Single;
use crate::fs::{At, Attribute, Errno, Kind, Result};
use crate::sync::apply::open_readable;
use crate::sync::collect::{Buffers, users};

impl Single<'_> {
    /// Returns whether two names lead to files with the same bytes, bits, time of modification and
    /// attributes of the user's.
    pub(super) fn is_same(&self, one: At<'_>, other: At<'_>) -> Result<bool> {
        let Some(mode) = self.is_alike(one, other)? else { return Ok(false) };
        let opened = open_readable(self.fs, one, mode)?;
        self.has_bytes_of(opened.as_fd(), other)
    }

    /// The same for a file that is open, and that nobody may open now.
    pub(super) fn is_open_same(
        &self,
        (file, at): (BorrowedFd<'_>, At<'_>),
        other: At<'_>,
    ) -> Result<bool> {
        Ok(self.is_alike(at, other)?.is_some() && self.has_bytes_of(file, other)?)
    }

    /// Returns the bits of two files that differ at most in their bytes.
    fn is_alike(&self, one: At<'_>, other: At<'_>) -> Result<Option<u32>> {
        let (Some(first), Some(second)) = (self.look(one)?, self.look(other)?) else {
            return Ok(None);
        };
        let (first, second) = (first.status, second.status);
        let is_alike = [first.kind, second.kind] == [Kind::File; 2]
            && first.size == second.size
            && first.mode & 0o777 == second.mode & 0o777
            && first.modified == second.modified
            && self.attributes(one)? == self.attributes(other)?;
        Ok(is_alike.then_some(first.mode))
    }

    fn has_bytes_of(&self, file: BorrowedFd<'_>, other: At<'_>) -> Result<bool> {
        let status = self.fs.node(other.dir, other.name)?.status;
        let against = open_readable(self.fs, other, status.mode)?;
        Buffers::default().equal(self.fs, [file, against.as_fd()], status.size)
    }

    fn attributes(&self, at: At<'_>) -> Result<Vec<Attribute>> {
        match self.fs.attributes(at) {
            Err(Errno::ACCESS) => Ok(Vec::new()),
            result => result.map(users),
        }
    }
}
