//! What changed on the host reaches the command's file.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use super::{BASE, INCOMING, Own, Single, copy_at_rest};
use crate::fs::{At, Errno, Kind, Node, Result, copy_bytes};
use crate::sync::apply::{open_readable, set_user};
use crate::sync::collect::{io, users};
use crate::sync::{Ledger, Seen, SyncError};

/// What became of the host's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenIn {
    /// There is nothing to take in.
    Nothing,
    /// The command has it.
    Taken,
    /// The command has its file open, or changed it: later.
    Busy,
}

/// Returns whether nobody else has an open file open, or for writing when it is open for reading, and
/// keeps it so until it is closed.
pub type Alone<'a> = &'a dyn Fn(BorrowedFd<'_>) -> bool;

impl Single<'_> {
    /// Gives the command what changed on the host, if the command changed nothing itself. `root`
    /// is the host's directory.
    ///
    /// # Errors
    /// A failing call; the command has what it had, or what the host has.
    pub fn take_in(
        &self,
        root: BorrowedFd<'_>,
        alone: Alone<'_>,
    ) -> std::result::Result<TakenIn, SyncError> {
        let host = At { dir: root, name: &self.name };
        let failed = |errno| io("take in", Path::new(&self.name))(errno);
        let Some(own) = self.own().map_err(failed)? else { return Ok(TakenIn::Nothing) };
        let Some(node) = self.look(host).map_err(failed)? else {
            return self.take_out(&own, alone).map_err(failed);
        };
        if node.status.kind != Kind::File
            || self.is_same(host, self.in_layer(BASE)).map_err(failed)?
        {
            return Ok(TakenIn::Nothing);
        }
        let Some(node) = copy_at_rest(self.fs, host, self.in_layer(INCOMING)).map_err(failed)?
        else {
            return Ok(TakenIn::Busy);
        };
        if !self.overwrite(&own, &node, alone).map_err(failed)? {
            return Ok(TakenIn::Busy);
        }
        Ledger::adopt(self.fs, self.run, self.number, Seen::from(&node))?;
        let incoming = self.in_layer(INCOMING);
        self.fs.rename(incoming.dir, incoming.name, OsStr::new(BASE)).map_err(failed)?;
        Ok(TakenIn::Taken)
    }

    /// The host's file is gone, and so is the command's, where that can be removed.
    fn take_out(&self, own: &Own, alone: Alone<'_>) -> Result<TakenIn> {
        let base = self.in_layer(BASE);
        if self.look(base)?.is_none() || !self.is_file(own)? || self.is_mounted(own)? {
            return Ok(TakenIn::Nothing);
        }
        let file = self.open_to_write(own)?;
        if !alone(file.as_fd()) || !self.is_open_same((file.as_fd(), own.at()), base)? {
            return Ok(TakenIn::Busy);
        }
        self.fs.unlink(own.dir.as_fd(), &own.name)?;
        self.remove(base)?;
        Ok(TakenIn::Taken)
    }

    /// Returns whether the command's file is a mount of its own: only its content can change.
    fn is_mounted(&self, own: &Own) -> Result<bool> {
        let here =
            self.fs.open_below(self.layer.as_fd(), Path::new("own"), crate::fs::Open::Handle);
        match here {
            Ok(here) => {
                let ids = [here.as_fd(), own.dir.as_fd()].map(|dir| self.fs.status_of(dir));
                let [here, there] = ids;
                Ok(here?.id == there?.id)
            }
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    fn is_file(&self, own: &Own) -> Result<bool> {
        Ok(self.look(own.at())?.is_some_and(|node| node.status.kind == Kind::File))
    }

    fn overwrite(&self, own: &Own, node: &Node, alone: Alone<'_>) -> Result<bool> {
        let (base, incoming) = (self.in_layer(BASE), self.in_layer(INCOMING));
        if !self.is_file(own)? {
            return Ok(false);
        }
        let file = self.open_to_write(own)?;
        if !alone(file.as_fd()) || !self.is_open_same((file.as_fd(), own.at()), base)? {
            return Ok(false);
        }
        let filled = self.fill(own, &file, incoming);
        if filled.is_err() {
            // There is no room: the base is as large as what stood there.
            self.fill(own, &file, base)?;
        }
        filled?;
        self.fs.set_mode(file.as_fd(), node.status.mode & 0o777)?;
        self.fs.set_times(file.as_fd(), &node.status)?;
        Ok(true)
    }

    fn fill(&self, own: &Own, file: &OwnedFd, from: At<'_>) -> Result<()> {
        let node = self.fs.node(from.dir, from.name)?;
        let source = open_readable(self.fs, from, node.status.mode)?;
        self.fs.set_size(file.as_fd(), 0)?;
        copy_bytes(self.fs, source.as_fd(), file.as_fd(), node.status.size)?;
        let [before, after] = [own.at(), from].map(|at| self.fs.attributes(at).map(users));
        set_user(self.fs, own.at(), &before?, &after?)
    }

    fn open_to_write(&self, own: &Own) -> Result<OwnedFd> {
        let at = own.at();
        match self.fs.open_to_write(at.dir, at.name) {
            Err(Errno::ACCESS) => {
                let mode = self.fs.node(at.dir, at.name)?.status.mode;
                self.fs.set_mode_at(at, mode | 0o600)?;
                let opened = self.fs.open_to_write(at.dir, at.name);
                self.fs.set_mode_at(at, mode)?;
                opened
            }
            result => result,
        }
    }
}
