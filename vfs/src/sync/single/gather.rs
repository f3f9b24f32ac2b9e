//! The command's file becomes a layer for good, when no process of the run is left.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::settle::Nobody;
use super::{BASE, GONE, NEXT, Own, SENT, STANDS, Single, copy_at_rest};
use crate::fs::{At, Kind, Result, Special};
use crate::sync::SyncError;
use crate::sync::collect::io;
use crate::sync::file::is_unreachable;
use crate::sync::root::{Closed, Root};
use crate::tree::remove_tree;

impl Single<'_> {
    /// Moves what the command made of its file into the layer: nothing, when it did not change it.
    /// Done again, it does nothing. Where the command moved the directory away, or put a link in
    /// its place, what became of the file is not known: that is refused, and all stays where it is.
    ///
    /// # Errors
    /// A failing call; it can be done again.
    pub fn gather(&self) -> std::result::Result<(), SyncError> {
        self.gathered().map_err(io("gather", Path::new(&self.name)))
    }

    fn gathered(&self) -> Result<()> {
        let Some(place) = self.place()? else { return Ok(()) };
        // The command may have closed the directory.
        let mut run = Root::new(self.fs, self.run, Closed::Open);
        let opened = run.open_up(place.parent().unwrap_or(Path::new("")));
        let gathered = match opened {
            Err(errno) if !is_unreachable(errno) => Err(errno),
            _ => self.gather_opened(),
        };
        gathered.and(run.close())
    }

    fn gather_opened(&self) -> Result<()> {
        // What went back may leave something to be settled.
        while !self.settle_moves(&Nobody)? {}
        self.withdraw()?;
        let Some(own) = self.own()? else { return Ok(()) };
        let Own::At(dir, name) = own else { return self.mark_unknown() };
        self.bring(At { dir: dir.as_fd(), name: &name })?;
        self.fs.unlink(self.in_layer(STANDS).dir, OsStr::new(STANDS))
    }

    /// What was being written back leaves the layer to what there is now; whether it stands on the
    /// host is found later.
    fn withdraw(&self) -> Result<()> {
        let next = self.in_layer(NEXT);
        if self.look(next)?.is_none() {
            return Ok(());
        }
        self.remove(self.in_upper())?;
        self.fs.rename(next.dir, next.name, OsStr::new(SENT))
    }

    fn bring(&self, own: At<'_>) -> Result<()> {
        let Some(found) = self.look(own)? else { return self.bring_removal() };
        // What is there is of a process that was killed.
        let upper = self.in_upper();
        remove_tree(self.fs, upper.dir, upper.name).map_err(|left| left.errno)?;
        let is_file = found.status.kind == Kind::File;
        // What was sent may become the base.
        let is_sent = self.look(self.in_layer(SENT))?.is_some();
        if is_file && !is_sent && self.is_same(own, self.in_layer(BASE))? {
            return Ok(());
        }
        let mode = found.status.mode;
        if is_file || mode & 0o700 == 0o700 {
            return self.fs.rename_new(own, upper);
        }
        // A directory that is closed can't be moved.
        self.fs.set_mode_at(own, mode | 0o700)?;
        self.fs.rename_new(own, upper)?;
        self.fs.set_mode_at(upper, mode)
    }

    /// The command removed it, unless both sides did, or it was brought before.
    fn bring_removal(&self) -> Result<()> {
        let at = self.in_upper();
        let had = self.look(self.in_layer(BASE))?.is_some();
        if self.look(at)?.is_some() || !had {
            return Ok(());
        }
        self.fs.make_whiteout(at.dir, at.name)
    }

    /// A directory in the place of the file: that is never written back.
    fn mark_unknown(&self) -> Result<()> {
        let at = self.in_upper();
        remove_tree(self.fs, at.dir, at.name).map_err(|left| left.errno)?;
        self.fs.make_dir(at.dir, at.name, 0o700)
    }

    /// The other way: puts what the layer has in the place of the command's file, when a run goes
    /// on from an earlier one whose layer of the same file is `earlier`.
    ///
    /// # Errors
    /// A failing call.
    pub fn spread(&self, earlier: BorrowedFd<'_>) -> std::result::Result<(), SyncError> {
        self.spread_out(earlier).map_err(io("go on with", Path::new(&self.name)))
    }

    fn spread_out(&self, earlier: BorrowedFd<'_>) -> Result<()> {
        let Some(Own::At(dir, name)) = self.own()? else { return Ok(()) };
        let own = At { dir: dir.as_fd(), name: &name };
        let Some(node) = self.look(self.in_upper())? else { return Ok(()) };
        self.take_base(earlier)?;
        self.remove(own)?;
        if node.special == Some(Special::Whiteout) {
            return self.remove(self.in_upper());
        }
        self.fs.rename_new(self.in_upper(), own)
    }

    /// What both sides held last is what they held before the earlier run, if that is known.
    fn take_base(&self, earlier: BorrowedFd<'_>) -> Result<()> {
        self.remove(self.in_layer(BASE))?;
        for name in [BASE, GONE] {
            copy_at_rest(
                self.fs,
                At { dir: earlier, name: OsStr::new(name) },
                self.in_layer(name),
            )?;
        }
        Ok(())
    }
}
