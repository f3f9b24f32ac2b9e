//! Files of a run's directory that tell of write-backs: written beside those that hold, and told apart from newer ones.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::SyncError;
use super::collect::io;
use crate::fs::{Errno, Fs, JsonError, Result, read_all, write_json};

/// The version of these files that this code writes, and the newest it reads.
pub(super) const VERSION: u32 = 1;

/// Whether nothing can be reached at a path: it leads through what is gone, a link, or another mount.
pub(super) fn is_unreachable(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV)
}

/// What is to be removed may not be there.
pub(super) fn gone(result: Result<()>) -> Result<()> {
    match result {
        Err(Errno::NOENT) => Ok(()),
        result => result,
    }
}

/// Writes a file beside the one that holds; returns how many bytes it has. Its file system is to be synced before it is
/// published.
pub(super) fn write<T: Serialize>(
    fs: &dyn Fs,
    dir: BorrowedFd<'_>,
    name: &str,
    value: &T,
) -> std::result::Result<u64, SyncError> {
    let failed = || io("write", Path::new(name));
    gone(fs.unlink(dir, OsStr::new(name))).map_err(failed())?;
    let file = fs.create_file(dir, OsStr::new(name)).map_err(failed())?;
    fill(fs, file.as_fd(), name, value)
}

/// The same in the room that [`super::room::reserve`] took, where it did.
pub(super) fn overwrite<T: Serialize>(
    fs: &dyn Fs,
    dir: BorrowedFd<'_>,
    name: &str,
    value: &T,
) -> std::result::Result<(), SyncError> {
    let failed = || io("write", Path::new(name));
    let file = match fs.open_to_write(dir, OsStr::new(name)) {
        Err(Errno::NOENT) => fs.create_file(dir, OsStr::new(name)),
        file => file,
    };
    let file = file.map_err(failed())?;
    let size = fill(fs, file.as_fd(), name, value)?;
    fs.set_size(file.as_fd(), size).map_err(failed())
}

fn fill<T: Serialize>(
    fs: &dyn Fs,
    file: BorrowedFd<'_>,
    name: &str,
    value: &T,
) -> std::result::Result<u64, SyncError> {
    write_json(fs, file, value).map_err(|error| match error {
        JsonError::File(errno) => io("write", Path::new(name))(errno),
        JsonError::Value(error) => SyncError::Stored { path: PathBuf::from(name), error },
    })
}

/// Only the version, to tell a newer file from a broken one.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

pub(super) fn read<T: DeserializeOwned>(
    fs: &dyn Fs,
    dir: BorrowedFd<'_>,
    path: &Path,
) -> std::result::Result<Option<T>, SyncError> {
    let text = match read_all(fs, dir, path) {
        Err(Errno::NOENT) => return Ok(None),
        result => result.map_err(io("read", path))?,
    };
    let broken = |error| SyncError::Stored { path: path.to_owned(), error };
    let Versioned { version } = serde_json::from_slice(&text).map_err(broken)?;
    if version > VERSION {
        return Err(SyncError::Newer { path: path.to_owned(), version });
    }
    serde_json::from_slice(&text).map(Some).map_err(broken)
}
