//! Dropping one change of a layer, so that the host's own shows through again.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use endow_vfs::fs::{At, Errno, Fs, Open, OsFs};
use endow_vfs::tree::{RemoveError, remove_tree};

use super::Target;

/// Why a change can't be dropped by itself.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DropError {
    /// The run removed or replaced a directory above, which hides the host's.
    #[error("part of a directory that was removed or replaced: {}", .0.display())]
    Part(PathBuf),
    /// A call failed.
    #[error("can't drop: {}", .0.display())]
    Io(PathBuf, #[source] Errno),
    /// Something of it is still there.
    #[error("can't drop: {}", .0.display())]
    Left(PathBuf, #[source] RemoveError),
}

/// Drops what the run changed at a path and below it.
pub(crate) fn drop_path(target: &Target, path: &Path) -> Result<(), DropError> {
    let Some(upper) = &target.upper else { return Ok(()) };
    let failed = |errno| DropError::Io(path.to_owned(), errno);
    let root = OsFs.open_dir(upper.as_fd(), OsStr::new(".")).map_err(failed)?;
    let Some(name) = path.file_name() else { return drop_all(&root, path) };
    let (dir, is_hidden) = open_above(root, path)?;
    if is_hidden && on_host(target, path).map_err(failed)? {
        return Err(DropError::Part(path.to_owned()));
    }
    // A name that comes or goes is a trace of what is dropped.
    let before = OsFs.status_of(dir.as_fd()).map_err(failed)?;
    remove_tree(&OsFs, dir.as_fd(), name).map_err(|it| DropError::Left(path.to_owned(), it))?;
    forget_copy_up(dir.as_fd()).map_err(failed)?;
    OsFs.set_times(dir.as_fd(), &before).map_err(failed)
}

/// Takes back overlayfs' mark that something was copied up into a directory: what it stood for may
/// be dropped.
fn forget_copy_up(dir: BorrowedFd<'_>) -> Result<(), Errno> {
    let here = At { dir, name: OsStr::new(".") };
    match OsFs.remove_attribute(here, OsStr::new("user.overlay.impure")) {
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
        result => result,
    }
}

fn drop_all(root: &OwnedFd, path: &Path) -> Result<(), DropError> {
    let names = OsFs.list(root.as_fd(), usize::MAX);
    let names = names.map_err(|errno| DropError::Io(path.to_owned(), errno))?;
    names.iter().try_for_each(|entry| {
        remove_tree(&OsFs, root.as_fd(), &entry.name)
            .map_err(|it| DropError::Left(path.to_owned(), it))
    })
}

/// Opens the layer's directory that a path is in, one name after the other; tells whether any on
/// the way hides the host's.
fn open_above(root: OwnedFd, path: &Path) -> Result<(OwnedFd, bool), DropError> {
    let (mut dir, mut is_hidden) = (root, false);
    for name in path.parent().unwrap_or(Path::new("")) {
        let opened = match OsFs.open_dir(dir.as_fd(), name) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                return Err(DropError::Part(path.to_owned()));
            }
            result => result.map_err(|errno| DropError::Io(path.to_owned(), errno))?,
        };
        is_hidden |= is_opaque(dir.as_fd(), name);
        dir = opened;
    }
    Ok((dir, is_hidden))
}

fn is_opaque(dir: BorrowedFd<'_>, name: &OsStr) -> bool {
    let attributes = OsFs.attributes(At { dir, name }).unwrap_or_default();
    attributes.iter().any(|(name, _)| name == "user.overlay.opaque")
}

fn on_host(target: &Target, path: &Path) -> Result<bool, Errno> {
    let above = path.parent().unwrap_or(Path::new(""));
    let name = path.file_name().unwrap_or_default();
    let dir = match OsFs.open_below(target.root.as_fd(), above, Open::Handle) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(false),
        result => result?,
    };
    match OsFs.status(dir.as_fd(), name) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno),
    }
}
