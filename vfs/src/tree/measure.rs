//! How much of the disk a tree takes.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::fs::{Entry, Errno, FileId, Fs, Kind, Result};

/// Directories of the current path that stay open; deeper ones are reached again by `..`.
const KEPT_OPEN: usize = 64;

/// What a tree takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// Bytes on the disk, by allocated blocks; several names of one file count once.
    pub bytes: u64,
    /// Files, directories and all else.
    pub entries: u64,
    /// Directories that can't be looked into, and names that can't be looked at; what is there is not
    /// counted.
    pub closed: u64,
}

impl std::ops::AddAssign for Measure {
    fn add_assign(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.entries += other.entries;
        self.closed += other.closed;
    }
}

/// Measures `name` and everything below it; nothing there is nothing.
///
/// It follows no link, enters no other mount and changes nothing; what goes away meanwhile is not
/// counted.
///
/// # Errors
/// When the tree is moved away while it is measured.
pub fn measure_tree(fs: &dyn Fs, at: BorrowedFd<'_>, name: &OsStr) -> Result<Measure> {
    let measure = Measure::default();
    let mut walk = Walk { fs, at, levels: Vec::new(), seen: HashSet::new(), measure };
    walk.count(name.to_owned());
    while let Some(level) = walk.levels.last_mut() {
        match level.pending.pop() {
            Some(entry) => walk.count(entry.name),
            None => walk.leave()?,
        }
    }
    Ok(walk.measure)
}

/// One directory on the way down.
struct Level {
    id: FileId,
    /// Closed while the walk is far below.
    dir: Option<OwnedFd>,
    pending: Vec<Entry>,
}

struct Walk<'a> {
    fs: &'a dyn Fs,
    at: BorrowedFd<'a>,
    levels: Vec<Level>,
    seen: HashSet<FileId>,
    measure: Measure,
}

impl Walk<'_> {
    fn count(&mut self, name: OsString) {
        let at = match self.levels.last() {
            None => self.at,
            Some(level) => match &level.dir {
                Some(dir) => dir.as_fd(),
                None => return,
            },
        };
        let status = match self.fs.status(at, &name) {
            Ok(status) => status,
            Err(Errno::NOENT) => return,
            // A directory may be read whose entries may not be looked at.
            Err(_) => {
                self.measure.closed += 1;
                return;
            }
        };
        self.measure.entries += 1;
        if self.seen.insert(status.id) {
            self.measure.bytes = self.measure.bytes.saturating_add(status.allocated);
        }
        if status.kind == Kind::Directory {
            match self.enter(&name) {
                Ok(level) => self.push(level),
                Err(Errno::NOENT) => {}
                Err(_) => self.measure.closed += 1,
            }
        }
    }

    fn enter(&self, name: &OsStr) -> Result<Level> {
        let at = self.levels.last().and_then(|level| level.dir.as_ref());
        let dir = self.fs.open_dir_here(at.map_or(self.at, AsFd::as_fd), name)?;
        let id = self.fs.status_of(dir.as_fd())?.id;
        let pending = self.fs.list(dir.as_fd(), usize::MAX)?;
        Ok(Level { id, dir: Some(dir), pending })
    }

    fn push(&mut self, level: Level) {
        if self.levels.len() >= KEPT_OPEN
            && let Some(above) = self.levels.last_mut()
        {
            above.dir = None;
        }
        self.levels.push(level);
    }

    /// Comes back from a directory, and opens the one above again where that was closed.
    fn leave(&mut self) -> Result<()> {
        let below = self.levels.pop().and_then(|level| level.dir);
        let Some(level) = self.levels.last_mut().filter(|level| level.dir.is_none()) else {
            return Ok(());
        };
        let below = below.ok_or(Errno::BADF)?;
        let dir = self.fs.open_dir(below.as_fd(), OsStr::new(".."))?;
        if self.fs.status_of(dir.as_fd())?.id != level.id {
            return Err(Errno::STALE);
        }
        level.dir = Some(dir);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
