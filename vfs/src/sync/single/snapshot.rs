//! What the command's file is at one moment, as a layer that can be written back while the command
//! goes on.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::{Alone, BASE, NEXT, Single, copy_at_rest};
use crate::fs::{Kind, Node, Result};
use crate::sync::apply::open_readable;
use crate::sync::collect::io;
use crate::sync::{Ledger, SyncError, settle_again, standing};

/// The largest file that is written back while the command runs: it is copied as a whole.
const LARGEST: u64 = 64 << 20;

/// What the command made of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ours {
    /// It is as it was.
    Same,
    /// It is in the layer, to be written back.
    Changed,
    /// There is none, or something else, or a large one: that is looked at when the run is over.
    Odd,
    /// Somebody has it open for writing.
    Busy,
}

impl Single<'_> {
    /// Copies the command's file into the layer if it changed.
    ///
    /// # Errors
    /// A failing call.
    pub fn snapshot(
        &self,
        root: BorrowedFd<'_>,
        alone: Alone<'_>,
    ) -> std::result::Result<Ours, SyncError> {
        self.taken(root, alone).map_err(io("copy", Path::new(&self.name)))
    }

    fn taken(&self, root: BorrowedFd<'_>, alone: Alone<'_>) -> Result<Ours> {
        self.remove(self.in_upper())?;
        let Some(own) = self.own()? else { return Ok(Ours::Odd) };
        let found = self.look(own.at())?;
        let is_usual = |node: &Node| node.status.kind == Kind::File && node.status.size <= LARGEST;
        let Some(found) = found.filter(is_usual) else { return Ok(Ours::Odd) };
        let file = open_readable(self.fs, own.at(), found.status.mode)?;
        if !alone(file.as_fd()) {
            return Ok(Ours::Busy);
        }
        if self.is_same(own.at(), self.in_layer(BASE))? {
            return Ok(Ours::Same);
        }
        let copied = copy_at_rest(self.fs, own.at(), self.in_layer(NEXT))?;
        if copied.is_none() {
            return Ok(Ours::Busy);
        }
        copy_at_rest(self.fs, self.in_layer(NEXT), self.in_upper())?;
        self.mark()?;
        self.like(root)?;
        Ok(Ours::Changed)
    }

    /// Ends what [`snapshot`](Self::snapshot) began: with `is_done` the host has what it copied.
    ///
    /// # Errors
    /// A failing call.
    pub fn end_snapshot(
        &self,
        root: BorrowedFd<'_>,
        is_done: bool,
    ) -> std::result::Result<(), SyncError> {
        let failed = |errno| io("settle", Path::new(&self.name))(errno);
        // What stands in the tree may be one inode with the layer's.
        let ledger = Ledger::read(self.fs, self.run)?;
        let standing = standing(self.fs, &ledger, self.number, root);
        self.remove(self.in_upper()).map_err(failed)?;
        settle_again(self.fs, self.run, ledger, &[(standing, root)])?;
        let (next, base) = (self.in_layer(NEXT), OsStr::new(BASE));
        let ended = || {
            self.like(root)?;
            if is_done { self.fs.rename(next.dir, next.name, base) } else { self.remove(next) }
        };
        ended().map_err(failed)
    }
}
