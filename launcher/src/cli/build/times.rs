//! The times of what is in an output that is a directory.
//!
//! In a tree of contents all times are the same. Programs outside, such as make and rsync, tell by them what changed: so
//! what is new has the present time, and what stood there before with the same content keeps its own.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use endow_vfs::fs::{At, Errno, Fs, Open, OsFs, Timespec};
use endow_vfs::inputs::Folder;
use rustix::fs::UTIME_NOW;

/// The present time, which the kernel fills in.
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };

/// What stands at the place of an output until it is replaced.
pub(super) struct Before<'b> {
    /// The directory of the build.
    pub(super) root: BorrowedFd<'b>,
    /// The place below it.
    pub(super) path: &'b str,
    /// What is in there; `None` where nothing is known of it.
    pub(super) tree: Option<&'b Folder>,
}

/// Sets the times of a tree that was made.
pub(super) fn set(made: BorrowedFd<'_>, tree: &Folder, before: &Before<'_>) -> Result<(), Errno> {
    for (place, folder) in tree.all() {
        let at = if place.is_empty() { "." } else { &place };
        let dir = OsFs.open_below(made, Path::new(at), Open::Handle)?;
        let old = before.folder(&place);
        for (name, leaf) in folder.own_leaves() {
            let same = old.as_ref().filter(|(folder, _)| folder.leaf(name) == Some(leaf));
            let time = same.and_then(|(_, dir)| modified(dir, name)).unwrap_or(NOW);
            OsFs.set_modified(At { dir: dir.as_fd(), name: OsStr::new(name) }, time)?;
        }
        OsFs.set_modified(At { dir: dir.as_fd(), name: OsStr::new("") }, NOW)?;
    }
    Ok(())
}

impl Before<'_> {
    fn folder(&self, place: &str) -> Option<(&Folder, OwnedFd)> {
        let (folder, path) = if place.is_empty() {
            (self.tree?, self.path.to_owned())
        } else {
            (self.tree?.folder(place)?, format!("{}/{place}", self.path))
        };
        Some((folder, OsFs.open_below(self.root, Path::new(&path), Open::Handle).ok()?))
    }
}

fn modified(dir: &OwnedFd, name: &str) -> Option<Timespec> {
    OsFs.status(dir.as_fd(), OsStr::new(name)).ok().map(|status| status.modified)
}
