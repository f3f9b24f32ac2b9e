//! What changed on the host reaches the command's file.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use super::{BASE, COPYING, ENTERING, GONE, INCOMING, LEAVING, Own, SET_ID, Single, copy_at_rest};
use crate::fs::{At, Errno, FileId, Kind, Node, Result};
use crate::sync::apply::with_bits;
use crate::sync::collect::io;
use crate::sync::{Ledger, Seen, SyncError};

/// How often a file that the command replaces at the same moment is put back.
const TRIES: usize = 64;

/// What became of the host's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenIn {
    /// There is nothing to take in.
    Nothing,
    /// The command has it.
    Taken,
    /// The command has its file open, or changed it, or the host's is being replaced: later.
    Busy,
}

/// Keeps others from a file.
pub trait Alone {
    /// Returns whether nobody else has an open file open, or for writing when it is open for
    /// reading, and keeps it so until it is closed: whoever opens it waits.
    fn take(&self, file: BorrowedFd<'_>) -> bool;

    /// Returns whether nobody waits, of those either who had looked its name up just before.
    fn is_alone_still(&self, file: BorrowedFd<'_>) -> bool;
}

impl Single<'_> {
    /// Gives the command what changed on the host, if the command changed nothing itself: its file
    /// is replaced as a whole. `root` is the host's directory; `is_gone` says whether a file that is
    /// not there counts as removed, and not as one that is being replaced.
    ///
    /// # Errors
    /// A failing call; the command has what it had, or what the host has.
    pub fn take_in(
        &self,
        root: BorrowedFd<'_>,
        alone: &dyn Alone,
        is_gone: bool,
    ) -> std::result::Result<TakenIn, SyncError> {
        let host = At { dir: root, name: &self.name };
        let failed = |errno| io("take in", Path::new(&self.name))(errno);
        if !self.settle_moves(alone).map_err(failed)? {
            return Ok(TakenIn::Busy);
        }
        let Some(Own::At(dir, name)) = self.own().map_err(failed)? else {
            return Ok(TakenIn::Nothing);
        };
        let own = At { dir: dir.as_fd(), name: &name };
        let Some(node) = self.look(host).map_err(failed)? else {
            return self.take_out(own, alone, is_gone).map_err(failed);
        };
        if node.status.kind != Kind::File || node.status.mode & SET_ID != 0 {
            return Ok(TakenIn::Nothing);
        }
        if self.is_same(host, self.in_layer(BASE)).map_err(failed)? {
            return Ok(TakenIn::Nothing);
        }
        let Some(node) = self.bring_in(host, own, alone).map_err(failed)? else {
            return Ok(TakenIn::Busy);
        };
        self.rebase(self.in_layer(INCOMING)).map_err(failed)?;
        self.remove(self.in_layer(ENTERING)).map_err(failed)?;
        Ledger::adopt(self.fs, self.run, self.number, Seen::from(&node))?;
        Ok(TakenIn::Taken)
    }

    /// Returns what the host has, once the command has it; what the command had is set down still.
    fn bring_in(&self, host: At<'_>, own: At<'_>, alone: &dyn Alone) -> Result<Option<Node>> {
        let [incoming, copying, entering] =
            [INCOMING, COPYING, ENTERING].map(|name| self.in_layer(name));
        let Some(node) = copy_at_rest(self.fs, host, incoming)? else { return Ok(None) };
        if copy_at_rest(self.fs, incoming, copying)?.is_none() {
            return Ok(None);
        }
        self.fs.rename(copying.dir, copying.name, entering.name)?;
        if self.look(own)?.is_none() {
            return self.put_new(own, node);
        }
        let Some(file) = self.open_unchanged(own, alone)? else { return Ok(None) };
        if self.is_locked(own)? {
            return Ok(None);
        }
        let expected = self.fs.status_of(file.as_fd())?.id;
        let ours = self.fs.node(entering.dir, entering.name)?.status.id;
        let is_in = self.exchange(own, expected)? && self.is_for_good((own, ours), &file, alone)?;
        // What is not in is settled when nobody has it open.
        Ok(is_in.then_some(node))
    }

    /// Returns whether nobody of the command goes on with what was there before, `file`: that is
    /// put back, unless there is something newer.
    fn is_for_good(
        &self,
        (own, ours): (At<'_>, FileId),
        file: &OwnedFd,
        alone: &dyn Alone,
    ) -> Result<bool> {
        // Whoever waits for the file that was there writes into that, and whoever locked it may have
        // read it.
        let is_free = !self.is_locked(own)? && alone.is_alone_still(file.as_fd());
        if !(is_free && self.is_in_place(own)?) {
            self.exchange(own, ours)?;
            return Ok(false);
        }
        let is_ours = self.look(own)?.is_some_and(|node| node.status.id == ours);
        if !is_ours {
            // Of a file that took its place it is not known what its writer had read.
            self.remove(self.in_layer(INCOMING))?;
        }
        Ok(is_ours)
    }

    /// Returns whether the way to the command's file still leads to the directory that is open.
    fn is_in_place(&self, own: At<'_>) -> Result<bool> {
        let Some(Own::At(dir, _)) = self.own()? else { return Ok(false) };
        Ok(self.fs.status_of(dir.as_fd())?.id == self.fs.status_of(own.dir)?.id)
    }

    /// Where both sides had none.
    fn put_new(&self, own: At<'_>, node: Node) -> Result<Option<Node>> {
        let entering = self.in_layer(ENTERING);
        if self.look(self.in_layer(GONE))?.is_none() {
            return self.remove(entering).map(|()| None);
        }
        match self.fs.rename_new(entering, own) {
            Err(Errno::EXIST) => self.remove(entering).map(|()| None),
            result => result.map(|()| Some(node)),
        }
    }

    /// Exchanges the command's file with what enters, if it is the expected one. The command may
    /// rename another into its place at the same moment: the newest that is found goes back.
    pub(super) fn exchange(&self, own: At<'_>, expected: FileId) -> Result<bool> {
        let entering = self.in_layer(ENTERING);
        let (mut there, mut is_in) = (expected, true);
        for _ in 0..TRIES {
            let ours = self.fs.node(entering.dir, entering.name)?.status.id;
            match self.fs.exchange(entering, own) {
                // The command removed it, or moved it away.
                Err(Errno::NOENT) => return Ok(false),
                result => result?,
            }
            if self.fs.node(entering.dir, entering.name)?.status.id == there {
                return Ok(is_in);
            }
            (there, is_in) = (ours, false);
        }
        Ok(false)
    }

    /// The host's file is gone, and so is the command's, where that can be removed.
    fn take_out(&self, own: At<'_>, alone: &dyn Alone, is_gone: bool) -> Result<TakenIn> {
        if self.look(self.in_layer(BASE))?.is_none() || self.look(own)?.is_none() {
            return Ok(TakenIn::Nothing);
        }
        if !is_gone {
            return Ok(TakenIn::Busy);
        }
        let Some(file) = self.open_unchanged(own, alone)? else { return Ok(TakenIn::Busy) };
        let leaving = self.in_layer(LEAVING);
        self.fs.rename_new(own, leaving)?;
        let expected = self.fs.status_of(file.as_fd())?.id;
        let is_it = self.fs.node(leaving.dir, leaving.name)?.status.id == expected;
        if !(is_it && alone.is_alone_still(file.as_fd()) && self.is_in_place(own)?) {
            // The command was faster: its own goes back, unless there is a newer one still.
            return match self.fs.rename_new(leaving, own) {
                Err(Errno::EXIST) => Ok(TakenIn::Busy),
                result => result.map(|()| TakenIn::Busy),
            };
        }
        self.fs.rename(self.layer.as_fd(), OsStr::new(BASE), OsStr::new(GONE))?;
        self.remove(leaving)?;
        Ok(TakenIn::Taken)
    }

    /// Opens the command's file if it is as both sides had it, and nobody else has it open.
    fn open_unchanged(&self, own: At<'_>, alone: &dyn Alone) -> Result<Option<OwnedFd>> {
        if self.look(own)?.is_none_or(|node| node.status.kind != Kind::File) {
            return Ok(None);
        }
        let file = self.open_to_write(own)?;
        let is_ready = alone.take(file.as_fd())
            && self.is_open_same((file.as_fd(), own), self.in_layer(BASE))?;
        Ok(is_ready.then_some(file))
    }

    pub(super) fn open_to_write(&self, at: At<'_>) -> Result<OwnedFd> {
        let mode = self.fs.node(at.dir, at.name)?.status.mode;
        with_bits(self.fs, at, (mode, 0o600), || self.fs.open_to_write(at.dir, at.name))
    }
}
