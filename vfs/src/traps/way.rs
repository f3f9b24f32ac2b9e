//! The way to directories of a layer, of which a command can close any to their owner.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::fs::{At, Errno, Fs, Open, Result};

/// What an owner needs to list a directory, and to look at what is in it.
const OPEN: u32 = 0o700;
/// The longest path that the kernel takes, with its end.
const PATH_MAX: usize = 4096;

/// The directory that was looked into last: the next one is mostly below it, or the same.
#[derive(Debug, Default)]
pub(super) struct Way {
    last: Mutex<Option<(PathBuf, Arc<OwnedFd>)>>,
}

impl Way {
    /// Looks into a directory of a layer, which nobody changes meanwhile. Of those that are closed
    /// one is open at a time, and only for as long as it is looked into.
    pub(super) fn look<T>(
        &self,
        (fs, layer): (&dyn Fs, BorrowedFd<'_>),
        path: &Path,
        look: &dyn Fn(BorrowedFd<'_>) -> Result<T>,
    ) -> Result<T> {
        if path.as_os_str().len() >= PATH_MAX {
            return Err(Errno::NAMETOOLONG);
        }
        let dir = self.reach((fs, layer), path)?;
        opened(fs, dir.as_fd(), look)
    }

    fn reach(&self, (fs, layer): (&dyn Fs, BorrowedFd<'_>), path: &Path) -> Result<Arc<OwnedFd>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.as_ref();
        let known = known.and_then(|(known, dir)| Some((dir, path.strip_prefix(known).ok()?)));
        let dir = match known {
            Some((dir, rest)) if rest.as_os_str().is_empty() => return Ok(Arc::clone(dir)),
            Some((dir, rest)) => step_down(fs, dir.as_fd(), rest)?,
            None => step_down(fs, layer, path)?,
        };
        let dir = Arc::new(dir);
        *last = Some((path.to_owned(), Arc::clone(&dir)));
        Ok(dir)
    }
}

/// Opens a directory below one, at once where none on the way is closed.
fn step_down(fs: &dyn Fs, from: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd> {
    if path.as_os_str().is_empty() {
        return from.try_clone_to_owned().map_err(|_| Errno::MFILE);
    }
    match open(fs, from, path) {
        Err(Errno::ACCESS) => {}
        found => return found,
    }
    let mut at: Option<OwnedFd> = None;
    for name in path {
        let dir = at.as_ref().map_or(from, AsFd::as_fd);
        at = Some(opened(fs, dir, &|dir| open(fs, dir, Path::new(name)))?);
    }
    at.ok_or(Errno::ACCESS)
}

fn open(fs: &dyn Fs, from: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd> {
    fs.open_below(from, path, Open::Handle)
}

/// Does something in a directory; where its bits keep its owner out, with all of them meanwhile.
fn opened<T>(
    fs: &dyn Fs,
    dir: BorrowedFd<'_>,
    call: &dyn Fn(BorrowedFd<'_>) -> Result<T>,
) -> Result<T> {
    match call(dir) {
        Err(Errno::ACCESS) => {}
        done => return done,
    }
    let mode = fs.status_of(dir)?.mode;
    if mode & OPEN == OPEN {
        return Err(Errno::ACCESS);
    }
    let itself = At { dir, name: OsStr::new("") };
    fs.set_mode_at(itself, mode | OPEN)?;
    let done = call(dir);
    fs.set_mode_at(itself, mode).and(done)
}
