//! The directory of one run.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::failed;
use super::{RunId, StateError};
use crate::fs::{Errno, Fs, OsFs};
use crate::tree::{RemoveError, remove_tree};

/// The open directory that holds all runs.
#[derive(Debug)]
pub(super) struct Runs {
    pub(super) dir: OwnedFd,
    pub(super) path: PathBuf,
}

/// The directory of a living run, with its lock.
///
/// The lock is that of the open directory: it ends with the last copy of the descriptor, so no
/// other process may inherit one. Dropped, the run is removed, unless it was kept.
#[derive(Debug)]
pub struct RunDir {
    runs: Arc<Runs>,
    dir: OwnedFd,
    id: RunId,
    /// What was made below, in order; taken away in reverse.
    made: Vec<OsString>,
    is_done: bool,
}

impl RunDir {
    /// Makes, locks and names a run; `None` when its name was lost to another process.
    ///
    /// It is locked before it has its name, so a run that a sweep finds unlocked is dead.
    pub(super) fn create(
        fs: &dyn Fs,
        runs: &Arc<Runs>,
        id: RunId,
    ) -> Result<Option<Self>, StateError> {
        let new = OsString::from(format!(".new-{id}"));
        let named = OsStr::new(id.as_str());
        let result = make_locked(fs, runs.dir.as_fd(), &new)
            .and_then(|dir| fs.rename(runs.dir.as_fd(), &new, named).map(|()| dir));
        let error = match result {
            Ok(dir) => {
                let (runs, made) = (Arc::clone(runs), Vec::new());
                return Ok(Some(Self { runs, dir, id, made, is_done: false }));
            }
            Err(errno) => errno,
        };
        if error != Errno::EXIST {
            let _ = fs.remove_dir(runs.dir.as_fd(), &new);
        }
        match error {
            Errno::EXIST | Errno::NOENT | Errno::WOULDBLOCK | Errno::NOTEMPTY => Ok(None),
            errno => Err(failed("make", runs.path.join(new))(errno)),
        }
    }

    /// Makes an empty directory below the run, and those that lead to it.
    ///
    /// # Errors
    /// A failing call, or a name that is there.
    pub fn make_dir(&mut self, fs: &dyn Fs, at: &Path, mode: u32) -> Result<(), StateError> {
        self.make_above(fs, at)?;
        self.make(fs, at.as_os_str())?;
        if mode == 0o700 { Ok(()) } else { self.set_mode(fs, at.as_os_str(), mode) }
    }

    /// Makes an empty file below the run, and the directories that lead to it.
    ///
    /// # Errors
    /// A failing call, or a name that is there.
    pub fn make_file(&mut self, fs: &dyn Fs, at: &Path, mode: u32) -> Result<(), StateError> {
        self.make_above(fs, at)?;
        let made = fs.create_file(self.dir.as_fd(), at.as_os_str());
        let set = made.and_then(|file| fs.set_mode(file.as_fd(), mode));
        set.map_err(failed("make", self.path().join(at)))?;
        self.made.push(at.into());
        Ok(())
    }

    /// Makes the directories that lead to a layer; the layer itself is made by
    /// [`crate::mask::apply`], and removed with the run.
    ///
    /// # Errors
    /// A failing call.
    pub fn make_way(&mut self, fs: &dyn Fs, layer: &Path) -> Result<(), StateError> {
        self.make_above(fs, layer)?;
        self.made.push(layer.into());
        Ok(())
    }

    /// Leaves the directory in place, as a supervisor that is killed does; its lock goes.
    #[cfg(test)]
    pub(crate) fn keep(mut self) {
        self.is_done = true;
    }

    /// Removes the run.
    ///
    /// # Errors
    /// What could not be removed; a later sweep tries again.
    pub fn remove(mut self, fs: &dyn Fs) -> Result<(), StateError> {
        self.is_done = true;
        self.take_away(fs).map_err(|left| StateError::Remove { path: self.path(), left })
    }

    /// Returns the name of the run.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Returns where it is.
    pub fn path(&self) -> PathBuf {
        self.runs.path.join(self.id.as_str())
    }

    fn make_above(&mut self, fs: &dyn Fs, at: &Path) -> Result<(), StateError> {
        let above = at.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
        let mut missing: Vec<&OsStr> = above.map(Path::as_os_str).collect();
        missing.retain(|path| !self.made.iter().any(|made| made == path));
        missing.into_iter().rev().try_for_each(|path| self.make(fs, path))
    }

    fn make(&mut self, fs: &dyn Fs, name: &OsStr) -> Result<(), StateError> {
        let made = fs.make_dir(self.dir.as_fd(), name, 0o700);
        made.map_err(failed("make", self.path().join(name)))?;
        self.made.push(name.to_owned());
        Ok(())
    }

    /// Sets bits that the caller's umask may have taken away.
    fn set_mode(&self, fs: &dyn Fs, name: &OsStr, mode: u32) -> Result<(), StateError> {
        let set = fs.set_dir_mode(self.dir.as_fd(), name, mode);
        set.map_err(failed("open up", self.path().join(name)))
    }

    /// Takes away what this run made, one call for each empty directory, then the rest.
    fn take_away(&mut self, fs: &dyn Fs) -> Result<(), RemoveError> {
        let mut result = Ok(());
        for name in self.made.drain(..).rev() {
            result = result.and(remove_tree(fs, self.dir.as_fd(), &name));
        }
        let whole = remove_tree(fs, self.runs.dir.as_fd(), OsStr::new(self.id.as_str()));
        if whole.is_ok() { whole } else { result.and(whole) }
    }
}

impl AsFd for RunDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        if !self.is_done {
            drop(self.take_away(&OsFs));
        }
    }
}

fn make_locked(fs: &dyn Fs, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    fs.make_dir(at, name, 0o700)?;
    let dir = fs.open_dir(at, name)?;
    fs.lock(dir.as_fd())?;
    Ok(dir)
}
