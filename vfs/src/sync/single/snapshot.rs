//! What the command's file is at one moment, as a layer that can be written back while the command
//! goes on.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::{Alone, BASE, GONE, NEXT, Own, Single, copy_at_rest};
use crate::fs::{At, Kind, Node, Result};
use crate::sync::apply::open_readable;
use crate::sync::collect::io;
use crate::sync::{Ledger, Seen, SyncError, settle_again, standing};

/// The largest file that is written back while the command runs: it is copied as a whole.
const LARGEST: u64 = 64 << 20;

/// How many versions that stood on the host are remembered.
const REMEMBERED: usize = 64;

/// What the command made of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ours {
    /// It is as it was.
    Same,
    /// There is none, and the host has none, or had none when both were the same last.
    Absent,
    /// It is in the layer, to be written back.
    Changed,
    /// It is removed, or something else, or large: that is looked at when the run is over.
    Odd,
    /// Somebody has it open for writing.
    Busy,
}

impl Single<'_> {
    /// Finds whether what was being written back when a process was killed stands on the host, whose
    /// directory is `root`. No write-back may be under way.
    ///
    /// # Errors
    /// A failing call.
    pub fn catch_up(&self, root: BorrowedFd<'_>) -> std::result::Result<(), SyncError> {
        let host = At { dir: root, name: &self.name };
        let next = self.in_layer(NEXT);
        let caught_up = || {
            if self.look(next)?.is_none() {
                return Ok(());
            }
            if self.is_same(next, host)? { self.rebase(next) } else { self.remove(next) }
        };
        caught_up().map_err(io("settle", Path::new(&self.name)))
    }

    /// Makes a file of the layer what both sides held last.
    pub(super) fn rebase(&self, from: At<'_>) -> Result<()> {
        self.fs.rename(from.dir, from.name, OsStr::new(BASE))?;
        self.remove(self.in_layer(GONE))
    }

    /// Returns the host's file, if the run knows it as it is.
    ///
    /// # Errors
    /// A failing call.
    pub fn known(&self, root: BorrowedFd<'_>) -> std::result::Result<Option<Seen>, SyncError> {
        let found = self.look(At { dir: root, name: &self.name });
        let found = found.map_err(io("look at", Path::new(&self.name)))?;
        let settled = Ledger::read(self.fs, self.run)?.settled(self.number);
        Ok(found.map(|node| Seen::from(&node)).filter(|seen| settled.has(seen)))
    }

    /// Copies the command's file into the layer if it changed.
    ///
    /// # Errors
    /// A failing call.
    pub fn snapshot(&self, alone: Alone<'_>) -> std::result::Result<Ours, SyncError> {
        self.taken(alone).map_err(io("copy", Path::new(&self.name)))
    }

    fn taken(&self, alone: Alone<'_>) -> Result<Ours> {
        self.remove(self.in_upper())?;
        let Some(Own::At(dir, name)) = self.own()? else { return Ok(Ours::Odd) };
        let own = At { dir: dir.as_fd(), name: &name };
        let Some(found) = self.look(own)? else {
            let is_gone = self.look(self.in_layer(GONE))?.is_some();
            return Ok(if is_gone { Ours::Absent } else { Ours::Odd });
        };
        let is_usual = |node: &Node| node.status.kind == Kind::File && node.status.size <= LARGEST;
        if !is_usual(&found) {
            return Ok(Ours::Odd);
        }
        let file = open_readable(self.fs, own, found.status.mode)?;
        if !alone(file.as_fd()) {
            return Ok(Ours::Busy);
        }
        if self.is_same(own, self.in_layer(BASE))? {
            return Ok(Ours::Same);
        }
        if copy_at_rest(self.fs, own, self.in_layer(NEXT))?.is_none() {
            return Ok(Ours::Busy);
        }
        copy_at_rest(self.fs, self.in_layer(NEXT), self.in_upper())?;
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
        let next = self.in_layer(NEXT);
        if !is_done {
            return self.remove(next).map_err(failed);
        }
        self.rebase(next).map_err(failed)?;
        self.forget_earlier()
    }

    /// What was merged is known by the base from now on, and of what was left on the host an undo
    /// looks for the last ones.
    fn forget_earlier(&self) -> std::result::Result<(), SyncError> {
        let mut ledger = Ledger::read(self.fs, self.run)?;
        let before = (ledger.merged.len(), ledger.settled.len());
        ledger.merged.retain(|it| it.mount != self.number);
        let of_file = ledger.settled.iter().filter(|(mount, _)| *mount == self.number).count();
        let mut excess = of_file.saturating_sub(REMEMBERED);
        ledger.settled.retain(|(mount, _)| {
            let is_old = *mount == self.number && excess > 0;
            excess -= usize::from(is_old);
            !is_old
        });
        let is_same = (ledger.merged.len(), ledger.settled.len()) == before;
        if is_same { Ok(()) } else { ledger.store(self.fs, self.run) }
    }
}
