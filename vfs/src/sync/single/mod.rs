//! A single file that is mounted copy-on-write: the command has a copy of it, which reaches the
//! host whenever it was closed, and follows what changes there.
//!
//! ```text
//! <layer>/stands         where the command's file is, below the run; gone when the run is over
//! <layer>/own/<name>     it, when no private directory holds it
//! <layer>/base           what both sides held when they were the same last
//! <layer>/upper/<name>   what is just written back, or waits: a layer like that of a directory
//! ```
//!
//! The command's file and the base are equal unless the command changed it; whether the host
//! changed its own is told as for every other file, by the run's start and the ledger. Each step is
//! made in an order in which a process that is killed in between leaves what counts as a change of
//! the command's with the host's own content, which is none.

mod compare;
mod fold;
mod gather;
mod make;
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
use crate::fs::{At, Errno, Fs, Kind, Node, Open, Result, read_all};

pub use make::make_single;
pub use snapshot::Ours;
pub use take_in::{Alone, TakenIn};

/// Where the file is that the command has.
const STANDS: &str = "stands";
/// What both sides held when they were the same last.
const BASE: &str = "base";
/// What takes the place of the base when it was written back.
const NEXT: &str = "base.new";
/// The host's version on its way in.
const INCOMING: &str = "incoming";
/// The layer.
const UPPER: &str = "upper";
/// What tells that the host had the file, as overlayfs marks what it copied.
const ORIGIN: &str = "user.overlay.origin";
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
struct Own {
    dir: OwnedFd,
    name: OsString,
}

impl Own {
    fn at(&self) -> At<'_> {
        At { dir: self.dir.as_fd(), name: &self.name }
    }
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

    /// Returns where the command's file is; `None` when the run is over, or its directory is gone.
    fn own(&self) -> Result<Option<Own>> {
        let text = match read_all(self.fs, self.layer.as_fd(), Path::new(STANDS)) {
            Err(Errno::NOENT) => return Ok(None),
            result => result?,
        };
        let path = PathBuf::from(OsString::from_vec(text));
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        match self.fs.open_below(self.run, above, Open::Handle) {
            Ok(dir) => Ok(Some(Own { dir, name: name.to_owned() })),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
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

    /// Gives the layer the time of the directory that it stands above: names come and go in the
    /// layer for reasons of our own.
    fn like(&self, root: BorrowedFd<'_>) -> Result<()> {
        let status = self.fs.status_of(root)?;
        self.fs.set_times_at(self.layer.as_fd(), OsStr::new(UPPER), &status)
    }

    /// Marks a file of the layer as one that the host had.
    fn mark(&self) -> Result<()> {
        if self.look(self.in_layer(BASE))?.is_none() {
            return Ok(());
        }
        let at = self.in_upper();
        match self.fs.set_attribute(at, OsStr::new(ORIGIN), b"") {
            Err(Errno::ACCESS) => {
                let mode = self.fs.node(at.dir, at.name)?.status.mode;
                self.fs.set_mode_at(at, mode | 0o200)?;
                let set = self.fs.set_attribute(at, OsStr::new(ORIGIN), b"");
                self.fs.set_mode_at(at, mode)?;
                set
            }
            result => result,
        }
    }
}

/// Copies a file as it is at one moment; `None` when it is no file, or changes all the time.
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
        let mut plain = before;
        plain.status.mode &= 0o777;
        copy_leaf(fs, from, to, &plain)?;
        let after = fs.node(from.dir, from.name)?;
        if after.status.id == before.status.id && after.status.changed == before.status.changed {
            return Ok(Some(before));
        }
    }
    Ok(None)
}

fn gone(result: Result<()>) -> Result<()> {
    match result {
        Err(Errno::NOENT) => Ok(()),
        result => result,
    }
}
