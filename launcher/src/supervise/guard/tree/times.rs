//! What times tell of names: no call sets the time of an inode's last change back.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use endow_policy::ProtectSet;
use endow_vfs::fs::{Fs, OsFs};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use super::Tree;

impl Tree {
    /// Whether neither a name was moved since the run began, nor a protected directory that it is in: that changes it, and
    /// the directory that it comes to. What others are called says nothing.
    pub(super) fn is_in_place(&self, path: &Path, protect: &ProtectSet) -> bool {
        let counts = |name: &&Path| *name == path || protect.guarding(&self.shown(name)).is_some();
        let names = path.ancestors().take_while(|above| !above.as_os_str().is_empty());
        let is_there = |name: &Path| {
            [Some(name), name.parent()].into_iter().flatten().any(|it| self.is_as_old(it))
        };
        let mut names = names.filter(counts);
        names.all(|name| {
            is_there(name) || name != path && name.ends_with(".git") && self.is_used(name)
        })
    }

    /// Whether names came or went in a directory when it changed last: each command of git's does that. A rename sets one of its
    /// times alone.
    fn is_used(&self, path: &Path) -> bool {
        let found = self.directory(path).and_then(|it| OsFs.status_of(it.as_fd()));
        found.is_ok_and(|found| found.changed == found.modified)
    }

    /// Whether names may have come to a directory that can't be opened.
    pub(super) fn is_unseen(&self, path: &Path, opened: &Result<OwnedFd, Errno>) -> bool {
        match opened {
            Err(Errno::NAMETOOLONG | Errno::MFILE | Errno::IO) => true,
            // Nothing is taken away beyond a mount of the host's, for nothing could be written back there.
            Err(Errno::XDEV) => self.has_news_beyond(path),
            _ => false,
        }
    }

    /// Whether names came or went in a directory beyond a mount since the run began.
    fn has_news_beyond(&self, path: &Path) -> bool {
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let beyond = openat2(self.held.root(), path, flags, Mode::empty(), resolve);
        let found = beyond.and_then(|beyond| OsFs.status_of(beyond.as_fd()));
        found.is_ok_and(|found| self.is_young(&found))
    }

    /// Whether a name was neither changed nor moved since the run began.
    pub(super) fn is_as_old(&self, path: &Path) -> bool {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return false };
        let directory = self.directory(above);
        let found = directory.and_then(|it| OsFs.status(it.as_fd(), OsStr::new(name)));
        found.is_ok_and(|found| !self.is_young(&found))
    }
}
