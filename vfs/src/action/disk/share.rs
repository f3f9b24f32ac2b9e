//! A result and its contents, from the store into the disk cache.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{CONTENTS, DiskCache, DiskCacheError, RESULTS, failed, made_below, place};
use crate::action::ActionResult;
use crate::cas::{Damage, Digest, Hasher, Store, StoreError, closure};
use crate::fs::{At, Errno, write_all};

/// Bytes that are copied at a time.
const CHUNK: usize = 64 * 1024;

impl DiskCache<'_> {
    /// Puts a result there, once all that it names is.
    ///
    /// # Errors
    /// The store lacks a content or has it damaged, or a failing call. A part of the contents may be there
    /// then, the result is not.
    pub fn share(
        &self,
        action: &Digest,
        result: &ActionResult,
        store: &Store<'_>,
    ) -> Result<(), DiskCacheError> {
        let (contents, directories) = (result.contents(), result.directories());
        for digest in closure(store, contents.copied(), directories.copied())? {
            self.put(&digest, store)?;
        }
        let (fan, name) = place(action);
        let path = self.path.join(RESULTS).join(&fan).join(&name);
        let written = made_below(self.fs, &self.results, &fan).and_then(|dir| {
            self.make(&dir, &name, |file| {
                write_all(self.fs, file.as_fd(), &result.encode()).map(|()| true)
            })
        });
        written.map(drop).map_err(failed("write", &path))
    }

    /// Makes a file, and puts it in the place of what has the name when it is what it is to be; returns that.
    fn make(
        &self,
        dir: &OwnedFd,
        name: &str,
        write: impl FnOnce(&OwnedFd) -> Result<bool, Errno>,
    ) -> Result<bool, Errno> {
        let (temporary, dir) = (temporary(name), dir.as_fd());
        let file = self.fs.create_file_as(At { dir, name: &temporary }, 0o644)?;
        let place = || self.fs.rename(dir, &temporary, OsStr::new(name)).map(|()| true);
        let made = write(&file).and_then(|is_it| if is_it { place() } else { Ok(false) });
        if made != Ok(true) {
            let _ = self.fs.unlink(dir, &temporary);
        }
        made
    }

    fn put(&self, digest: &Digest, store: &Store<'_>) -> Result<(), DiskCacheError> {
        let (fan, name) = place(digest);
        let path = self.path.join(CONTENTS).join(&fan).join(&name);
        let dir = made_below(self.fs, &self.contents, &fan).map_err(failed("open", &path))?;
        match self.fs.status(dir.as_fd(), OsStr::new(&name)) {
            Ok(it) if it.size == digest.size => return Ok(()),
            // There is none, or half of it, from before the machine lost its power.
            Ok(_) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(failed("look at", &path)(errno)),
        }
        let object = store.open_object(digest)?;
        let is_it = |file: &OwnedFd| self.copy(&object, file, digest).map(|found| found == *digest);
        let is_made = self.make(&dir, &name, is_it).map_err(failed("write", &path))?;
        let damaged = StoreError::Damaged { digest: *digest, damage: Damage::Hash };
        if is_made { Ok(()) } else { Err(damaged.into()) }
    }

    /// Copies a content, and returns what it was.
    fn copy(&self, object: &OwnedFd, file: &OwnedFd, digest: &Digest) -> Result<Digest, Errno> {
        let (mut hashing, mut buffer) = (Hasher::default(), vec![0; CHUNK]);
        while hashing.size() <= digest.size {
            let length = self.fs.read(object.as_fd(), &mut buffer)?;
            if length == 0 {
                break;
            }
            let bytes = buffer.get(..length).unwrap_or_default();
            hashing.update(bytes);
            write_all(self.fs, file.as_fd(), bytes)?;
        }
        Ok(hashing.finish())
    }
}

/// A name that no other process has: those of containers may have the same numbers.
fn temporary(name: &str) -> OsString {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let process = rustix::process::getpid().as_raw_nonzero();
    format!("{name}.{process}.{}.tmp", since.as_nanos()).into()
}
