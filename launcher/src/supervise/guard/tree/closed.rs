//! Directories that the command closed to their owner: what is in them is looked at when it is over,
//! and they are as closed then as they were.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use endow_vfs::fs::{Fs, Kind, Open, OsFs, Status};
use endow_vfs::names::is_looked_into;
use rustix::io::Errno;
use rustix::process::getuid;

use super::Tree;
use crate::plan::host::Noted;

/// The most walks of a tree, each of which tells of a thousand closed directories.
const WALKS: usize = 8;
/// What an owner needs to list a directory, and to look at what is in it.
const LOOK: u32 = 0o500;
/// What an owner needs to name things in a directory.
const SEARCH: u32 = 0o100;

impl Tree {
    /// Walks the whole mount; where directories were closed since the run began, again.
    pub(in crate::supervise::guard) fn look_whole(
        &mut self,
        walk: &dyn Fn() -> Option<Noted>,
    ) -> Option<Noted> {
        self.is_over = true;
        // A walk begins at the root.
        drop(self.directory(Path::new("")));
        let mut noted = walk()?;
        for _ in 1..WALKS {
            if noted.closed.iter().filter(|path| self.open_all(path)).count() == 0 {
                break;
            }
            noted = walk()?;
        }
        Some(noted)
    }

    /// Notes what a walk could not look into, of what the command may have named things in.
    pub(in crate::supervise::guard) fn note_missed(&mut self, noted: Option<&Noted>) {
        let Some(noted) = noted else { return self.missed.unsearched(Path::new("")) };
        let is_of_command = |path: &&PathBuf| {
            self.closed_at(path).is_some_and(|(_, found)| self.is_closed_by_command(&found))
        };
        let closed = noted.closed.iter().filter(is_of_command);
        let unsearched: Vec<PathBuf> = closed.chain(&noted.missed).cloned().collect();
        for path in &unsearched {
            self.missed.unsearched(path);
        }
        self.unsearched = unsearched;
    }

    /// Opens a directory and all in it that a walk looks into; returns whether there was something to do.
    fn open_all(&self, path: &Path) -> bool {
        if !self.opens(path) {
            return false;
        }
        let mut pending = vec![path.to_owned()];
        while let Some(path) = pending.pop() {
            let Ok(opened) = self.directory(&path) else { continue };
            let entries = OsFs.list(opened.as_fd(), usize::MAX).unwrap_or_default();
            let inner = entries.into_iter().filter(|entry| entry.kind == Some(Kind::Directory));
            let inner = inner.map(|entry| path.join(entry.name));
            pending.extend(inner.filter(|path| is_looked_into(path)));
        }
        true
    }

    /// Opens a directory up when that is what keeps its owner out; returns whether it did.
    pub(super) fn opens_up(&self, path: &Path, opened: &Result<OwnedFd, Errno>) -> bool {
        let is_closed = match opened {
            Ok(directory) => OsFs.status_of(directory.as_fd()).is_ok_and(|found| is_closed(&found)),
            Err(errno) => *errno == Errno::ACCESS,
        };
        is_closed && self.opens(path)
    }

    /// Opens what the command closed of a directory and those above it.
    fn opens(&self, path: &Path) -> bool {
        let mut is_any = false;
        while let Some((closed, found)) = self.closed_at(path)
            && self.is_closed_by_command(&found)
            && self.held.open_up(&OsFs, &closed).is_ok()
        {
            is_any = true;
        }
        is_any
    }

    /// Returns the first closed directory on the way to one.
    fn closed_at(&self, path: &Path) -> Option<(PathBuf, Status)> {
        let mut way: Vec<&Path> = path.ancestors().collect();
        way.reverse();
        for path in way {
            let found = self.status(path)?;
            if found.kind == Kind::Directory && is_closed(&found) {
                return Some((path.to_owned(), found));
            }
        }
        None
    }

    fn status(&self, path: &Path) -> Option<Status> {
        let root = self.held.root();
        let Some((above, name)) = path.parent().zip(path.file_name()) else {
            return OsFs.status_of(root).ok();
        };
        let above = OsFs.open_below(root, above, Open::Handle).ok()?;
        OsFs.status(above.as_fd(), name).ok()
    }

    /// What the user closed before the run is the user's, and was so for the command; but in one that
    /// can't be listed it could name things.
    fn is_closed_by_command(&self, found: &Status) -> bool {
        let is_used = found.mode & SEARCH != 0;
        found.uid == getuid().as_raw() && (is_used || self.is_young(found))
    }
}

fn is_closed(found: &Status) -> bool {
    found.mode & LOOK != LOOK
}
