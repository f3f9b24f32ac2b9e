//! Files that are being written, under names that nobody takes for objects.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use super::store::{check, failed};
use super::{Digest, Store, StoreError};
use crate::fs::{At, Errno, Fs, Kind, Result};

/// Other tools that share the directory have names of their own.
const PREFIX: &str = "endow-";
const OBJECT_MODE: u32 = 0o444;
/// How often a name is tried that others take or sweep.
const TRIES: usize = 64;

/// A file in `tmp`: locked while its writer lives, removed with it unless it was published.
pub(super) struct Temporary<'a> {
    store: &'a Store<'a>,
    name: OsString,
    file: OwnedFd,
    /// After a rename the name is free, and may be another writer's soon.
    is_named: bool,
}

impl<'a> Temporary<'a> {
    /// Makes an empty file.
    pub(super) fn create(store: &'a Store<'a>) -> std::result::Result<Self, StoreError> {
        let created = (0..TRIES).find_map(|_| {
            let name = unique_name();
            let file = create_locked(store.fs, store.temporary.as_fd(), &name).transpose()?;
            Some(file.map(|file| Self { store, name, file, is_named: true }))
        });
        let created = created.unwrap_or(Err(Errno::EXIST));
        created.map_err(failed("create a file", store.path().join("tmp")))
    }

    /// Returns the file, open for writing.
    pub(super) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Makes the file the object of this name, unless there is a sound one. Returns whether it did.
    pub(super) fn publish(mut self, digest: &Digest) -> std::result::Result<bool, StoreError> {
        let store = self.store;
        let (fan, name) = store.fan(digest)?;
        let published = self.place(digest, At { dir: fan.as_fd(), name: &name });
        published.map_err(failed("publish", store.object_path(digest)))
    }

    fn place(&mut self, digest: &Digest, to: At<'_>) -> Result<bool> {
        let fs = self.store.fs;
        fs.set_mode(self.file.as_fd(), OBJECT_MODE)?;
        let from = At { dir: self.store.temporary.as_fd(), name: &self.name };
        match fs.rename_new(from, to) {
            Ok(()) => {
                self.is_named = false;
                return Ok(true);
            }
            Err(Errno::EXIST) => {}
            // Not every file system has this rename; a further name of the file does the same.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => match fs.link(from, to) {
                Err(Errno::EXIST) => {}
                result => return result.map(|()| true),
            },
            Err(errno) => return Err(errno),
        }
        let there = fs.status(to.dir, to.name)?;
        if check(digest, &there).is_ok() {
            self.store.touch(to.dir, to.name, &there);
            return Ok(false);
        }
        // A machine that crashed leaves objects without their bytes. What was there goes away
        // with the temporary name.
        fs.exchange(from, to)?;
        Ok(true)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if self.is_named {
            let _ = self.store.fs.unlink(self.store.temporary.as_fd(), &self.name);
        }
    }
}

impl Store<'_> {
    /// Removes what writers left that are dead, and returns how many files.
    ///
    /// # Errors
    /// A failing call.
    pub fn sweep(&self) -> std::result::Result<usize, StoreError> {
        let failed = || failed("sweep", self.path().join("tmp"));
        let entries = self.fs.list(self.temporary.as_fd(), usize::MAX).map_err(failed())?;
        let mut swept = 0;
        for entry in entries.iter().filter(|entry| is_ours(&entry.name)) {
            let is_swept = sweep(self.fs, self.temporary.as_fd(), &entry.name);
            swept += usize::from(is_swept.map_err(failed())?);
        }
        Ok(swept)
    }
}

/// Returns a name that no other thread and, by its number, hardly another process has.
pub(super) fn unique_name() -> OsString {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let process = rustix::process::getpid().as_raw_nonzero();
    format!("{PREFIX}{process}-{}", COUNT.fetch_add(1, Ordering::Relaxed)).into()
}

/// Creates a file and locks it; `None` when the name is taken, or when a sweep was faster than
/// the lock.
pub(super) fn create_locked(
    fs: &dyn Fs,
    at: BorrowedFd<'_>,
    name: &OsStr,
) -> Result<Option<OwnedFd>> {
    let file = match fs.create_file(at, name) {
        Err(Errno::EXIST) => return Ok(None),
        result => result?,
    };
    let locked = fs.lock(file.as_fd()).and_then(|()| {
        let id = fs.status_of(file.as_fd())?.id;
        Ok(fs.status(at, name)?.id == id)
    });
    match locked {
        Ok(true) => Ok(Some(file)),
        Ok(false) | Err(Errno::WOULDBLOCK | Errno::NOENT) => Ok(None),
        Err(errno) => {
            let _ = fs.unlink(at, name);
            Err(errno)
        }
    }
}

/// Removes a file whose writer holds no lock any more.
fn sweep(fs: &dyn Fs, at: BorrowedFd<'_>, name: &OsStr) -> Result<bool> {
    let is_dead = fs.open_file(at, name).and_then(|file| {
        let status = fs.status_of(file.as_fd())?;
        if status.kind != Kind::File {
            return Ok(false);
        }
        fs.lock(file.as_fd())?;
        // Meanwhile the name may be another writer's, or none: that one publishes.
        if fs.status(at, name)?.id != status.id {
            return Ok(false);
        }
        fs.unlink(at, name)?;
        Ok(true)
    });
    match is_dead {
        Err(Errno::NOENT | Errno::WOULDBLOCK | Errno::LOOP) => Ok(false),
        result => result,
    }
}

fn is_ours(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(PREFIX))
}
