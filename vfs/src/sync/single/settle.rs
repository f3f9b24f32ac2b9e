//! What a process that was killed, or a call that failed, left half done; and what had to wait for
//! the command.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::{
    Alone, BASE, COPYING, DISPLACED, ENTERING, GONE, INCOMING, LEAVING, NEXT, Own, SENT, Single,
};
use crate::fs::{At, Errno, Kind, Result};
use crate::sync::SyncError;
use crate::sync::collect::io;

/// No process of the run is left.
pub(super) struct Nobody;

impl Alone for Nobody {
    fn take(&self, _: BorrowedFd<'_>) -> bool {
        true
    }

    fn is_alone_still(&self, _: BorrowedFd<'_>) -> bool {
        true
    }
}

impl Single<'_> {
    /// Finds whether what was being written back when a process was killed stands on the host, whose
    /// directory is `root`, and finishes what was on its way in. No write-back may be under way.
    /// Returns whether all is settled: what the command has open has to wait.
    ///
    /// # Errors
    /// A failing call.
    pub fn catch_up(
        &self,
        root: BorrowedFd<'_>,
        alone: &dyn Alone,
    ) -> std::result::Result<bool, SyncError> {
        let failed = |errno| io("settle", Path::new(&self.name))(errno);
        if self.is_unsent(root).map_err(failed)? {
            self.forget_merged()?;
        }
        self.caught_up(root, alone).map_err(failed)
    }

    /// Returns whether what was being written back is not what the host has.
    fn is_unsent(&self, root: BorrowedFd<'_>) -> Result<bool> {
        let (next, host) = (self.in_layer(NEXT), At { dir: root, name: &self.name });
        Ok(self.look(next)?.is_some() && !self.is_same(next, host)?)
    }

    fn caught_up(&self, root: BorrowedFd<'_>, alone: &dyn Alone) -> Result<bool> {
        let host = At { dir: root, name: &self.name };
        [NEXT, SENT]
            .into_iter()
            .try_for_each(|name| self.settle_sent(self.in_layer(name), host))?;
        self.settle_moves(alone)
    }

    fn settle_sent(&self, sent: At<'_>, host: At<'_>) -> Result<()> {
        if self.is_same(sent, host)? { self.rebase(sent) } else { self.remove(sent) }
    }

    /// Finishes what was on its way in or out, or takes it back: the host is not asked. What lost its
    /// name may be open still, and is left until nobody can write to it any more.
    pub(super) fn settle_moves(&self, alone: &dyn Alone) -> Result<bool> {
        if !(self.is_closed(ENTERING, alone)? && self.is_closed(LEAVING, alone)?) {
            return Ok(false);
        }
        match self.look(self.in_layer(ENTERING))? {
            Some(_) => self.settle_entering()?,
            None => self.settle_new()?,
        }
        if self.look(self.in_layer(ENTERING))?.is_some() {
            return Ok(false);
        }
        if self.look(self.in_layer(LEAVING))?.is_some() {
            self.settle_leaving()?;
        }
        self.remove(self.in_layer(INCOMING))?;
        self.remove(self.in_layer(COPYING))?;
        Ok(true)
    }

    /// Returns whether nobody has a file open. It stays so: no name leads there.
    fn is_closed(&self, name: &str, alone: &dyn Alone) -> Result<bool> {
        let at = self.in_layer(name);
        let is_file = self.look(at)?.is_some_and(|node| node.status.kind == Kind::File);
        Ok(!is_file || alone.take(self.open_to_write(at)?.as_fd()))
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
        let Some(Own::At(dir, name)) = self.own()? else { return self.set_aside(ENTERING) };
        let own = At { dir: dir.as_fd(), name: &name };
        let Some(there) = self.look(own)? else { return self.set_aside(ENTERING) };
        if !(self.is_same(own, incoming)? || self.is_same(own, base)?) {
            return self.set_aside(ENTERING);
        }
        // What was there may be open.
        if self.exchange(own, there.status.id)? { self.remove(incoming) } else { Ok(()) }
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
        if self.is_same(leaving, known)? { self.remove(leaving) } else { self.set_aside(LEAVING) }
    }

    /// Keeps a version that has no name any more.
    fn set_aside(&self, name: &str) -> Result<()> {
        let at = self.in_layer(name);
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
