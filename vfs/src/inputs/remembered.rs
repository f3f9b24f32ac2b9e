//! The digests of files, kept for the next walk.
//!
//! ```text
//! magic "endowin1" | root dev u64, ino u64 | records u32 | record... | SHA-256 of all before
//! record: path (length u16, bytes) | stamp | hash [32]
//! ```
//!
//! How a stamp is written is in [`super::record`]. A file that is damaged is no file: everything is hashed again.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::fd::BorrowedFd;

use super::record::{Rest, put_stamp, sealed, unsealed};
use super::stamp::Stamp;
use crate::cas::Digest;
use crate::fs::{FileId, Fs, read_own, write_anew};

const MAGIC: &[u8; 8] = b"endowin1";
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
        put_stamp(&mut bytes, stamp);
        bytes.extend(hash);
    }
    sealed(bytes)
}

fn parse(bytes: &[u8], root: FileId) -> Option<HashMap<String, Record>> {
    let bytes = unsealed(bytes)?;
    let mut rest = Rest::new(bytes.strip_prefix(MAGIC)?);
    if (FileId { dev: rest.u64()?, ino: rest.u64()? }) != root {
        return None;
    }
    let count = rest.u32()?;
    let mut known = HashMap::with_capacity(bytes.len() / 128);
    for _ in 0..count {
        let length = usize::from(u16::from_le_bytes(rest.array()?));
        let path = std::str::from_utf8(rest.take(length)?).ok()?.to_owned();
        let stamp = rest.stamp()?;
        known.insert(path, (stamp, rest.array()?));
    }
    rest.is_over().then_some(known)
}
