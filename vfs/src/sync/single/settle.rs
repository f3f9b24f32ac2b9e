//! What a process that was killed left half done.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::{BASE, COPYING, DISPLACED, ENTERING, INCOMING, NEXT, Own, Single};
use crate::fs::{At, Errno, Result};
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
        let [next, incoming, entering] = [NEXT, INCOMING, ENTERING].map(|name| self.in_layer(name));
        if self.look(next)?.is_some() {
            if self.is_same(next, host)? { self.rebase(next) } else { self.remove(next) }?;
        }
        self.put_back()?;
        // What was on its way in has taken the place of what the command had.
        if self.is_same(entering, self.in_layer(BASE))? && self.is_same(incoming, host)? {
            self.rebase(incoming)?;
        }
        [incoming, entering, self.in_layer(COPYING)].map(|it| self.remove(it)).into_iter().collect()
    }

    /// What the command put in the place of its file while that was exchanged is the newest of all:
    /// it goes back, or stays in the run where there is something newer still.
    pub(super) fn put_back(&self) -> Result<()> {
        let [incoming, entering] = [INCOMING, ENTERING].map(|name| self.in_layer(name));
        if self.look(entering)?.is_none()
            || self.is_same(entering, self.in_layer(BASE))?
            || self.is_same(entering, incoming)?
        {
            return Ok(());
        }
        let was_removed = self.look(incoming)?.is_none();
        let is_back = match self.own()? {
            Some(Own::At(dir, name)) => {
                let own = At { dir: dir.as_fd(), name: &name };
                if was_removed { self.restore(own) } else { self.change_back(own) }?
            }
            _ => false,
        };
        if is_back {
            Ok(())
        } else {
            self.fs.rename(entering.dir, entering.name, DISPLACED.as_ref())
        }
    }

    fn restore(&self, own: At<'_>) -> Result<bool> {
        match self.fs.rename_new(self.in_layer(ENTERING), own) {
            Err(Errno::EXIST) => Ok(false),
            result => result.map(|()| true),
        }
    }

    fn change_back(&self, own: At<'_>) -> Result<bool> {
        let Some(there) = self.look(own)? else { return Ok(false) };
        let [incoming, base] = [INCOMING, BASE].map(|name| self.in_layer(name));
        if !(self.is_same(own, incoming)? || self.is_same(own, base)?) {
            return Ok(false);
        }
        self.exchange(own, there.status.id)?;
        Ok(true)
    }
}
