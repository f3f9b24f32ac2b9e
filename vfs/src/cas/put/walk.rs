//! The walk through a directory of the disk, by two threads.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{PutError, shown};
use crate::cas::message::{ListedDirectory, ListedFile, ListedSymlink};
use crate::cas::publish::{Order, Reading, buffer};
use crate::cas::{Publishing, StoreError, Stored};
use crate::fs::{Entry, Errno, Fs, Kind, Open};
use crate::names::pool::{Pool, together};
use crate::snapshot::Bounds;

/// Hashing is what takes the time, and memory is what a thread more would take.
const THREADS: usize = 2;
/// Files that one thread takes at a time, so that a large directory is shared.
const BATCH: usize = 32;

/// What one directory holds. The directories in it are added once they have digests.
#[derive(Default)]
pub(super) struct Part {
    pub(super) files: Vec<ListedFile>,
    pub(super) directories: Vec<ListedDirectory>,
    pub(super) symlinks: Vec<ListedSymlink>,
}

/// What was found, by the paths of directories.
#[derive(Default)]
pub(super) struct WalkedFiles {
    pub(super) parts: HashMap<PathBuf, Part>,
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) new_bytes: u64,
}

pub(super) struct Walk<'a> {
    fs: &'a dyn Fs,
    publishing: &'a Publishing<'a>,
    root: BorrowedFd<'a>,
    bounds: Bounds,
    entries: AtomicU64,
    bytes: AtomicU64,
    failed: Mutex<Option<PutError>>,
}

enum Job {
    /// A directory to list, by its path below the root: only those in work are open.
    Directory(PathBuf),
    /// Some files of an open directory.
    Files(Arc<OwnedFd>, PathBuf, Vec<OsString>),
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        fs: &'a dyn Fs,
        publishing: &'a Publishing<'a>,
        root: BorrowedFd<'a>,
        bounds: Bounds,
    ) -> Self {
        let (entries, bytes, failed) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::new(None));
        Self { fs, publishing, root, bounds, entries, bytes, failed }
    }

    /// Walks and joins its threads, also after an error.
    pub(super) fn all(self) -> Result<WalkedFiles, PutError> {
        let mut found = WalkedFiles::default();
        let jobs = vec![Job::Directory(PathBuf::new())];
        for part in together(jobs, THREADS, |pool| self.work(pool)) {
            found.merge(part);
        }
        match self.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(found),
        }
    }

    fn work(&self, pool: &Pool<Job>) -> WalkedFiles {
        let (mut found, mut buffer) = (WalkedFiles::default(), buffer());
        while let Some(mut jobs) = pool.take() {
            while let Some(job) = jobs.pop().filter(|_| !self.has_failed()) {
                let done = self.carry_out(job, &mut found, &mut jobs, &mut buffer);
                done.unwrap_or_else(|error| self.fail(error));
                pool.share(&mut jobs);
            }
        }
        found
    }

    fn carry_out(
        &self,
        job: Job,
        found: &mut WalkedFiles,
        jobs: &mut Vec<Job>,
        buffer: &mut [u8],
    ) -> Result<(), PutError> {
        match job {
            Job::Directory(path) => self.visit(&path, found, jobs),
            Job::Files(dir, path, names) => {
                let dir = Opened { fd: dir.as_fd(), path: &path };
                self.put_files(&dir, &names, found, buffer)
            }
        }
    }

    fn visit(
        &self,
        path: &Path,
        found: &mut WalkedFiles,
        jobs: &mut Vec<Job>,
    ) -> Result<(), PutError> {
        let dir = match self.open(path) {
            Err(Errno::NOENT) => return Ok(()),
            result => Arc::new(result.map_err(|errno| unreadable(path, errno))?),
        };
        // One name more than fits shows that it doesn't.
        let limit = self.bounds.entries.saturating_add(1);
        let entries = self.fs.list(dir.as_fd(), limit);
        let entries = entries.map_err(|errno| unreadable(path, errno))?;
        let part = found.parts.entry(path.to_owned()).or_default();
        let opened = Opened { fd: dir.as_fd(), path };
        let mut files = Vec::new();
        for Entry { name, kind } in entries {
            self.count(&opened, &name)?;
            match self.kind(&opened, &name, kind)? {
                Some(Kind::File) => files.push(name),
                Some(Kind::Directory) => jobs.push(Job::Directory(path.join(name))),
                Some(Kind::Symlink) => part.symlinks.extend(self.symlink(&opened, &name)?),
                Some(Kind::Other) => return Err(PutError::Kind { path: path.join(name) }),
                None => {}
            }
        }
        let batches = files.chunks(BATCH);
        jobs.extend(batches.map(|names| Job::Files(dir.clone(), path.to_owned(), names.to_vec())));
        Ok(())
    }

    fn put_files(
        &self,
        dir: &Opened<'_>,
        names: &[OsString],
        found: &mut WalkedFiles,
        buffer: &mut [u8],
    ) -> Result<(), PutError> {
        for name in names {
            if self.has_failed() {
                break;
            }
            let Some((file, stored)) = self.put_file(dir, name, buffer)? else { continue };
            found.files += 1;
            found.bytes += stored.digest.size;
            found.new_bytes += if stored.is_new { stored.digest.size } else { 0 };
            found.parts.entry(dir.path.to_owned()).or_default().files.push(file);
        }
        Ok(())
    }

    fn put_file(
        &self,
        dir: &Opened<'_>,
        name: &OsStr,
        buffer: &mut [u8],
    ) -> Result<Option<(ListedFile, Stored)>, PutError> {
        let path = || dir.path.join(name);
        let opened = self.fs.open_file(dir.fd, name).and_then(|file| {
            let status = self.fs.status_of(file.as_fd())?;
            Ok((file, status))
        });
        let (file, status) = match opened {
            Err(Errno::NOENT) => return Ok(None),
            result => result.map_err(|errno| unreadable(&path(), errno))?,
        };
        if status.kind != Kind::File {
            return Err(PutError::Kind { path: path() });
        }
        let bytes = self.bytes.fetch_add(status.size, Ordering::Relaxed);
        check(path, "bytes", bytes.saturating_add(status.size), self.bounds.bytes)?;
        let (limit, order) = (status.size, Order::ByPlace);
        let reading = Reading { fs: self.fs, file: file.as_fd(), from: 0, limit, order };
        let stored = match self.publishing.put_reading(&reading, buffer, None) {
            Err(StoreError::Source { errno }) => return Err(unreadable(&path(), errno)),
            result => result?,
        };
        let (name, executable) = (text(dir, name)?, status.mode & 0o111 != 0);
        Ok(Some((ListedFile { name, digest: stored.digest, executable }, stored)))
    }

    fn symlink(&self, dir: &Opened<'_>, name: &OsStr) -> Result<Option<ListedSymlink>, PutError> {
        let target = match self.fs.read_link(dir.fd, name) {
            Err(Errno::NOENT) => return Ok(None),
            result => result.map_err(|errno| unreadable(&dir.path.join(name), errno))?,
        };
        let target = target.into_string();
        let target = target.map_err(|_| PutError::Text { path: dir.path.join(name) })?;
        Ok(Some(ListedSymlink { name: text(dir, name)?, target }))
    }

    /// Counts a name, before anything is made of it.
    fn count(&self, dir: &Opened<'_>, name: &OsStr) -> Result<(), PutError> {
        text(dir, name)?;
        let path = || dir.path.join(name);
        let entries = self.entries.fetch_add(1, Ordering::Relaxed) + 1;
        check(path, "files and directories", entries, self.bounds.entries as u64)?;
        let (depth, length) = (dir.path.components().count(), path().as_os_str().len());
        check(path, "directories above one another", depth as u64, self.bounds.depth as u64)?;
        check(path, "bytes in a path", length as u64, self.bounds.path as u64)
    }

    /// Asks for the kind where the file system doesn't tell it; `None` for what vanished.
    fn kind(
        &self,
        dir: &Opened<'_>,
        name: &OsStr,
        kind: Option<Kind>,
    ) -> Result<Option<Kind>, PutError> {
        if kind.is_some() {
            return Ok(kind);
        }
        match self.fs.status(dir.fd, name) {
            Ok(status) => Ok(Some(status.kind)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(unreadable(&dir.path.join(name), errno)),
        }
    }

    fn open(&self, path: &Path) -> Result<OwnedFd, Errno> {
        self.fs.open_below(self.root, path, Open::List)
    }

    /// Keeps the first error; the others are of no use.
    fn fail(&self, error: PutError) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert(error);
    }

    fn has_failed(&self) -> bool {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

/// An open directory and its path.
struct Opened<'a> {
    fd: BorrowedFd<'a>,
    path: &'a Path,
}

impl WalkedFiles {
    fn merge(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.new_bytes += other.new_bytes;
        for (path, part) in other.parts {
            let whole = self.parts.entry(path).or_default();
            whole.files.extend(part.files);
            whole.symlinks.extend(part.symlinks);
        }
    }
}

fn text(dir: &Opened<'_>, name: &OsStr) -> Result<String, PutError> {
    let text = name.to_str().map(str::to_owned);
    text.ok_or_else(|| PutError::Text { path: dir.path.join(name) })
}

fn check(
    path: impl Fn() -> PathBuf,
    of: &'static str,
    is: u64,
    limit: u64,
) -> Result<(), PutError> {
    if is > limit {
        return Err(PutError::TooLarge { path: path(), of, limit });
    }
    Ok(())
}

fn unreadable(path: &Path, errno: Errno) -> PutError {
    PutError::Source { path: shown(path), errno }
}
