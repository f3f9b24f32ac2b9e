//! The queue of what happens in the watched directories of all live mounts.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::ProtectSet;
use rustix::fs::inotify::{self, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::super::news::HeldName;
use super::Tree;

/// The most directories that are watched in all mounts: the kernel counts them for each user.
const WATCHES: usize = 1024;

/// The kernel's news of watched directories.
#[derive(Debug)]
pub(in super::super) struct Queue {
    watches: OwnedFd,
    /// The tree of each, and its path there.
    places: BTreeMap<i32, (usize, PathBuf)>,
    /// The command is over: nothing more is watched.
    pub(super) is_over: bool,
}

impl Queue {
    pub(in super::super) fn new(watches: OwnedFd) -> Self {
        Self { watches, places: BTreeMap::new(), is_over: false }
    }

    pub(in super::super) fn descriptor(&self) -> &OwnedFd {
        &self.watches
    }

    /// Watches a directory; with what is written into files, where those can steer git.
    pub(super) fn add(
        &mut self,
        directory: &OwnedFd,
        tree: usize,
        path: &Path,
        is_written: bool,
    ) -> Result<(), Errno> {
        if self.is_over || self.places.len() >= WATCHES {
            return Ok(());
        }
        let mut flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        if is_written {
            flags |= WatchFlags::MODIFY;
        }
        let by_number = format!("/proc/self/fd/{}", directory.as_raw_fd());
        let watch = inotify::add_watch(&self.watches, by_number, flags)?;
        self.places.insert(watch, (tree, path.to_owned()));
        Ok(())
    }

    /// Whether directories may be watched that lead to nothing yet: half of all watches are for those that do.
    pub(super) fn has_room(&self) -> bool {
        self.is_over || self.places.len() < WATCHES / 2
    }

    /// Watches no more what was taken away, whoever goes on there: there are only so many.
    pub(super) fn forget(&mut self, tree: usize, path: &Path) {
        let is_below = |(of, place): &(usize, PathBuf)| *of == tree && place.starts_with(path);
        for (watch, _) in self.places.extract_if(.., |_, place| is_below(place)) {
            // One whose directory was removed is gone already.
            let _ = inotify::remove_watch(&self.watches, watch);
        }
    }

    /// Looks at every name that has come into being since the last call; each tree has its patterns.
    pub(in super::super) fn look(
        &mut self,
        trees: &mut [Tree],
        protects: &[ProtectSet],
        held: &mut dyn FnMut(&HeldName),
    ) {
        while let Some((names, is_full)) = self.read() {
            let count = trees.len().min(protects.len());
            for (number, path) in names.into_iter().filter(|(number, _)| *number < count) {
                trees[number].check((&path, None), &protects[number], self, held);
            }
            for (tree, protect) in trees.iter_mut().zip(protects).filter(|_| is_full) {
                tree.look_again(protect, self, held);
            }
        }
    }

    /// Returns names, and whether some were lost; `None` when there is no news.
    fn read(&mut self) -> Option<(BTreeSet<(usize, PathBuf)>, bool)> {
        let mut space = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = inotify::Reader::new(&self.watches, &mut space);
        let (mut names, mut gone) = (BTreeSet::new(), Vec::new());
        let (mut is_full, mut is_any) = (false, false);
        while let Ok(event) = reader.next() {
            is_any = true;
            if event.events().contains(ReadFlags::IGNORED) {
                gone.push(event.wd());
            }
            is_full |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            if let (Some((tree, path)), Some(name)) = (self.places.get(&event.wd()), name) {
                names.insert((*tree, path.join(name)));
            }
            if reader.is_buffer_empty() {
                break;
            }
        }
        self.places.retain(|watch, _| !gone.contains(watch));
        is_any.then_some((names, is_full))
    }
}
