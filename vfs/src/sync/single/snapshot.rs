//! What the command's file is at one moment, as a layer that can be written back while the command
//! goes on.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::{Alone, BASE, COPYING, GONE, NEXT, Own, Single, copy_at_rest};
use crate::fs::{At, Kind, Node, Result};
use crate::sync::apply::open_readable;
use crate::sync::collect::io;
use crate::sync::{Ledger, Seen, SyncError};

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
    /// Makes a file of the layer what both sides held last.
    pub(super) fn rebase(&self, from: At<'_>) -> Result<()> {
        self.fs.rename(from.dir, from.name, OsStr::new(BASE))?;
        self.remove(self.in_layer(GONE))
    }

    /// Copies the command's file into the layer if it changed.
    ///
    /// # Errors
    /// A failing call.
    pub fn snapshot(&self, alone: &dyn Alone) -> std::result::Result<Ours, SyncError> {
        self.taken(alone).map_err(io("copy", Path::new(&self.name)))
    }

    fn taken(&self, alone: &dyn Alone) -> Result<Ours> {
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
        if !alone.take(file.as_fd()) {
            return Ok(Ours::Busy);
        }
        if self.is_same(own, self.in_layer(BASE))? {
            return Ok(Ours::Same);
        }
        let [next, copying] = [NEXT, COPYING].map(|name| self.in_layer(name));
        let copied = copy_at_rest(self.fs, own, next)?;
        let leased = self.fs.status_of(file.as_fd())?.id;
        if copied.is_none_or(|node| node.status.id != leased) {
            self.remove(next)?;
            return Ok(Ours::Busy);
        }
        // What is in the layer is whole.
        copy_at_rest(self.fs, next, copying)?;
        self.fs.rename_new(copying, self.in_upper())?;
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
        let host = At { dir: root, name: &self.name };
        if !is_done {
            self.forget_merged()?;
        }
        self.remove(self.in_upper()).map_err(failed)?;
        let next = self.in_layer(NEXT);
        if is_done {
            let node = self.look(host).map_err(failed)?;
            self.settle(node.map(|node| Seen::from(&node)))?;
            self.rebase(next).map_err(failed)
        } else {
            self.remove(next).map_err(failed)
        }
    }

    /// What was merged, and may have been written away since, is none of the host's: it would not be written again.
    pub(super) fn forget_merged(&self) -> std::result::Result<(), SyncError> {
        let mut ledger = Ledger::read(self.fs, self.run)?;
        if !ledger.merged.iter().any(|it| it.mount == self.number) {
            return Ok(());
        }
        ledger.merged.retain(|it| it.mount != self.number);
        ledger.store(self.fs, self.run)
    }

    /// Writes down what stands on the host. What was merged is known by the base from now on, and of
    /// what was left on the host an undo looks for the last ones.
    fn settle(&self, there: Option<Seen>) -> std::result::Result<(), SyncError> {
        let mut ledger = Ledger::read(self.fs, self.run)?;
        let ours = there.filter(|it| ledger.settled(self.number).has(it));
        if let Some(ours) = ours {
            ledger.forget_earlier();
            ledger.left_at(self.number, Path::new(&self.name), ours);
        }
        ledger.merged.retain(|it| it.mount != self.number);
        let of_file = ledger.settled.iter().filter(|(mount, _)| *mount == self.number).count();
        let mut excess = of_file.saturating_sub(REMEMBERED);
        ledger.settled.retain(|(mount, _)| {
            let is_old = *mount == self.number && excess > 0;
            excess -= usize::from(is_old);
            !is_old
        });
        ledger.store(self.fs, self.run)
    }
}
