//! Which directories a copy-on-write mount has of a lower layer: these the kernel does not rename.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;

use crate::plan::ChangedTree;
use crate::plan::step::{Buffered, UPPER};

/// What tells of the lower layers of a mount.
#[derive(Debug)]
pub(super) enum Below {
    /// The directory that is shown.
    Source(OwnedFd),
    /// The upper layer of a tree: the tree itself is closed to all but pid 1.
    Upper(OwnedFd),
}

impl Below {
    pub(super) fn of(mount: &Buffered) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat2(CWD, mount.source.as_path(), flags, Mode::empty(), no_links()).map(Self::Source)
    }

    pub(super) fn of_tree(tree: &ChangedTree, run: BorrowedFd<'_>) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(run, tree.layer.0.join(UPPER), flags, Mode::empty()).map(Self::Upper)
    }

    /// Whether a directory, which has this inode number in the view, may be one of a lower layer. One that is not must not be
    /// prepared: who has it open would lose it.
    pub(super) fn may_have(&self, directory: &Path, number: u64) -> bool {
        match self {
            Self::Source(source) => open(source.as_fd(), directory, OFlags::PATH).is_ok(),
            Self::Upper(upper) => !is_made(upper, directory, number),
        }
    }
}

/// Whether the command made a directory. Where all layers are on one file system, the view has such a one by its number in the
/// upper layer, and one of a lower layer by that one's (`ovl_map_dev_ino`, fs/overlayfs/inode.c).
fn is_made(upper: &OwnedFd, directory: &Path, number: u64) -> bool {
    let found = open(upper.as_fd(), directory, OFlags::PATH).and_then(fstat);
    found.is_ok_and(|found| found.st_ino == number)
}

fn open(at: BorrowedFd<'_>, path: &Path, access: OFlags) -> Result<OwnedFd, Errno> {
    let flags = access | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(at, path, flags, Mode::empty(), no_links() | ResolveFlags::BENEATH)
}

fn no_links() -> ResolveFlags {
    ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS
}
