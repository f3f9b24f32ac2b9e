//! The state directory itself.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::CWD;

use super::error::failed;
use super::run::Runs;
use super::{RunDir, RunId, StateError};
use crate::fs::{Errno, Fs, Kind, Status};
use crate::tree::{Measure, measure_tree};

/// How often it is tried: another process may sweep what is just being made.
const TRIES: usize = 8;

/// The open state directory: this user's, closed to others.
#[derive(Debug)]
pub struct StateDir {
    pub(super) runs: Arc<Runs>,
    path: PathBuf,
    dir: OwnedFd,
}

impl StateDir {
    /// Opens the state directory and makes it, with what is above it, when it is not there.
    ///
    /// # Errors
    /// A link or file in its place, another owner, bits for others, or a failing call.
    pub fn open(fs: &dyn Fs, path: &Path) -> Result<Self, StateError> {
        let dir = open_or_make(fs, path)?;
        let status = fs.status_of(dir.as_fd()).map_err(failed("look at", path))?;
        verify(path, &status)?;
        let name = OsStr::new("runs");
        let runs = open_below(fs, dir.as_fd(), name).map_err(failed("open", path.join(name)))?;
        let runs = Arc::new(Runs { dir: runs, path: path.join(name) });
        Ok(Self { runs, path: path.to_owned(), dir })
    }

    /// Returns its path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the directory of a new run and takes its lock.
    ///
    /// # Errors
    /// A failing call; nothing is left then.
    pub fn create_run(&self, fs: &dyn Fs, id: &RunId) -> Result<RunDir, StateError> {
        for _ in 0..TRIES {
            let id = id.clone();
            if let Some(run) = RunDir::create(fs, &self.runs, id)? {
                return Ok(run);
            }
        }
        Err(StateError::NoRun { path: self.runs.path.clone() })
    }

    /// Measures a part of a run, or all of it when the part has no name. Its lock is not needed.
    ///
    /// # Errors
    /// A failing call.
    pub fn measure(&self, fs: &dyn Fs, id: &RunId, part: &str) -> Result<Measure, StateError> {
        let name = Path::new(id.as_str()).join(part);
        let path = || self.runs.path.join(&name);
        let dir = match fs.open_dir(self.runs.dir.as_fd(), OsStr::new(id.as_str())) {
            Err(Errno::NOENT) => return Ok(Measure::default()),
            result => result.map_err(failed("open", path()))?,
        };
        let (at, name) = match part {
            "" => (self.runs.dir.as_fd(), id.as_str()),
            part => (dir.as_fd(), part),
        };
        measure_tree(fs, at, OsStr::new(name)).map_err(failed("measure", path()))
    }

    /// Opens a run that was kept and takes its lock.
    ///
    /// # Errors
    /// [`StateError::InUse`] while it runs or somebody else works on it, [`StateError::Gone`] when
    /// it is not there, or a failing call.
    pub fn open_run(&self, fs: &dyn Fs, id: &RunId) -> Result<RunDir, StateError> {
        RunDir::open(fs, &self.runs, id)
    }

    /// Opens a run that was kept to look at it, and nothing else.
    ///
    /// # Errors
    /// As [`open_run`](Self::open_run).
    pub fn look_into_run(&self, fs: &dyn Fs, id: &RunId) -> Result<RunDir, StateError> {
        RunDir::look(fs, &self.runs, id)
    }
}

/// Makes sure that a directory is this user's and closed to others; makes it when it is not there.
///
/// # Errors
/// A link or file in its place, another owner, bits for others, or a failing call.
pub fn make_private(fs: &dyn Fs, path: &Path) -> Result<(), StateError> {
    let dir = open_or_make(fs, path)?;
    let status = fs.status_of(dir.as_fd()).map_err(failed("look at", path))?;
    verify(path, &status)
}

impl AsFd for StateDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

fn open_or_make(fs: &dyn Fs, path: &Path) -> Result<OwnedFd, StateError> {
    match fs.open_dir(CWD, path.as_os_str()) {
        Ok(dir) => return Ok(dir),
        Err(Errno::NOENT) => {}
        Err(errno) => return Err(unusable(path, errno)),
    }
    if let Some(above) = path.parent() {
        // 0700 as the XDG base directory specification asks.
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(above);
        made.map_err(|error| failed("make", above)(errno(&error)))?;
    }
    open_below(fs, CWD, path.as_os_str()).map_err(|errno| unusable(path, errno))
}

/// Opens a directory and makes it first when it is not there; another process may be faster.
pub(crate) fn open_below(fs: &dyn Fs, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    match fs.open_dir(at, name) {
        Err(Errno::NOENT) => {}
        result => return result,
    }
    match fs.make_dir(at, name, 0o700) {
        Ok(()) | Err(Errno::EXIST) => fs.open_dir(at, name),
        Err(errno) => Err(errno),
    }
}

fn unusable(path: &Path, errno: Errno) -> StateError {
    match errno {
        Errno::LOOP | Errno::NOTDIR => StateError::NotADirectory { path: path.to_owned() },
        errno => failed("open", path)(errno),
    }
}

fn verify(path: &Path, status: &Status) -> Result<(), StateError> {
    let path = path.to_owned();
    let (owner, mode) = (status.uid, status.mode);
    if status.kind != Kind::Directory {
        return Err(StateError::NotADirectory { path });
    }
    if owner != rustix::process::geteuid().as_raw() {
        return Err(StateError::ForeignOwner { path, owner });
    }
    if mode & 0o077 != 0 {
        return Err(StateError::OpenToOthers { path, mode });
    }
    Ok(())
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
