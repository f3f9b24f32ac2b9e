//! Results in the disk cache of Bazel (`--disk_cache`), which builds share.
//!
//! ```text
//! DIR/ac/<2 digits>/<64 digits>     an `ActionResult` message, by the digest of the action
//! DIR/cas/<2 digits>/<64 digits>    a content, by its own
//! ```
//!
//! Contents are compared with their digests on the way in and out. A result can't be compared with
//! anything: it is taken when the file and the directories that lead to it are this user's and nobody else can
//! write them.

mod fetch;
mod share;

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::CWD;

use super::{ActionResult, ResultError};
use crate::cas::{Digest, ImportError, Layout, StoreError};
use crate::fs::{Errno, Fs, read_own};

/// Results.
const RESULTS: &str = "ac";
/// Contents.
const CONTENTS: &str = "cas";
/// The most bytes of one result, in which no content is.
const RESULT_MAX: u64 = 16 << 20;
/// Directories that others may look into, as Bazel makes them.
const DIRECTORY_MODE: u32 = 0o755;

/// The cache, open.
pub struct DiskCache<'fs> {
    fs: &'fs dyn Fs,
    path: PathBuf,
    root: OwnedFd,
    results: OwnedFd,
    contents: OwnedFd,
}

/// Why something can't be taken from a disk cache, or put there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiskCacheError {
    /// A call failed.
    #[error("can't {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// A result is not the user's own, or others can write it.
    #[error("another user could have written {}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// What is there is no result.
    #[error("{} is no result of an action", path.display())]
    Result {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: ResultError,
    },
    /// A content is missing, or is another than its digest says.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The user's store lacks a content, or has it damaged.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl<'fs> DiskCache<'fs> {
    /// Opens a cache, and makes the directory when it is not there.
    ///
    /// # Errors
    /// A failing call.
    pub fn open(fs: &'fs dyn Fs, path: &Path) -> Result<Self, DiskCacheError> {
        match fs.make_dir(CWD, path.as_os_str(), DIRECTORY_MODE) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed("make", path)(errno)),
        }
        let root = fs.open_dir(CWD, path.as_os_str()).map_err(failed("open", path))?;
        let path = path.to_owned();
        let part =
            |name: &str| made_below(fs, &root, name).map_err(failed("open", &path.join(name)));
        let (results, contents) = (part(RESULTS)?, part(CONTENTS)?);
        Ok(Self { fs, path, root, results, contents })
    }

    /// Returns the result of an action, when there is one.
    ///
    /// # Errors
    /// What is there is no result, may be somebody else's, or can't be read.
    pub fn find(&self, action: &Digest) -> Result<Option<ActionResult>, DiskCacheError> {
        let (fan, name) = place(action);
        let path = self.path.join(RESULTS).join(&fan).join(&name);
        let dir = self.fs.open_handle(self.results.as_fd(), OsStr::new(&fan));
        // Who can rename there gives the result of one action to another.
        let is_own = |dir: &OwnedFd| is_own(self.fs, dir).map_err(failed("look at", &path));
        if let Ok(fan) = &dir
            && !(is_own(&self.root)? && is_own(&self.results)? && is_own(fan)?)
        {
            return Err(DiskCacheError::Foreign { path });
        }
        let read =
            dir.and_then(|dir| read_own(self.fs, dir.as_fd(), OsStr::new(&name), RESULT_MAX));
        let bytes = match read {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::INVAL | Errno::LOOP) => return Err(DiskCacheError::Foreign { path }),
            read => read.map_err(failed("read", &path))?,
        };
        let result = ActionResult::decode(&bytes);
        result.map(Some).map_err(|error| DiskCacheError::Result { path, error })
    }
}

/// Returns whether a directory is this user's and nobody else can change it.
fn is_own(fs: &dyn Fs, dir: &OwnedFd) -> Result<bool, Errno> {
    let status = fs.status_of(dir.as_fd())?;
    Ok(status.uid == rustix::process::geteuid().as_raw() && status.mode & 0o022 == 0)
}

/// Returns where something is: its directory, and its name there.
fn place(digest: &Digest) -> (String, String) {
    Layout::Bazel.place(&digest.to_hex())
}

/// Opens a directory for what is made in it, and makes it when it is not there.
fn made_below(fs: &dyn Fs, above: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let name = OsStr::new(name);
    match fs.make_dir(above.as_fd(), name, DIRECTORY_MODE) {
        Ok(()) | Err(Errno::EXIST) => fs.open_handle(above.as_fd(), name),
        Err(errno) => Err(errno),
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(Errno) -> DiskCacheError + use<> {
    let path = path.to_owned();
    move |errno| DiskCacheError::Io { action, path, errno }
}

#[cfg(test)]
mod tests;
