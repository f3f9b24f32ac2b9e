//! Whether two files are the same in all that is written back.

use std::os::fd::{AsFd, BorrowedFd};

use super::Single;
use crate::fs::{At, Attribute, Errno, Kind, Result, Status};
use crate::sync::apply::open_readable;
use crate::sync::collect::{Buffers, users};

impl Single<'_> {
    /// Returns whether two names lead to files with the same bytes, bits, time of modification and
    /// attributes of the user's.
    pub(super) fn is_same(&self, one: At<'_>, other: At<'_>) -> Result<bool> {
        let Some(mode) = self.is_alike(one, other, |it| it.modified)? else { return Ok(false) };
        let opened = open_readable(self.fs, one, mode)?;
        self.has_bytes_of(opened.as_fd(), other)
    }

    /// Returns whether two names lead to files with the same bytes, bits and attributes of the user's, whatever the
    /// times are.
    pub(super) fn is_same_but_for_time(&self, one: At<'_>, other: At<'_>) -> Result<bool> {
        let Some(mode) = self.is_alike(one, other, |_| ())? else { return Ok(false) };
        let opened = open_readable(self.fs, one, mode)?;
        self.has_bytes_of(opened.as_fd(), other)
    }

    /// Compares as [`is_same`](Self::is_same) does, for a file that is open, and that nobody may open.
    pub(super) fn is_open_same(
        &self,
        (file, at): (BorrowedFd<'_>, At<'_>),
        other: At<'_>,
    ) -> Result<bool> {
        let is_alike = self.is_alike(at, other, |it| it.modified)?.is_some();
        Ok(is_alike && self.has_bytes_of(file, other)?)
    }

    /// Returns the bits of two files that differ at most in their bytes.
    fn is_alike<T: PartialEq>(
        &self,
        one: At<'_>,
        other: At<'_>,
        time: impl Fn(&Status) -> T,
    ) -> Result<Option<u32>> {
        let (Some(first), Some(second)) = (self.look(one)?, self.look(other)?) else {
            return Ok(None);
        };
        let (first, second) = (first.status, second.status);
        let is_alike = [first.kind, second.kind] == [Kind::File; 2]
            && (first.size, first.mode) == (second.size, second.mode)
            && time(&first) == time(&second)
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
