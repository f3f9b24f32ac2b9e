//! Files below an open directory: nothing outside it is reached, and no FIFO is waited for.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use super::GitError;
use crate::fs::{Errno, FileId, Fs, Kind, OsFs, Timespec};

const FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
/// How often a lookup is tried again while names above it change.
const TRIES: usize = 100;

/// An open directory.
#[derive(Debug)]
pub(super) struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

/// A regular file and its size when it was opened.
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) size: u64,
}

impl Dir {
    /// Opens a directory wherever links lead to; its path has none then.
    pub(super) fn open(path: &Path) -> Result<Self, GitError> {
        let failed = |errno| GitError::Unreadable { path: path.to_owned(), errno };
        let whole = std::fs::canonicalize(path).map_err(|error| failed(errno_of(&error)))?;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = FLAGS | OFlags::DIRECTORY;
        let fd = retry(|| rustix::fs::openat2(CWD, &whole, flags, Mode::empty(), resolve));
        Ok(Self { fd: fd.map_err(failed)?, path: whole })
    }

    /// Returns its path, without a link in it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns which directory it is, and when that was made, where the file system knows.
    pub(super) fn identity(&self) -> Result<(FileId, Option<Timespec>), Errno> {
        let node = OsFs.node(self.fd.as_fd(), OsStr::new(""))?;
        Ok((node.status.id, node.born))
    }

    /// Reads a file; none is `None`, and so is a directory.
    pub(super) fn read(&self, name: &Path, most: u64) -> Result<Option<Vec<u8>>, GitError> {
        let Some(opened) = self.file(name)? else { return Ok(None) };
        self.read_opened(name, &opened, most).map(Some)
    }

    /// Reads what is left of an opened file.
    pub(super) fn read_opened(
        &self,
        name: &Path,
        opened: &Opened,
        most: u64,
    ) -> Result<Vec<u8>, GitError> {
        let mut bytes = Vec::new();
        let path = || self.path.join(name);
        let size = usize::try_from(opened.size.min(most)).unwrap_or(usize::MAX);
        bytes.try_reserve_exact(size).map_err(|_| GitError::Damaged { path: path() })?;
        let read = (&opened.file).take(most.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| GitError::Unreadable { path: path(), errno: errno_of(&error) })?;
        if bytes.len() as u64 > most {
            return Err(GitError::Damaged { path: path() });
        }
        Ok(bytes)
    }

    /// Opens a regular file; none is `None`, and so is a directory.
    pub(super) fn file(&self, name: &Path) -> Result<Option<Opened>, GitError> {
        let Some(fd) = self.below(name, OFlags::empty(), ResolveFlags::empty())? else {
            return Ok(None);
        };
        let status = OsFs.status_of(fd.as_fd()).map_err(|errno| self.failed(name, errno))?;
        match status.kind {
            Kind::File => Ok(Some(Opened { file: fd.into(), size: status.size })),
            Kind::Directory => Ok(None),
            Kind::Symlink | Kind::Other => Err(GitError::Damaged { path: self.path.join(name) }),
        }
    }

    /// Returns the names in a directory below; none is an empty one.
    pub(super) fn names(&self, name: &Path) -> Result<Vec<OsString>, GitError> {
        let opened = self.below(name, OFlags::DIRECTORY, ResolveFlags::empty())?;
        self.list(name, opened)
    }

    /// Returns the names in a directory below that no link leads to; none is an empty one, as is what a link leads to.
    pub(super) fn own_names(&self, name: &Path) -> Result<Vec<OsString>, GitError> {
        match self.below(name, OFlags::DIRECTORY, ResolveFlags::NO_SYMLINKS) {
            Err(GitError::Damaged { .. }) => Ok(Vec::new()),
            opened => self.list(name, opened?),
        }
    }

    fn list(&self, name: &Path, opened: Option<OwnedFd>) -> Result<Vec<OsString>, GitError> {
        let Some(fd) = opened else { return Ok(Vec::new()) };
        let list = rustix::fs::Dir::new(fd).map_err(|errno| self.failed(name, errno))?;
        let mut names = Vec::new();
        for entry in list {
            let entry = entry.map_err(|errno| self.failed(name, errno))?;
            names.push(OsString::from_vec(entry.file_name().to_bytes().to_vec()));
        }
        Ok(names)
    }

    fn below(
        &self,
        name: &Path,
        more: OFlags,
        resolve: ResolveFlags,
    ) -> Result<Option<OwnedFd>, GitError> {
        let resolve = resolve | ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let flags = FLAGS | more;
        match retry(|| rustix::fs::openat2(&self.fd, name, flags, Mode::empty(), resolve)) {
            Ok(fd) => Ok(Some(fd)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(self.failed(name, errno)),
        }
    }

    fn failed(&self, name: &Path, errno: Errno) -> GitError {
        let path = self.path.join(name);
        match errno {
            Errno::XDEV => GitError::Outside { path },
            Errno::LOOP => GitError::Damaged { path },
            errno => GitError::Unreadable { path, errno },
        }
    }
}

/// openat2(2) answers EAGAIN while something above is being renamed.
fn retry(open: impl Fn() -> Result<OwnedFd, Errno>) -> Result<OwnedFd, Errno> {
    let tried = (0..TRIES).map(|_| open());
    let mut settled = tried.filter(|result| !matches!(result, Err(Errno::AGAIN | Errno::INTR)));
    settled.next().unwrap_or(Err(Errno::AGAIN))
}

pub(super) fn errno_of(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
