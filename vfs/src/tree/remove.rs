//! Removal of a tree that a hostile command may have made.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use crate::fs::{Entry, Errno, FileId, Fs, Kind, Result};

/// Directories of the current path that stay open; deeper ones are reached again by `..`.
const KEPT_OPEN: usize = 64;
/// Names taken from a directory at once.
const BATCH: usize = 1024;
/// How often something that appears while it is removed is tried again, in the whole tree.
const RETRIES: usize = 64;

/// Why something of a tree is still there.
#[derive(Debug, thiserror::Error)]
#[error("can't remove: {}", path.display())]
pub struct RemoveError {
    /// The first thing that stayed, below the directory the tree was removed from.
    pub path: PathBuf,
    /// How many names stayed for a reason of their own.
    pub left: usize,
    /// What the kernel said.
    #[source]
    pub errno: Errno,
}

/// Removes `name` and everything below it; nothing there is a success.
///
/// It never follows a link, never enters another mount, opens directories that are closed
/// to their owner, holds a bounded number of descriptors and goes on after an error.
///
/// # Errors
/// The first name that can't be removed; all that can be removed is.
pub fn remove_tree(
    fs: &dyn Fs,
    at: BorrowedFd<'_>,
    name: &OsStr,
) -> std::result::Result<(), RemoveError> {
    // An empty directory or nothing at all, the usual case, is one call.
    match fs.remove_dir(at, name) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(_) => {}
    }
    let mut removal = Removal { fs, at, levels: Vec::new(), failure: None, retries: 0 };
    removal.remove(Entry { name: name.to_owned(), kind: None });
    while !removal.levels.is_empty() {
        removal.step();
    }
    removal.failure.map_or(Ok(()), Err)
}

/// One directory on the way down.
struct Level {
    name: OsString,
    id: FileId,
    /// Closed while the removal is far below.
    dir: Option<OwnedFd>,
    pending: Vec<Entry>,
    /// No further names were there when it was listed.
    is_read: bool,
    stuck: HashSet<OsString>,
}

struct Removal<'a> {
    fs: &'a dyn Fs,
    at: BorrowedFd<'a>,
    levels: Vec<Level>,
    failure: Option<RemoveError>,
    retries: usize,
}

impl Removal<'_> {
    fn step(&mut self) {
        let Some(level) = self.levels.last_mut() else { return };
        if let Some(entry) = level.pending.pop() {
            return self.remove(entry);
        }
        if level.is_read {
            return self.leave();
        }
        match self.refill() {
            Ok(0) => self.leave(),
            Ok(_) => {}
            Err(errno) => {
                self.fail(None, errno);
                self.leave();
            }
        }
    }

    fn refill(&mut self) -> Result<usize> {
        let Some(level) = self.levels.last_mut() else { return Ok(0) };
        let dir = level.dir.as_ref().ok_or(Errno::BADF)?;
        let limit = BATCH + level.stuck.len();
        level.pending = self.fs.list(dir.as_fd(), limit)?;
        level.is_read = level.pending.len() < limit;
        level.pending.retain(|entry| !level.stuck.contains(&entry.name));
        Ok(level.pending.len())
    }

    fn remove(&mut self, entry: Entry) {
        match self.try_remove(&entry) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) => self.enter(entry.name),
            Err(errno) => self.fail(Some(entry.name), errno),
        }
    }

    fn try_remove(&self, entry: &Entry) -> Result<()> {
        match self.try_remove_as(entry) {
            Err(Errno::ACCESS | Errno::PERM) if self.unlock() => self.try_remove_as(entry),
            result => result,
        }
    }

    fn try_remove_as(&self, entry: &Entry) -> Result<()> {
        let at = self.current()?;
        if matches!(entry.kind, Some(Kind::Directory) | None) {
            match self.fs.remove_dir(at, &entry.name) {
                Err(Errno::NOTDIR) => {}
                result => return result,
            }
        }
        match self.fs.unlink(at, &entry.name) {
            Err(Errno::ISDIR) => self.fs.remove_dir(at, &entry.name),
            result => result,
        }
    }

    /// Opens the current directory to its owner; the place of the tree itself is left alone.
    fn unlock(&self) -> bool {
        let Some(Level { dir: Some(dir), .. }) = self.levels.last() else { return false };
        self.fs.set_mode(dir.as_fd(), 0o700).is_ok()
    }

    fn enter(&mut self, name: OsString) {
        match self.open(&name) {
            Ok((dir, id)) => self.push(name, id, dir),
            Err(Errno::NOENT) => {}
            Err(errno) => self.fail(Some(name), errno),
        }
    }

    fn open(&self, name: &OsStr) -> Result<(OwnedFd, FileId)> {
        let at = self.current()?;
        let dir = match self.fs.open_dir_here(at, name) {
            Err(Errno::ACCESS) => {
                self.fs.set_dir_mode(at, name, 0o700)?;
                self.fs.open_dir_here(at, name)?
            }
            result => result?,
        };
        let id = self.fs.status_of(dir.as_fd())?.id;
        Ok((dir, id))
    }

    fn push(&mut self, name: OsString, id: FileId, dir: OwnedFd) {
        if self.levels.len() >= KEPT_OPEN
            && let Some(above) = self.levels.last_mut()
        {
            above.dir = None;
        }
        let (pending, stuck) = (Vec::new(), HashSet::new());
        self.levels.push(Level { name, id, dir: Some(dir), pending, is_read: false, stuck });
    }

    fn leave(&mut self) {
        let Some(level) = self.levels.pop() else { return };
        if let Err(errno) = self.reopen(level.dir) {
            // Somebody moved the tree away while it was removed: nothing below is certain.
            self.fail(None, errno);
            self.levels.clear();
            return;
        }
        if level.stuck.is_empty() {
            self.remove_left(level.name);
        } else {
            self.stick(level.name);
        }
    }

    /// Makes sure that the last level is open, coming back from a directory below it.
    fn reopen(&mut self, below: Option<OwnedFd>) -> Result<()> {
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        if level.dir.is_some() {
            return Ok(());
        }
        let below = below.ok_or(Errno::BADF)?;
        let dir = match self.fs.open_dir(below.as_fd(), OsStr::new("..")) {
            Err(Errno::ACCESS) => {
                self.fs.set_mode(below.as_fd(), 0o700)?;
                self.fs.open_dir(below.as_fd(), OsStr::new(".."))?
            }
            result => result?,
        };
        if self.fs.status_of(dir.as_fd())?.id != level.id {
            return Err(Errno::STALE);
        }
        level.dir = Some(dir);
        Ok(())
    }

    /// Removes a directory that was emptied; a name that came meanwhile is one more try.
    fn remove_left(&mut self, name: OsString) {
        let entry = Entry { name, kind: Some(Kind::Directory) };
        match self.try_remove(&entry) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) if self.retries < RETRIES => {
                self.retries += 1;
                self.enter(entry.name);
            }
            Err(errno) => self.fail(Some(entry.name), errno),
        }
    }

    fn current(&self) -> Result<BorrowedFd<'_>> {
        match self.levels.last() {
            None => Ok(self.at),
            Some(level) => level.dir.as_ref().map(AsFd::as_fd).ok_or(Errno::BADF),
        }
    }

    /// Notes that `name`, or the current directory itself, stays.
    fn fail(&mut self, name: Option<OsString>, errno: Errno) {
        let mut path: PathBuf = self.levels.iter().map(|level| &level.name).collect();
        path.extend(name.as_ref());
        let failure = self.failure.get_or_insert(RemoveError { path, left: 0, errno });
        failure.left += 1;
        self.stick(name.unwrap_or_else(|| OsString::from(".")));
    }

    fn stick(&mut self, name: OsString) {
        if let Some(level) = self.levels.last_mut() {
            level.stuck.insert(name);
        }
    }
}

#[cfg(test)]
mod tests;
