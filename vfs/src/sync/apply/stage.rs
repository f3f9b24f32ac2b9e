//! Staging: new content gets a number on the target's file system, or a place in a staged directory
//! that comes as a whole.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use super::amend::set;
use super::copy::{copy_leaf, write_leaf};
use super::workplace::{Workplace, name};
use crate::fs::{At, Errno, Fs, Kind, Result, is_beyond};
use crate::sync::collect::io;
use crate::sync::root::{Closed, Root};
use crate::sync::{Amend, Operation, Place, Seen, SyncError, SyncPlan};
use crate::tree::remove_tree;

/// What became of a path's content.
pub(super) struct Placed {
    /// What is staged; nothing when it is beyond what the file system can keep.
    pub(super) seen: Option<Seen>,
    /// It is in a directory that comes as a whole.
    pub(super) is_within: bool,
}

/// What became of attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amended {
    /// They are set when all stands.
    Not,
    /// They are set in a directory that comes as a whole.
    Within,
    /// The file system can't keep them.
    Beyond,
}

/// Brings content of a layer to the stage.
pub(super) struct Stage<'b> {
    upper: Root<'b>,
    can_link: bool,
    /// How many names of each inode with several are placed.
    names: HashMap<u64, u32>,
    /// How many of them were made links of the layer's file.
    linked: HashMap<u64, u32>,
    /// The first place of each inode with several names, below the stage.
    groups: HashMap<u64, PathBuf>,
    /// The stage by its paths.
    root: Root<'b>,
    /// Directories that come as a whole, and their places below the stage. What is in them is staged
    /// there.
    whole: BTreeMap<PathBuf, PathBuf>,
}

impl<'b> Stage<'b> {
    /// Stages what a layer has for a plan, by links where that can be and the plan does not want it apart.
    pub(super) fn new(
        fs: &'b dyn Fs,
        workplace: &'b Workplace<'_>,
        (upper, plan): (BorrowedFd<'b>, &SyncPlan),
    ) -> Self {
        Self {
            upper: Root::new(fs, upper, Closed::Open),
            can_link: !plan.apart,
            names: names(plan),
            linked: HashMap::new(),
            groups: HashMap::new(),
            root: Root::new(fs, workplace.stage(), Closed::Stay),
            whole: BTreeMap::new(),
        }
    }

    /// Has what is placed in a staged directory from now on be staged in it.
    pub(super) fn begin_whole(&mut self, path: &Path, number: u32) {
        self.whole.insert(path.to_owned(), PathBuf::from(name(number)));
    }

    /// Returns the place in a directory that comes as a whole, below the stage.
    fn within(&self, path: &Path) -> Option<PathBuf> {
        // None of them is in another: what is in one comes right after it.
        let before = (Bound::Unbounded, Bound::Excluded(path));
        let (top, staged) = self.whole.range::<Path, _>(before).next_back()?;
        path.strip_prefix(top).ok().map(|below| staged.join(below))
    }

    /// Stages what a path gets.
    pub(super) fn place(
        &mut self,
        fs: &dyn Fs,
        place: &Place,
        number: u32,
    ) -> std::result::Result<Placed, SyncError> {
        let within = self.within(&place.path);
        let is_within = within.is_some();
        let path = within.unwrap_or_else(|| PathBuf::from(name(number)));
        let staged = match self.stage(fs, place, &path) {
            Err(errno) if is_beyond(errno) => self.unstage(fs, &path).map(|()| None),
            staged => staged.map(Some),
        };
        let seen = staged.map_err(io("stage", &place.path))?;
        Ok(Placed { seen, is_within })
    }

    /// Removes what was begun.
    fn unstage(&mut self, fs: &dyn Fs, path: &Path) -> Result<()> {
        let (dir, name) = self.root.above(path)?;
        remove_tree(fs, dir.as_fd(), name).map_err(|left| left.errno)
    }

    fn stage(&mut self, fs: &dyn Fs, place: &Place, path: &Path) -> Result<Seen> {
        let (dir, name) = self.root.above(path)?;
        let to = At { dir: dir.as_fd(), name };
        match place.upper.kind {
            Kind::Directory => fs.make_dir(to.dir, to.name, 0o700)?,
            _ => self.bring(fs, place, path, to)?,
        }
        fs.node(to.dir, to.name).map(|node| Seen::from(&node))
    }

    /// Sets attributes of a new directory in one that comes as a whole.
    pub(super) fn amend(
        &mut self,
        fs: &dyn Fs,
        amend: &Amend,
        on: Option<Seen>,
    ) -> std::result::Result<Amended, SyncError> {
        let within = self.within(&amend.path).filter(|_| amend.host.is_none());
        let (Some(path), Some(on)) = (within, on) else { return Ok(Amended::Not) };
        let amended = self
            .root
            .above(&path)
            .and_then(|(dir, name)| set(fs, At { dir: dir.as_fd(), name }, &on, &amend.after));
        match amended {
            Err(errno) if is_beyond(errno) => Ok(Amended::Beyond),
            amended => amended.map(|()| Amended::Within).map_err(io("stage", &amend.path)),
        }
    }

    pub(super) fn close(&mut self) -> Result<()> {
        self.upper.close()
    }

    fn bring(&mut self, fs: &dyn Fs, place: &Place, path: &Path, to: At<'_>) -> Result<()> {
        let (dir, from) = self.upper.above(&place.path)?;
        let from = At { dir: dir.as_fd(), name: from };
        let node = match fs.node(from.dir, from.name) {
            // Its directory is closed itself, which its handle does not tell.
            Err(Errno::ACCESS) => {
                self.upper.open_up(place.path.parent().unwrap_or(Path::new("")))?;
                fs.node(from.dir, from.name)?
            }
            result => result?,
        };
        if !Seen::from(&node).is_still(&place.upper) {
            return Err(Errno::STALE);
        }
        if let Some(merged) = &place.merged {
            return write_leaf(fs, from, to, (&node, merged));
        }
        if self.can_link && self.is_whole(place, node.links) {
            match fs.link(from, to) {
                Err(Errno::XDEV | Errno::PERM | Errno::MLINK) => self.can_link = false,
                result => return result.map(|()| self.note_link(place)),
            }
        }
        if let Some(first) = place.group.and_then(|ino| self.groups.get(&ino)) {
            let (dir, name) = self.root.above(first)?;
            return fs.link(At { dir: dir.as_fd(), name }, to);
        }
        copy_leaf(fs, from, to, &node)?;
        self.groups.extend(place.group.map(|ino| (ino, path.to_owned())));
        Ok(())
    }

    /// Whether all names of the layer's file are placed. What waits must not change with what is written back, nor the
    /// other way round.
    fn is_whole(&self, place: &Place, links: u32) -> bool {
        let count =
            |known: &HashMap<u64, u32>| place.group.and_then(|ino| known.get(&ino).copied());
        links.saturating_sub(count(&self.linked).unwrap_or(0)) <= count(&self.names).unwrap_or(1)
    }

    fn note_link(&mut self, place: &Place) {
        if let Some(ino) = place.group {
            *self.linked.entry(ino).or_default() += 1;
        }
    }
}

/// Counts the places of each inode with several names.
fn names(plan: &SyncPlan) -> HashMap<u64, u32> {
    let mut names = HashMap::new();
    for operation in &plan.operations {
        if let Operation::Place(Place { group: Some(ino), .. }) = operation {
            *names.entry(*ino).or_default() += 1;
        }
    }
    names
}
