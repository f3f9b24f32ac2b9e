//! What a process that was killed, or a call that failed, left half done.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::{BASE, COPYING, DISPLACED, ENTERING, GONE, INCOMING, LEAVING, NEXT, Own, SENT, Single};
use crate::fs::{At, Errno, FileId, Result};
use crate::sync::SyncError;
use crate::sync::collect::io;

impl Single<'_> {
    /// Finds whether what was being written back when a process was killed stands on the host, whose
    /// directory is `root`. No write-back may be under way.
    ///
    /// # Errors
    /// A failing call.
    pub fn catch_up(&self, root: BorrowedFd<'_>) -> std::result::Result<(), SyncError> {
        self.caught_up(root).map_err(io("settle", Path::new(&self.name)))
    }

    fn caught_up(&self, root: BorrowedFd<'_>) -> Result<()> {
        let host = At { dir: root, name: &self.name };
        [NEXT, SENT]
            .into_iter()
            .try_for_each(|name| self.settle_sent(self.in_layer(name), host))?;
        self.settle_moves()
    }

    fn settle_sent(&self, sent: At<'_>, host: At<'_>) -> Result<()> {
        if self.is_same(sent, host)? { self.rebase(sent) } else { self.remove(sent) }
    }

    /// Finishes what was on its way in or out, or takes it back: the host is not asked.
    pub(super) fn settle_moves(&self) -> Result<()> {
        match self.look(self.in_layer(ENTERING))? {
            Some(_) => self.settle_entering()?,
            None => self.settle_new()?,
        }
        if self.look(self.in_layer(LEAVING))?.is_some() {
            self.settle_leaving()?;
        }
        self.remove(self.in_layer(INCOMING))?;
        self.remove(self.in_layer(COPYING))
    }

    fn settle_entering(&self) -> Result<()> {
        let [base, incoming, entering] = [BASE, INCOMING, ENTERING].map(|it| self.in_layer(it));
        // Without the other it is what the command had before.
        if self.look(incoming)?.is_none() || self.is_same(entering, incoming)? {
            return self.remove(entering);
        }
        if self.is_same(entering, base)? {
            self.rebase(incoming)?;
            return self.remove(entering);
        }
        self.change_back()
    }

    /// What the command put in the place of its file while that was exchanged is the newest of all:
    /// it goes back, or stays in the run where there is something newer still.
    fn change_back(&self) -> Result<()> {
        let [base, incoming] = [BASE, INCOMING].map(|name| self.in_layer(name));
        let Some(Own::At(dir, name)) = self.own()? else { return self.set_down(ENTERING, &[]) };
        let own = At { dir: dir.as_fd(), name: &name };
        let Some(there) = self.look(own)? else { return self.set_down(ENTERING, &[]) };
        if !(self.is_same(own, incoming)? || self.is_same(own, base)?) {
            return self.set_down(ENTERING, &[]);
        }
        self.exchange(own, there.status.id)?;
        self.set_down(ENTERING, &[there.status.id])
    }

    /// Where both sides had none, the host's has its name already.
    fn settle_new(&self) -> Result<()> {
        let incoming = self.in_layer(INCOMING);
        if self.look(incoming)?.is_none() || self.look(self.in_layer(GONE))?.is_none() {
            return Ok(());
        }
        let Some(Own::At(dir, name)) = self.own()? else { return Ok(()) };
        let own = At { dir: dir.as_fd(), name: &name };
        if self.is_same(own, incoming)? { self.rebase(incoming) } else { Ok(()) }
    }

    fn settle_leaving(&self) -> Result<()> {
        let leaving = self.in_layer(LEAVING);
        let is_out = self.look(self.in_layer(BASE))?.is_none();
        if let (false, Some(Own::At(dir, name))) = (is_out, self.own()?) {
            match self.fs.rename_new(leaving, At { dir: dir.as_fd(), name: &name }) {
                Err(Errno::EXIST) => {}
                result => return result,
            }
        }
        let known = self.in_layer(if is_out { GONE } else { BASE });
        if self.is_same(leaving, known)? {
            self.remove(leaving)
        } else {
            self.set_down(LEAVING, &[])
        }
    }

    /// Removes one of the files that endow made or knew, and keeps whatever else is there.
    pub(super) fn set_down(&self, name: &str, known: &[FileId]) -> Result<()> {
        let at = self.in_layer(name);
        let Some(node) = self.look(at)? else { return Ok(()) };
        if known.contains(&node.status.id) {
            return self.remove(at);
        }
        for number in 0..u32::MAX {
            let aside = OsString::from(format!("{DISPLACED}.{number}"));
            match self.fs.rename_new(at, At { dir: at.dir, name: &aside }) {
                Err(Errno::EXIST) => {}
                result => return result,
            }
        }
        Err(Errno::EXIST)
    }
}
