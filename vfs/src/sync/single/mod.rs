//! A single file that is mounted copy-on-write: the command has a copy of it, which reaches the
//! host whenever it was closed, and follows what changes there.
//!
//! ```text
//! <layer>/stands         where the command's file is, below the run; gone when the run is over
//! <layer>/own/<name>     it, when no private directory holds it
//! <layer>/base           what both sides held when they were the same last
//! <layer>/base.gone      it once more, when both sides have no file
//! <layer>/upper/<name>   what is just written back, or waits: a layer like that of a directory
//! ```
//!
//! The command's file and the base are equal unless the command changed it, and so are the host's
//! and the base: nothing else decides about conflicts. Each step is made in an order in which a
//! process that is killed in between leaves what counts as a change of the command's with the
//! host's own content, which is none.

mod compare;
mod fold;
mod gather;
mod lock;
mod make;
mod narrow;
mod settle;
mod snapshot;
mod take_in;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::SyncError;
use super::apply::copy_leaf;
use super::collect::io;
use super::file::{gone, is_unreachable};
use crate::fs::{At, Errno, Fs, Kind, Node, Open, Result, read_all};

pub(super) use make::make_above;
pub use make::{make_single, make_single_absent};
pub use snapshot::Ours;
pub use take_in::{Alone, TakenIn};

/// Where the file is that the command has.
const STANDS: &str = "stands";
/// What both sides held when they were the same last.
const BASE: &str = "base";
/// What takes the place of the base when it was written back.
const NEXT: &str = "base.new";
/// The base when there is no file on both sides.
const GONE: &str = "base.gone";
/// The host's version on its way in, and what takes the place of the command's.
const INCOMING: &str = "incoming";
const ENTERING: &str = "entering";
/// What the command had, when the host's is gone.
const LEAVING: &str = "leaving";
/// What is being copied, until it is whole.
const COPYING: &str = "copying";
/// What takes the place of the base, from when the command is gone on.
const SENT: &str = "base.sent";
/// Versions that the command made while its file was exchanged, and that found no way back: they
/// are followed by a number.
const DISPLACED: &str = "displaced";
/// The layer.
const UPPER: &str = "upper";
/// What no copy has: a file with one of these bits is refused.
const SET_ID: u32 = 0o6000;
/// How often a file is copied anew that changes meanwhile.
const TRIES: usize = 5;

/// A single file of a run.
pub struct Single<'a> {
    fs: &'a dyn Fs,
    run: BorrowedFd<'a>,
    number: u32,
    layer: OwnedFd,
    upper: OwnedFd,
    name: OsString,
}

/// Where the command's file is.
enum Own {
    /// A name in a directory; there may be nothing.
    At(OwnedFd, OsString),
    /// The directory is gone, or a link stands on the way.
    Unreachable,
}

impl<'a> Single<'a> {
    /// Opens what a run, whose lock is the caller's, has of its mount `number`, a file `name`.
    ///
    /// # Errors
    /// A failing call.
    pub fn open(
        fs: &'a dyn Fs,
        run: BorrowedFd<'a>,
        (number, layer): (u32, &Path),
        name: &OsStr,
    ) -> std::result::Result<Self, SyncError> {
        let opened = fs.open_below(run, layer, Open::Handle).map_err(io("open", layer))?;
        let upper = fs.open_below(opened.as_fd(), Path::new(UPPER), Open::Handle);
        let upper = upper.map_err(io("open", &layer.join(UPPER)))?;
        Ok(Self { fs, run, number, layer: opened, upper, name: name.to_owned() })
    }

    /// Returns the place of the command's file below the run, as long as the run has it.
    ///
    /// # Errors
    /// A failing call.
    pub fn stands(&self) -> std::result::Result<Option<PathBuf>, SyncError> {
        self.place().map_err(io("read", Path::new(STANDS)))
    }

    fn place(&self) -> Result<Option<PathBuf>> {
        match read_all(self.fs, self.layer.as_fd(), Path::new(STANDS)) {
            Err(Errno::NOENT) => Ok(None),
            text => Ok(Some(PathBuf::from(OsString::from_vec(text?)))),
        }
    }

    /// Returns where the command's file is; `None` when the run is over.
    fn own(&self) -> Result<Option<Own>> {
        let Some(path) = self.place()? else { return Ok(None) };
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(Some(Own::Unreachable));
        };
        match self.fs.open_below(self.run, above, Open::Handle) {
            Ok(dir) => Ok(Some(Own::At(dir, name.to_owned()))),
            Err(errno) if is_unreachable(errno) => Ok(Some(Own::Unreachable)),
            Err(errno) => Err(errno),
        }
    }

    /// Returns what both sides held when they were the same last, if that is no larger than `most`
    /// bytes.
    pub fn base(&self, most: u64) -> Option<Vec<u8>> {
        let node = self.look(self.in_layer(BASE)).ok()??;
        let small = node.status.size <= most;
        small.then(|| read_all(self.fs, self.layer.as_fd(), Path::new(BASE)).ok()).flatten()
    }

    /// Returns what the host has in `root`, and what is just being written back, if neither is larger than
    /// `most` bytes.
    pub fn versions(&self, root: BorrowedFd<'_>, most: u64) -> Option<[Vec<u8>; 2]> {
        let read = |dir: BorrowedFd<'_>| {
            let node = self.look(At { dir, name: &self.name }).ok()??;
            let small = node.status.kind == Kind::File && node.status.size <= most;
            small.then(|| read_all(self.fs, dir, Path::new(&self.name)).ok()).flatten()
        };
        Some([read(root)?, read(self.upper.as_fd())?])
    }

    /// Returns whether neither side had a file when both were the same last.
    pub fn had_none(&self) -> bool {
        let is_there = |name| self.look(self.in_layer(name)).is_ok_and(|found| found.is_some());
        is_there(GONE) && !is_there(BASE)
    }

    fn in_layer<'n>(&'n self, name: &'n str) -> At<'n> {
        At { dir: self.layer.as_fd(), name: OsStr::new(name) }
    }

    fn in_upper(&self) -> At<'_> {
        At { dir: self.upper.as_fd(), name: &self.name }
    }

    /// Looks at a name; `None` when nothing is there.
    fn look(&self, at: At<'_>) -> Result<Option<Node>> {
        match self.fs.node(at.dir, at.name) {
            Err(Errno::NOENT) => Ok(None),
            result => result.map(Some),
        }
    }

    fn remove(&self, at: At<'_>) -> Result<()> {
        gone(self.fs.unlink(at.dir, at.name))
    }
}

/// Copies a file as it is at one moment; `None` when it is no file, or changes all the time. A copy
/// opens a file up that its owner can't read: that changes its time of change.
fn copy_at_rest(fs: &dyn Fs, from: At<'_>, to: At<'_>) -> Result<Option<Node>> {
    for _ in 0..TRIES {
        let before = match fs.node(from.dir, from.name) {
            Err(Errno::NOENT) => return Ok(None),
            result => result?,
        };
        if before.status.kind != Kind::File {
            return Ok(None);
        }
        gone(fs.unlink(to.dir, to.name))?;
        copy_leaf(fs, from, to, &before)?;
        let after = fs.node(from.dir, from.name)?.status;
        let (before, opened) = (before, before.status.mode & 0o400 == 0);
        let is_at_rest = after.id == before.status.id
            && (after.size, after.modified) == (before.status.size, before.status.modified)
            && (opened || after.changed == before.status.changed);
        if is_at_rest {
            return Ok(Some(before));
        }
    }
    Ok(None)
}
