//! Taking out of an overlay's upper layer what nobody needs there any more.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use crate::fs::{At, Entry, Errno, FileId, Fs, Kind, Result, Status};
use crate::tree::remove_tree;

/// Directories of the current path that stay open; deeper ones are reached again by `..`.
const KEPT_OPEN: usize = 64;
/// What a directory's owner needs to list it and to name things in it.
const OPEN: u32 = 0o700;
/// The mark of a directory that hides the one below it.
const OPAQUE: &str = "user.overlay.opaque";

/// What stays in a layer.
#[derive(Clone, Debug, Default)]
pub struct Needed {
    /// The paths that stay, with the directories that lead there.
    pub paths: BTreeSet<PathBuf>,
    /// Directories that both sides have, each with the names there that are to be hidden still: a
    /// whiteout for each takes the place of a mark that hides all, there or above.
    pub hiding: BTreeMap<PathBuf, Vec<OsString>>,
}

impl Needed {
    fn has_below(&self, path: &Path) -> bool {
        let from = (std::ops::Bound::Excluded(path), std::ops::Bound::Unbounded);
        self.paths.range::<Path, _>(from).next().is_some_and(|it| it.starts_with(path))
    }
}

/// Removes all that is not needed of a layer, whose times and bits stay as they are. Done twice,
/// or begun and done later, it is as done once.
///
/// # Errors
/// The first call that fails; what was not reached is still there.
pub fn prune_layer(fs: &dyn Fs, upper: BorrowedFd<'_>, needed: &Needed) -> Result<()> {
    // A mark hides what is deeper, too. So all names are hidden before the first mark goes, and a
    // mark goes before what stands below it, whoever may die in between.
    if needed.hiding.values().any(|names| !names.is_empty()) {
        walk(fs, upper, (needed, Pass::Hide))?;
    }
    walk(fs, upper, (needed, Pass::Remove))
}

/// What is done on one way through a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// Names are hidden one by one that a mark hides.
    Hide,
    /// The marks go, and what is not needed.
    Remove,
}

fn walk(fs: &dyn Fs, upper: BorrowedFd<'_>, (needed, pass): (&Needed, Pass)) -> Result<()> {
    let mut pruning = Pruning { fs, needed, pass, path: PathBuf::new(), levels: Vec::new() };
    pruning.enter(upper, OsStr::new("."))?;
    let pruned = pruning.run();
    while !pruning.levels.is_empty() {
        // The error that counts is the first.
        let _ = pruning.leave();
    }
    pruned
}

/// One directory on the way down.
struct Level {
    status: Status,
    id: FileId,
    /// Closed while the walk is far below.
    dir: Option<OwnedFd>,
    pending: Vec<Entry>,
}

struct Pruning<'a> {
    fs: &'a dyn Fs,
    needed: &'a Needed,
    pass: Pass,
    path: PathBuf,
    levels: Vec<Level>,
}

impl Pruning<'_> {
    fn run(&mut self) -> Result<()> {
        while let Some(level) = self.levels.last_mut() {
            match level.pending.pop() {
                Some(entry) => self.prune(&entry.name)?,
                None => self.leave()?,
            }
        }
        Ok(())
    }

    fn prune(&mut self, name: &OsStr) -> Result<()> {
        let dir = self.levels.last().and_then(|level| level.dir.as_ref()).ok_or(Errno::BADF)?;
        let path = self.path.join(name);
        let has_below = self.needed.has_below(&path);
        if !has_below && !self.needed.paths.contains(&path) {
            return match self.pass {
                Pass::Hide => Ok(()),
                Pass::Remove => remove_tree(self.fs, dir.as_fd(), name).map_err(|left| left.errno),
            };
        }
        if self.fs.node(dir.as_fd(), name)?.status.kind != Kind::Directory {
            return Ok(());
        }
        let dir = dir.try_clone().map_err(|_| Errno::MFILE)?;
        self.enter(dir.as_fd(), name)?;
        self.path = path;
        if self.levels.len() > KEPT_OPEN {
            let above = self.levels.len() - 2;
            self.levels.get_mut(above).map(|level| level.dir.take());
        }
        Ok(())
    }

    fn enter(&mut self, at: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
        let status = self.fs.node(at, name)?.status;
        if status.mode & OPEN != OPEN {
            self.fs.set_dir_mode(at, name, status.mode | OPEN)?;
        }
        let dir = self.fs.open_dir_here(at, name)?;
        let id = self.fs.status_of(dir.as_fd())?.id;
        let path = if name == "." { PathBuf::new() } else { self.path.join(name) };
        self.settle_mark(dir.as_fd(), &path)?;
        let pending = self.fs.list(dir.as_fd(), usize::MAX)?;
        self.levels.push(Level { status, id, dir: Some(dir), pending });
        Ok(())
    }

    fn settle_mark(&self, dir: BorrowedFd<'_>, path: &Path) -> Result<()> {
        match (self.pass, self.needed.hiding.get(path)) {
            (Pass::Hide, Some(hidden)) => hide_by_name(self.fs, dir, hidden),
            (Pass::Remove, Some(_)) => unmark(self.fs, dir),
            (Pass::Hide | Pass::Remove, None) => Ok(()),
        }
    }

    /// Comes back from a directory, which gets its bits and times again.
    fn leave(&mut self) -> Result<()> {
        let Some(Level { status, dir, .. }) = self.levels.pop() else { return Ok(()) };
        self.path.pop();
        let dir = dir.ok_or(Errno::BADF)?;
        if let Some(above) = self.levels.last_mut().filter(|level| level.dir.is_none()) {
            let up = self.fs.open_dir(dir.as_fd(), OsStr::new(".."))?;
            if self.fs.status_of(up.as_fd())?.id != above.id {
                return Err(Errno::STALE);
            }
            above.dir = Some(up);
        }
        self.fs.set_times(dir.as_fd(), &status)?;
        if status.mode & OPEN == OPEN { Ok(()) } else { self.fs.set_mode(dir.as_fd(), status.mode) }
    }
}

/// Hides names that the host has, which may be hidden already.
fn hide_by_name(fs: &dyn Fs, dir: BorrowedFd<'_>, hidden: &[OsString]) -> Result<()> {
    for name in hidden {
        match fs.make_whiteout(dir, name) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Takes the mark away that hides all names of the host.
fn unmark(fs: &dyn Fs, dir: BorrowedFd<'_>) -> Result<()> {
    let here = At { dir, name: OsStr::new(".") };
    let attributes = fs.attributes(here)?;
    if !attributes.iter().any(|(name, value)| name == OPAQUE && value == b"y") {
        return Ok(());
    }
    fs.remove_attribute(here, OsStr::new(OPAQUE))
}

#[cfg(test)]
mod tests;
