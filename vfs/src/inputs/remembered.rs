//! The digests of files, kept for the next walk.
//!
//! ```text
//! magic "endowin1" | root dev u64, ino u64 | records u32 | record... | SHA-256 of all before
//! record: path (length u16, bytes) | dev, ino, size u64 | mode u32 | modified, changed (i64 s, u32 ns)
//!         | hash [32]
//! ```
//!
//! All numbers are little-endian. A file that is damaged is no file: everything is hashed again.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::fd::BorrowedFd;

use sha2::{Digest as _, Sha256};

use super::stamp::Stamp;
use crate::cas::Digest;
use crate::fs::{FileId, Fs, read_own, write_anew};

const MAGIC: &[u8; 8] = b"endowin1";
const SUM: usize = 32;
/// The largest file that is read or written: room for two million files.
const SIZE: u64 = 512 << 20;

/// A file's digest, and what it was when that was found.
pub(super) type Record = (Stamp, [u8; 32]);

/// What is known of the files of a root.
pub(super) struct Remembered<'a> {
    fs: &'a dyn Fs,
    dir: Option<BorrowedFd<'a>>,
    root: FileId,
    known: HashMap<String, Record>,
}

impl<'a> Remembered<'a> {
    /// Reads what is there for a root.
    pub(super) fn load(fs: &'a dyn Fs, dir: Option<BorrowedFd<'a>>, root: FileId) -> Self {
        let mut remembered = Self { fs, dir, root, known: HashMap::new() };
        let bytes = dir.and_then(|dir| read_own(fs, dir, &remembered.name(), SIZE).ok());
        remembered.known = bytes.and_then(|it| parse(&it, root)).unwrap_or_default();
        remembered
    }

    /// Returns the digest of a file that is as it was.
    pub(super) fn digest(&self, path: &str, stamp: &Stamp) -> Option<Digest> {
        let (known, hash) = self.known.get(path)?;
        (known == stamp).then_some(Digest { hash: *hash, size: stamp.size })
    }

    /// Returns how many files are known.
    pub(super) fn count(&self) -> usize {
        self.known.len()
    }

    /// Writes records in the place of what is known. A failure costs the next walk its time.
    pub(super) fn save(&self, records: &[(&str, Record)]) {
        let Some(dir) = self.dir else { return };
        let bytes = render(records, self.root);
        if bytes.len() as u64 <= SIZE {
            let _ = write_anew(self.fs, dir, &self.name(), &bytes);
        }
    }

    fn name(&self) -> OsString {
        format!("inputs-{:x}-{:x}", self.root.dev, self.root.ino).into()
    }
}

fn render(records: &[(&str, Record)], root: FileId) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend([root.dev, root.ino].iter().flat_map(|it| it.to_le_bytes()));
    bytes.extend(u32::try_from(records.len()).unwrap_or(u32::MAX).to_le_bytes());
    for (path, (stamp, hash)) in records {
        bytes.extend(u16::try_from(path.len()).unwrap_or(u16::MAX).to_le_bytes());
        bytes.extend(path.as_bytes());
        let numbers = [stamp.id.dev, stamp.id.ino, stamp.size];
        bytes.extend(numbers.iter().flat_map(|it| it.to_le_bytes()));
        bytes.extend(stamp.mode.to_le_bytes());
        for (seconds, nanos) in [stamp.modified, stamp.changed] {
            bytes.extend(seconds.to_le_bytes());
            bytes.extend(nanos.to_le_bytes());
        }
        bytes.extend(hash);
    }
    let sum: [u8; SUM] = Sha256::digest(&bytes).into();
    bytes.extend(sum);
    bytes
}

fn parse(bytes: &[u8], root: FileId) -> Option<HashMap<String, Record>> {
    let (bytes, sum) = bytes.split_at_checked(bytes.len().checked_sub(SUM)?)?;
    if sum != Sha256::digest(bytes).as_slice() {
        return None;
    }
    let mut rest = Rest(bytes.strip_prefix(MAGIC)?);
    if (FileId { dev: rest.u64()?, ino: rest.u64()? }) != root {
        return None;
    }
    let count = rest.u32()?;
    let mut known = HashMap::with_capacity(bytes.len() / 128);
    for _ in 0..count {
        let length = usize::from(u16::from_le_bytes(rest.array()?));
        let path = std::str::from_utf8(rest.take(length)?).ok()?.to_owned();
        let id = FileId { dev: rest.u64()?, ino: rest.u64()? };
        let (size, mode) = (rest.u64()?, rest.u32()?);
        let [modified, changed] = [rest.time()?, rest.time()?];
        let hash = rest.array()?;
        known.insert(path, (Stamp { id, size, mode, modified, changed }, hash));
    }
    rest.0.is_empty().then_some(known)
}

/// What is still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn time(&mut self) -> Option<(i64, u32)> {
        Some((i64::from_le_bytes(self.array()?), self.u32()?))
    }
}
