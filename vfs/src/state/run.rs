//! The directory of one run.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::failed;
use super::{RunId, StateError};
use crate::fs::{Errno, Fs, OsFs};
use crate::tree::{RemoveError, remove_tree};

/// Where private directories and uppers stand until a checkpoint starts the next layer.
const LAYER: &str = "layers/000";

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

    /// Makes an empty private directory, number `number` of this run, and returns its name below
    /// the run.
    ///
    /// # Errors
    /// A failing call, or a number used twice.
    pub fn make_private(
        &mut self,
        fs: &dyn Fs,
        number: usize,
        mode: u32,
    ) -> Result<PathBuf, StateError> {
        self.make_once(fs, "layers")?;
        self.make_once(fs, LAYER)?;
        let name = OsString::from(format!("{LAYER}/p{number:03}"));
        self.make(fs, name.clone(), 0o700)?;
        if mode != 0o700 {
            self.set_mode(fs, &name, mode)?;
        }
        Ok(name.into())
    }

    /// Returns the name of mask layer `number`, with what is above it made; the layer itself is
    /// made by [`crate::mask::apply`], and removed with the run.
    ///
    /// # Errors
    /// A failing call.
    pub fn plan_mask(&mut self, fs: &dyn Fs, number: usize) -> Result<PathBuf, StateError> {
        self.make_once(fs, "mask")?;
        let name = OsString::from(format!("mask/{number:03}"));
        self.made.push(name.clone());
        Ok(name.into())
    }

    /// Opens a directory below the run that this run made.
    ///
    /// # Errors
    /// A failing call.
    pub fn open_dir(&self, fs: &dyn Fs, name: &Path) -> Result<OwnedFd, StateError> {
        let opened = fs.open_dir(self.dir.as_fd(), name.as_os_str());
        opened.map_err(failed("open", self.path().join(name)))
    }

    /// Leaves the directory in place when the run ends; its lock goes all the same.
    pub fn keep(mut self) {
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

    fn make_once(&mut self, fs: &dyn Fs, name: &str) -> Result<(), StateError> {
        if self.made.iter().any(|made| made == name) {
            return Ok(());
        }
        self.make(fs, name.into(), 0o700)
    }

    fn make(&mut self, fs: &dyn Fs, name: OsString, mode: u32) -> Result<(), StateError> {
        let made = fs.make_dir(self.dir.as_fd(), &name, mode);
        made.map_err(failed("make", self.path().join(&name)))?;
        self.made.push(name);
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
