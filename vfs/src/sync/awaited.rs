//! A place that did not exist when a run began: what the command made there becomes a layer, when no
//! process of the run is left.
//!
//! ```text
//! <layer>/stands        where the command makes it, below the run; gone when it was gathered
//! <layer>/upper/<path>  it, with the directories that lead to it
//! ```
//!
//! The command's directory is no layer of an overlay: no mark in it says what was removed, and what
//! the host has by the end is compared name by name.

#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use super::collect::{io, leads_out};
use super::file::is_unreachable;
use super::root::{Closed, Root};
use super::{Change, ChangeKind, ChangeSet, Refusal, SyncError};
use crate::fs::{At, Errno, Fs, Kind, Open, Result, read_all, write_all};
use crate::tree::remove_tree;

/// Where the command makes it.
const STANDS: &str = "stands";
/// The layer.
const UPPER: &str = "upper";

/// A place below a root that did not exist.
#[derive(Clone, Copy, Debug)]
pub struct Absent<'a> {
    /// The root, as links of the command name it.
    pub root: &'a Path,
    /// The place, below the root.
    pub path: &'a Path,
    /// What may stand there.
    pub kind: Kind,
}

impl Absent<'_> {
    /// Returns whether a link leads out of the place. One may name it by its whole path.
    pub(super) fn leads_out(&self, link: &Path, target: &OsStr) -> bool {
        let Ok(below) = link.strip_prefix(self.path) else { return true };
        if !Path::new(target).is_absolute() {
            return leads_out(below, target);
        }
        let here = self.root.join(self.path);
        let inside = Path::new(target).strip_prefix(here);
        !inside.is_ok_and(|it| it.components().all(|part| matches!(part, Component::Normal(_))))
    }

    /// Leaves out what directories of the host are like, and refuses what is of another kind than
    /// may stand there.
    pub fn narrow(&self, set: &mut ChangeSet) {
        let is_theirs = |it: &Change| {
            it.kind == ChangeKind::Attributes
                && it.node() == Kind::Directory
                && it.refused.is_none()
        };
        set.changes.retain(|change| !is_theirs(change));
        let refusal = match self.kind {
            Kind::Directory => Refusal::NotDirectory,
            _ => Refusal::NotFile,
        };
        let top = set.changes.iter_mut().find(|change| change.path == self.path);
        if let Some(top) = top.filter(|it| it.upper.is_some_and(|seen| seen.kind != self.kind)) {
            top.refused = Some(refusal);
            set.changes.retain(|it| it.path == self.path || !it.path.starts_with(self.path));
        }
    }
}

/// Notes in a layer, which is there with its directories, where a command makes what is awaited.
///
/// # Errors
/// A failing call.
pub fn make_awaited(
    fs: &dyn Fs,
    run: BorrowedFd<'_>,
    (layer, stands): (&Path, &Path),
) -> Result<()> {
    let layer = fs.open_below(run, layer, Open::Handle)?;
    let written = fs.create_file(layer.as_fd(), OsStr::new(STANDS))?;
    write_all(fs, written.as_fd(), stands.as_os_str().as_bytes())
}

/// What is awaited of a run.
pub struct Awaited<'a> {
    fs: &'a dyn Fs,
    run: BorrowedFd<'a>,
    layer: OwnedFd,
    upper: OwnedFd,
    path: &'a Path,
}

impl<'a> Awaited<'a> {
    /// Opens what a run, whose lock is the caller's, has of a place `path` below its root.
    ///
    /// # Errors
    /// A failing call.
    pub fn open(
        fs: &'a dyn Fs,
        run: BorrowedFd<'a>,
        layer: &Path,
        path: &'a Path,
    ) -> std::result::Result<Self, SyncError> {
        let opened = fs.open_below(run, layer, Open::Handle).map_err(io("open", layer))?;
        let upper = fs.open_below(opened.as_fd(), Path::new(UPPER), Open::Handle);
        let upper = upper.map_err(io("open", &layer.join(UPPER)))?;
        Ok(Self { fs, run, layer: opened, upper, path })
    }

    /// Returns where the command makes it, below the run, as long as it was not gathered.
    ///
    /// # Errors
    /// A failing call.
    pub fn stands(&self) -> std::result::Result<Option<PathBuf>, SyncError> {
        match read_all(self.fs, self.layer.as_fd(), Path::new(STANDS)) {
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(io("read", Path::new(STANDS))(errno)),
            Ok(text) => Ok(Some(PathBuf::from(OsString::from_vec(text)))),
        }
    }

    /// Moves what the command made into the layer. Done again, it does nothing. What it moved away,
    /// or put behind a link, is not at the place, and is nobody's.
    ///
    /// # Errors
    /// A failing call; it can be done again.
    pub fn gather(&self) -> std::result::Result<(), SyncError> {
        let Some(place) = self.stands()? else { return Ok(()) };
        self.bring(&place).map_err(io("gather", self.path))?;
        let gone = self.fs.unlink(self.layer.as_fd(), OsStr::new(STANDS));
        gone.map_err(io("gather", self.path))
    }

    fn bring(&self, place: &Path) -> Result<()> {
        // The command may have closed directories.
        let mut run = Root::new(self.fs, self.run, Closed::Open);
        let opened = run.open_up(place.parent().unwrap_or(Path::new("")));
        let brought = match opened {
            Err(errno) if is_unreachable(errno) => Ok(()),
            opened => opened.and_then(|_| self.bring_opened(&mut run, place)),
        };
        brought.and(run.close())
    }

    fn bring_opened(&self, run: &mut Root<'_>, place: &Path) -> Result<()> {
        let (dir, name) = match run.above(place) {
            Err(errno) if is_unreachable(errno) => return Ok(()),
            opened => opened?,
        };
        let own = At { dir: dir.as_fd(), name };
        let found = match self.fs.node(own.dir, own.name) {
            Err(Errno::NOENT) => return Ok(()),
            found => found?.status,
        };
        let way = self.way(run, place)?;
        let name = self.path.file_name().ok_or(Errno::INVAL)?;
        let to = At { dir: way.as_fd(), name };
        if found.kind != Kind::Directory || found.mode & 0o700 == 0o700 {
            return self.fs.rename_new(own, to);
        }
        // A directory that is closed can't be moved.
        self.fs.set_mode_at(own, found.mode | 0o700)?;
        self.fs.rename_new(own, to)?;
        self.fs.set_mode_at(to, found.mode)
    }

    /// Makes the directories of the layer that lead to the place, like those of the command.
    fn way(&self, run: &mut Root<'_>, place: &Path) -> Result<OwnedFd> {
        let depth = self.path.components().count();
        let mut above: Vec<&Path> =
            place.ancestors().skip(1).take(depth.saturating_sub(1)).collect();
        above.reverse();
        let mut at = self.fs.open_below(self.upper.as_fd(), Path::new("."), Open::Handle)?;
        for (name, like) in self.path.iter().zip(above) {
            let like = run.dir(like)?;
            let mode = self.fs.status_of(like.as_fd())?.mode & 0o777 | 0o700;
            match self.fs.make_dir(at.as_fd(), name, 0o700) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
            self.fs.set_mode_at(At { dir: at.as_fd(), name }, mode)?;
            at = self.fs.open_below(at.as_fd(), Path::new(name), Open::Handle)?;
        }
        Ok(at)
    }

    /// The other way: puts what the layer has to where the command finds it, when a run goes on from
    /// an earlier one.
    ///
    /// # Errors
    /// A failing call.
    pub fn spread(&self) -> std::result::Result<(), SyncError> {
        let Some(place) = self.stands()? else { return Ok(()) };
        self.spread_out(&place).map_err(io("go on with", self.path))
    }

    fn spread_out(&self, place: &Path) -> Result<()> {
        let mut upper = Root::new(self.fs, self.upper.as_fd(), Closed::Stay);
        let (from, name) = match upper.above(self.path) {
            Err(Errno::NOENT) => return Ok(()),
            found => found?,
        };
        let from = At { dir: from.as_fd(), name };
        if matches!(self.fs.node(from.dir, from.name), Err(Errno::NOENT)) {
            return Ok(());
        }
        let to = super::single::make_above(self.fs, self.run, place)?;
        let name = place.file_name().ok_or(Errno::INVAL)?;
        self.fs.rename_new(from, At { dir: to.as_fd(), name })?;
        let first = self.path.iter().next().ok_or(Errno::INVAL)?;
        remove_tree(self.fs, self.upper.as_fd(), first).map_err(|left| left.errno)
    }
}
