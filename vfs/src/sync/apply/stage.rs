//! Staging: new content gets a number on the target's file system.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};

use super::bench::{Bench, name};
use super::copy::{copy_leaf, write_leaf};
use crate::fs::{At, Errno, Fs, Kind, Result};
use crate::sync::collect::io;
use crate::sync::root::{Closed, Root};
use crate::sync::{Place, Seen, SyncError};

/// Brings content of a layer to the stage.
pub(super) struct Stage<'b, 'a> {
    bench: &'b Bench<'a>,
    upper: Root<'b>,
    can_link: bool,
    /// The first number of each inode with several names.
    groups: HashMap<u64, u32>,
}

impl<'b, 'a> Stage<'b, 'a> {
    pub(super) fn new(fs: &'b dyn Fs, bench: &'b Bench<'a>, upper: BorrowedFd<'b>) -> Self {
        let upper = Root::new(fs, upper, Closed::Open);
        Self { bench, upper, can_link: true, groups: HashMap::new() }
    }

    /// Stages what a path gets and returns what it is there.
    pub(super) fn place(
        &mut self,
        fs: &dyn Fs,
        place: &Place,
        number: u32,
    ) -> std::result::Result<Seen, SyncError> {
        let name = name(number);
        let to = At { dir: self.bench.stage(), name: &name };
        let staged = match place.upper.kind {
            Kind::Directory => fs.make_dir(to.dir, to.name, 0o700),
            _ => self.bring(fs, place, number, to),
        };
        let staged = staged.and_then(|()| fs.node(to.dir, to.name));
        let node = staged.map_err(io("stage", &place.path))?;
        Ok(Seen::from(&node))
    }

    pub(super) fn close(&mut self) -> Result<()> {
        self.upper.close()
    }

    fn bring(&mut self, fs: &dyn Fs, place: &Place, number: u32, to: At<'_>) -> Result<()> {
        let (dir, from) = self.upper.above(&place.path)?;
        let from = At { dir: dir.as_fd(), name: from };
        let node = fs.node(from.dir, from.name)?;
        if !Seen::from(&node).is_still(&place.upper) {
            return Err(Errno::STALE);
        }
        if let Some(merged) = &place.merged {
            return write_leaf(fs, from, to, (&node, merged));
        }
        if self.can_link {
            match fs.link(from, to) {
                Err(Errno::XDEV | Errno::PERM | Errno::MLINK) => self.can_link = false,
                result => return result,
            }
        }
        if let Some(first) = place.group.and_then(|ino| self.groups.get(&ino)) {
            let first = super::bench::name(*first);
            return fs.link(At { dir: to.dir, name: &first }, to);
        }
        self.groups.extend(place.group.map(|ino| (ino, number)));
        copy_leaf(fs, from, to, &node)
    }
}
