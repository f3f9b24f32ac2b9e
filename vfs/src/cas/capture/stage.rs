//! New objects, until they are published.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use super::CaptureError;
use super::error::failed;
use crate::cas::{Digest, Hasher};
use crate::fs::{Errno, Fs, Open, room, write_all};

const CHUNK: usize = 128 << 10;

/// A directory of objects that only its maker uses.
pub(super) struct Staging<'a> {
    fs: &'a dyn Fs,
    root: BorrowedFd<'a>,
    known: HashSet<Digest>,
    buffer: Vec<u8>,
}

impl<'a> Staging<'a> {
    pub(super) fn new(fs: &'a dyn Fs, root: BorrowedFd<'a>) -> Self {
        Self { fs, root, known: HashSet::new(), buffer: Vec::new() }
    }

    /// Returns how many objects there are.
    pub(super) fn count(&self) -> u64 {
        self.known.len() as u64
    }

    pub(super) fn put(&mut self, bytes: &[u8], path: &Path) -> Result<Digest, CaptureError> {
        let digest = Digest::of(bytes);
        if self.known.insert(digest) {
            let file = self.create(&digest, path)?;
            write_all(self.fs, file.as_fd(), bytes).map_err(failed("write the object of", path))?;
        }
        Ok(digest)
    }

    /// Returns the digest of a file, which has as many bytes as its size says.
    pub(super) fn hash(
        &mut self,
        file: BorrowedFd<'_>,
        size: u64,
        path: &Path,
    ) -> Result<Digest, CaptureError> {
        self.make_room(size);
        let mut hasher = Hasher::default();
        while hasher.size() <= size {
            let read = self.fs.read_at(file, &mut self.buffer, hasher.size());
            match read.map_err(failed("read", path))? {
                0 => break,
                length => hasher.update(self.buffer.get(..length).unwrap_or_default()),
            }
        }
        // Nobody is left who could change it, so this is the file system's doing.
        if hasher.size() == size {
            Ok(hasher.finish())
        } else {
            Err(failed("read", path)(Errno::IO))
        }
    }

    /// Makes the buffer as large as is of use for a file of this size.
    fn make_room(&mut self, size: u64) {
        let wanted = room(size, CHUNK);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
    }

    /// Copies a file of which the digest is known; it is hashed again before it is published.
    pub(super) fn put_file(
        &mut self,
        file: BorrowedFd<'_>,
        digest: &Digest,
        path: &Path,
    ) -> Result<(), CaptureError> {
        if !self.known.insert(*digest) {
            return Ok(());
        }
        self.make_room(digest.size);
        let (object, mut at) = (self.create(digest, path)?, 0);
        while at < digest.size {
            let read = self.fs.read_at(file, &mut self.buffer, at).map_err(failed("read", path))?;
            let bytes = self.buffer.get(..read).unwrap_or_default();
            if bytes.is_empty() {
                break;
            }
            let written = write_all(self.fs, object.as_fd(), bytes);
            written.map_err(failed("write the object of", path))?;
            at += read as u64;
        }
        Ok(())
    }

    fn create(&self, digest: &Digest, path: &Path) -> Result<OwnedFd, CaptureError> {
        let digits = digest.to_hex();
        let (fan, name) = digits.split_at(2);
        match self.fs.make_dir(self.root, OsStr::new(fan), 0o700) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed("make a directory for", path)(errno)),
        }
        let opened = self.fs.open_below(self.root, Path::new(fan), Open::Handle);
        let created = opened.and_then(|fan| self.fs.create_file(fan.as_fd(), OsStr::new(name)));
        created.map_err(failed("create the object of", path))
    }
}
