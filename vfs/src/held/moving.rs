//! How an entry gets from the tree to the layer.

use std::collections::BTreeSet;
use std::os::fd::AsFd;

use super::COPIED_AT_ONCE;
use super::{Pace, Taken};
use crate::fs::{At, Errno, FileId, Fs, Kind, Result};
use crate::opening::OpenedUp;
use crate::sync::root::Closed;
use crate::tree::{copy_tree, measure_tree, remove_tree};

/// Removes what an entry takes the place of, unless that is, or holds, what is kept.
pub(super) fn clear(fs: &dyn Fs, kept: &BTreeSet<FileId>, at: At<'_>) -> Result<()> {
    if holds(fs, kept, at)? {
        return Err(Errno::EXIST);
    }
    remove_tree(fs, at.dir, at.name).map_err(|left| left.errno)
}

/// Whether an entry is, or holds, what is kept.
pub(super) fn holds(fs: &dyn Fs, kept: &BTreeSet<FileId>, at: At<'_>) -> Result<bool> {
    if kept.is_empty() { Ok(false) } else { holds_below(fs, kept, at, 0) }
}

fn holds_below(fs: &dyn Fs, kept: &BTreeSet<FileId>, at: At<'_>, depth: usize) -> Result<bool> {
    let found = match fs.status(at.dir, at.name) {
        Err(Errno::NOENT) => return Ok(false),
        found => found?,
    };
    if kept.contains(&found.id) || depth > DEPTH {
        return Ok(true);
    }
    if found.kind != Kind::Directory {
        return Ok(false);
    }
    let _opened = OpenedUp::at(fs, at);
    let directory = fs.open_dir(at.dir, at.name)?;
    for entry in fs.list(directory.as_fd(), usize::MAX)? {
        let below = At { dir: directory.as_fd(), name: &entry.name };
        if holds_below(fs, kept, below, depth + 1)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The most directories one below the other in which two entries of one name are merged.
const DEPTH: usize = 64;

/// How entries are moved.
#[derive(Clone, Copy)]
pub(super) struct Moving<'a> {
    pub(super) fs: &'a dyn Fs,
    pub(super) pace: Pace,
    /// What becomes of directories whose bits keep their owner out, or from moving them.
    pub(super) closed: Closed,
    /// What stays in the layer.
    pub(super) kept: &'a BTreeSet<FileId>,
}

impl<'a> Moving<'a> {
    /// Moves an entry, by a copy where the layer is elsewhere and `depth` says that it is below one.
    pub(super) fn entry(&self, from: At<'_>, to: At<'_>, depth: usize) -> Result<Taken> {
        match self.rename(from, to) {
            Ok(()) => Ok(Taken::Held),
            Err(Errno::NOENT) => Ok(Taken::Gone),
            Err(Errno::XDEV) if depth > 0 => self.copy(from, to, depth),
            Err(Errno::EXIST) if depth < DEPTH && self.are_directories(from, to) => {
                self.merge(from, to, depth)
            }
            Err(Errno::EXIST) => {
                clear(self.fs, self.kept, to)?;
                self.rename(from, to).map(|()| Taken::Held)
            }
            Err(errno) => Err(errno),
        }
    }

    /// A directory gets another parent, which is written into it.
    fn rename(&self, from: At<'_>, to: At<'_>) -> Result<()> {
        let _opened = self.open(from);
        self.fs.rename_new(from, to)
    }

    fn open(&self, at: At<'_>) -> Option<OpenedUp<'a>> {
        (self.closed == Closed::Open).then(|| OpenedUp::at(self.fs, at)).flatten()
    }

    fn are_directories(&self, one: At<'_>, other: At<'_>) -> bool {
        let found = |it: At<'_>| self.fs.status(it.dir, it.name);
        let is_one = |it: At<'_>| found(it).is_ok_and(|found| found.kind == Kind::Directory);
        is_one(one) && is_one(other)
    }

    /// Takes what a directory holds into one that was taken before.
    fn merge(&self, from: At<'_>, to: At<'_>, depth: usize) -> Result<Taken> {
        let _opened = [self.open(from), self.open(to)];
        let fs = self.fs;
        let here = fs.open_dir_here(from.dir, from.name)?;
        let there = fs.open_dir(to.dir, to.name)?;
        let mut all = Taken::Held;
        for entry in fs.list(here.as_fd(), usize::MAX)? {
            let (from, to) = (
                At { dir: here.as_fd(), name: &entry.name },
                At { dir: there.as_fd(), name: &entry.name },
            );
            if self.entry(from, to, depth + 1)? == Taken::Later {
                all = Taken::Later;
            }
        }
        match fs.remove_dir(from.dir, from.name) {
            // More came meanwhile.
            Err(Errno::NOTEMPTY) => Ok(Taken::Later),
            removed => removed.map(|()| all),
        }
    }

    /// Copies an entry to a layer on another file system, and takes it away then.
    pub(super) fn copy(&self, from: At<'_>, to: At<'_>, depth: usize) -> Result<Taken> {
        let fs = self.fs;
        if fs.status(from.dir, from.name).is_err_and(|errno| errno == Errno::NOENT) {
            return Ok(Taken::Gone);
        }
        if fs.status(to.dir, to.name).is_ok() {
            if depth < DEPTH && self.are_directories(from, to) {
                return self.merge(from, to, depth);
            }
            clear(fs, self.kept, to)?;
        }
        if self.pace == Pace::AtOnce && self.bytes(from)? > COPIED_AT_ONCE {
            return Ok(Taken::Later);
        }
        copy_tree(fs, from, to).map_err(|error| {
            // A part of it would be taken for what was held.
            drop(remove_tree(fs, to.dir, to.name));
            error.errno
        })?;
        remove_tree(fs, from.dir, from.name).map_err(|left| left.errno)?;
        Ok(Taken::Held)
    }

    fn bytes(&self, at: At<'_>) -> Result<u64> {
        let found = self.fs.status(at.dir, at.name)?;
        if found.kind == Kind::Directory {
            return measure_tree(self.fs, at.dir, at.name).map(|it| it.bytes);
        }
        // Blocks behind the end are not copied.
        Ok(found.allocated.min(found.size))
    }
}
