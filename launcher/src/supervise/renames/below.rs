//! Which directories a copy-on-write mount has of a lower layer: these the kernel does not rename.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fgetxattr, openat, openat2};
use rustix::io::Errno;

use crate::plan::ChangedTree;
use crate::plan::step::{Buffered, UPPER};

/// What overlayfs sets where nothing of a lower layer is shown.
const OPAQUE: &str = "user.overlay.opaque";

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

    /// Whether a directory may be one of a lower layer. One that is not needs no preparation, and takes none amiss.
    pub(super) fn may_have(&self, directory: &Path) -> bool {
        match self {
            Self::Source(source) => open(source.as_fd(), directory, OFlags::PATH).is_ok(),
            Self::Upper(upper) => !is_made(upper, directory),
        }
    }
}

/// Whether the command made a directory, or one above it: then it is in the upper layer, with a mark.
fn is_made(upper: &OwnedFd, directory: &Path) -> bool {
    let above = directory.ancestors().filter(|path| !path.as_os_str().is_empty());
    above.into_iter().any(|path| {
        let mut value = [0; 1];
        let marked = open(upper.as_fd(), path, OFlags::RDONLY)
            .and_then(|directory| fgetxattr(directory, OPAQUE, &mut value));
        marked == Ok(1) && value == *b"y"
    })
}

fn open(at: BorrowedFd<'_>, path: &Path, access: OFlags) -> Result<OwnedFd, Errno> {
    let flags = access | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(at, path, flags, Mode::empty(), no_links() | ResolveFlags::BENEATH)
}

fn no_links() -> ResolveFlags {
    ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS
}
