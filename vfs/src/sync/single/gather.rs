//! The command's file becomes a layer for good, when no process of the run is left.

use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::path::Path;

use super::{BASE, INCOMING, NEXT, STANDS, Single, copy_at_rest};
use crate::fs::{At, Kind, Result, Special};
use crate::sync::SyncError;
use crate::sync::collect::io;
use crate::tree::remove_tree;

impl Single<'_> {
    /// Moves what the command made of its file into the layer: nothing, when it did not change it.
    /// Done again, it does nothing.
    ///
    /// # Errors
    /// A failing call; it can be done again.
    pub fn gather(&self, root: BorrowedFd<'_>) -> std::result::Result<(), SyncError> {
        self.gathered(root).map_err(io("gather", Path::new(&self.name)))
    }

    fn gathered(&self, root: BorrowedFd<'_>) -> Result<()> {
        if self.look(self.in_layer(STANDS))?.is_none() {
            return Ok(());
        }
        self.bring()?;
        self.like(root)?;
        self.remove(self.in_layer(NEXT))?;
        self.remove(self.in_layer(INCOMING))?;
        self.fs.unlink(self.in_layer(STANDS).dir, OsStr::new(STANDS))
    }

    fn bring(&self) -> Result<()> {
        let own = self.own()?;
        let found = own.as_ref().map(|own| self.look(own.at())).transpose()?.flatten();
        let (Some(own), Some(found)) = (own, found) else { return self.bring_removal() };
        // What is there is of a process that was killed.
        remove_tree(self.fs, self.upper_dir(), &self.name).map_err(|left| left.errno)?;
        if self.is_same(own.at(), self.in_layer(BASE))? {
            return Ok(());
        }
        self.fs.rename_new(own.at(), self.in_upper())?;
        if found.status.kind == Kind::File { self.mark() } else { Ok(()) }
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
        let base = At { dir: earlier, name: OsStr::new(BASE) };
        let (Some(own), Some(node)) = (self.own()?, self.look(self.in_upper())?) else {
            return Ok(());
        };
        if self.look(base)?.is_some() {
            copy_at_rest(self.fs, base, self.in_layer(BASE))?;
        }
        self.remove(own.at())?;
        if node.special == Some(Special::Whiteout) {
            return self.remove(self.in_upper());
        }
        self.fs.rename_new(self.in_upper(), own.at())
    }

    /// The command removed it, unless both sides did, or it was brought before.
    fn bring_removal(&self) -> Result<()> {
        let is_brought = self.look(self.in_upper())?.is_some();
        if is_brought || self.look(self.in_layer(BASE))?.is_none() {
            return Ok(());
        }
        let at = self.in_upper();
        self.fs.make_whiteout(at.dir, at.name)
    }

    fn upper_dir(&self) -> BorrowedFd<'_> {
        self.in_upper().dir
    }
}
