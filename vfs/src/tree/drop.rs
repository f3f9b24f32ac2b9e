//! Dropping changes of a layer, so that the host's own shows through again.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use super::{RemoveError, remove_tree};
use crate::fs::{At, Errno, Fs, Open};
use crate::sync::Closed;
use crate::sync::root::{Dir, Root};

/// The mark of a directory that hides the one below it.
const OPAQUE: &str = "user.overlay.opaque";
/// That of one into which something was copied up.
const IMPURE: &str = "user.overlay.impure";

/// Why a change can't be dropped by itself.
#[derive(Debug, thiserror::Error)]
pub enum DropError {
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

/// Drops what stands at some paths of a layer and below them, if each of them can be dropped by itself. Directories
/// that are closed to their owner are opened meanwhile.
///
/// # Errors
/// A path that can't be; then nothing is dropped. Or a call that fails.
pub fn drop_paths(
    fs: &dyn Fs,
    (upper, host): (BorrowedFd<'_>, BorrowedFd<'_>),
    paths: &[&Path],
) -> Result<(), DropError> {
    let mut dropping = Dropping { fs, host, upper: Root::new(fs, upper, Closed::Open) };
    let paths = outermost(paths);
    let checked = paths.iter().try_for_each(|path| dropping.check(path));
    let dropped = checked.and_then(|()| paths.iter().try_for_each(|path| dropping.drop(path)));
    let closed = dropping.upper.close();
    dropped?;
    closed.map_err(|errno| DropError::Io(PathBuf::new(), errno))
}

/// Leaves out what goes with a directory that is among the paths.
fn outermost<'p>(paths: &[&'p Path]) -> Vec<&'p Path> {
    let mut sorted = paths.to_vec();
    // By parts: what is in a directory comes right behind it.
    sorted.sort_unstable();
    let mut outer: Vec<&Path> = Vec::new();
    for path in sorted {
        if outer.last().is_none_or(|above| !path.starts_with(above)) {
            outer.push(path);
        }
    }
    outer
}

struct Dropping<'a> {
    fs: &'a dyn Fs,
    upper: Root<'a>,
    host: BorrowedFd<'a>,
}

impl<'a> Dropping<'a> {
    /// Below a directory that hides the host's, only what the host has not can go by itself.
    fn check(&mut self, path: &Path) -> Result<(), DropError> {
        let failed = |errno| DropError::Io(path.to_owned(), errno);
        self.above(path)?;
        let is_hidden = self.is_hidden(path).map_err(failed)?;
        if is_hidden && self.on_host(path).map_err(failed)? {
            return Err(DropError::Part(path.to_owned()));
        }
        Ok(())
    }

    fn drop(&mut self, path: &Path) -> Result<(), DropError> {
        let failed = |errno| DropError::Io(path.to_owned(), errno);
        let left = |error| DropError::Left(path.to_owned(), error);
        let dir = self.above(path)?;
        let Some(name) = path.file_name() else {
            let names = self.upper.list(path).and_then(|all| self.fs.list(all.as_fd(), usize::MAX));
            let mut names = names.map_err(failed)?.into_iter();
            return names
                .try_for_each(|it| remove_tree(self.fs, dir.as_fd(), &it.name))
                .map_err(left);
        };
        // A name that comes or goes is a trace of what is dropped.
        let before = self.fs.status_of(dir.as_fd()).map_err(failed)?;
        remove_tree(self.fs, dir.as_fd(), name).map_err(left)?;
        self.upper.forget();
        self.forget_copy_up(&dir).map_err(failed)?;
        self.fs.set_modified(dir.at(OsStr::new("")), before.modified).map_err(failed)
    }

    /// Opens the layer's directory that a path is in.
    fn above(&mut self, path: &Path) -> Result<Dir<'a>, DropError> {
        let above = path.parent().unwrap_or(Path::new(""));
        let opened = self.upper.open_up(above).and_then(|_| self.upper.dir(above));
        opened.map_err(|errno| match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => DropError::Part(path.to_owned()),
            errno => DropError::Io(path.to_owned(), errno),
        })
    }

    /// Tells whether a directory of the layer that a path is in hides the host's.
    fn is_hidden(&mut self, path: &Path) -> Result<bool, Errno> {
        self.upper.forget();
        let above: Vec<&Path> = path.ancestors().skip(1).collect();
        for directory in above.into_iter().rev().filter(|it| !it.as_os_str().is_empty()) {
            let dir = self.upper.dir(directory)?;
            let attributes = self.fs.attributes(dir.at(OsStr::new("")))?;
            if attributes.iter().any(|(name, _)| name == OPAQUE) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn on_host(&self, path: &Path) -> Result<bool, Errno> {
        let above = path.parent().unwrap_or(Path::new(""));
        let name = path.file_name().unwrap_or_default();
        let dir = match self.fs.open_below(self.host, above, Open::Handle) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(false),
            result => result?,
        };
        match self.fs.status(dir.as_fd(), name) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    /// Takes back overlayfs' mark that something was copied up into a directory: what it stood for may
    /// be dropped.
    fn forget_copy_up(&self, dir: &Dir<'_>) -> Result<(), Errno> {
        let here = At { dir: dir.as_fd(), name: OsStr::new("") };
        match self.fs.remove_attribute(here, OsStr::new(IMPURE)) {
            Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
            result => result,
        }
    }
}

#[cfg(test)]
mod tests;
