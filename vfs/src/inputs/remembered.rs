//! The digests of files, kept for the next walk, and those of directories that hold nothing but files.
//!
//! ```text
//! magic "endowin2" | root dev u64, ino u64 | directories u32 | directory... | SHA-256 of all before
//! directory: path (length u16, bytes) | hash [32], size u64 | length u32, names, each with a NUL behind it
//!            | record for each name: stamp, hash [32]
//! ```
//!
//! Names stand in their order. A directory of which no digest is known has one of size 0, which no message of
//! files has. How a stamp is written is in [`super::record`]. A file that is damaged is no file: everything is
//! hashed again.

use std::collections::HashMap;
use std::ffi::OsString;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use super::record::{Rest, STAMP, put_stamp, sealed, unsealed};
use super::stamp::Stamp;
use crate::cas::Digest;
use crate::fs::{FileId, Fs, read_own, write_anew};

const MAGIC: &[u8; 8] = b"endowin2";
/// The largest file that is read or written: room for two million files.
const SIZE: u64 = 512 << 20;
const HASH: usize = 32;
const RECORD: usize = STAMP + HASH;

/// A file's digest, and what it was when that was found.
pub(super) struct Record<'r> {
    pub(super) name: &'r str,
    pub(super) stamp: &'r Stamp,
    pub(super) digest: &'r Digest,
}

/// The files of a directory, in the order of their names, and its digest when they are all that it holds.
pub(super) struct Records<'r> {
    pub(super) path: &'r str,
    pub(super) digest: Option<Digest>,
    pub(super) files: Vec<Record<'r>>,
}

/// What is known of a directory.
#[derive(Clone, Copy)]
pub(super) struct Known<'r> {
    digest: Option<Digest>,
    names: &'r [u8],
    records: &'r [u8],
}

/// The digest, and where names and records stand.
struct Place {
    digest: Option<Digest>,
    names: Range<usize>,
    records: Range<usize>,
}

type Places = HashMap<String, Place>;

/// What is known of the files of a root.
pub(super) struct Remembered<'a> {
    fs: &'a dyn Fs,
    dir: Option<BorrowedFd<'a>>,
    root: FileId,
    bytes: Vec<u8>,
    places: Places,
}

impl<'a> Remembered<'a> {
    /// Reads what is there for a root.
    pub(super) fn load(fs: &'a dyn Fs, dir: Option<BorrowedFd<'a>>, root: FileId) -> Self {
        let mut remembered = Self { fs, dir, root, bytes: Vec::new(), places: HashMap::new() };
        let bytes = dir.and_then(|dir| read_own(fs, dir, &remembered.name(), SIZE).ok());
        if let Some((bytes, places)) =
            bytes.and_then(|it| parse(&it, root).map(|places| (it, places)))
        {
            (remembered.bytes, remembered.places) = (bytes, places);
        }
        remembered
    }

    /// Returns what is known of a directory.
    pub(super) fn directory(&self, path: &str) -> Option<Known<'_>> {
        let place = self.places.get(path)?;
        let names = self.bytes.get(place.names.clone())?;
        Some(Known { digest: place.digest, names, records: self.bytes.get(place.records.clone())? })
    }

    /// Returns how many files are known.
    pub(super) fn count(&self) -> usize {
        self.places.values().map(|place| place.records.len() / RECORD).sum()
    }

    /// Writes records in the place of what is known. A failure costs the next walk its time.
    pub(super) fn save(&self, directories: &[Records<'_>]) {
        let Some(dir) = self.dir else { return };
        let bytes = render(directories, self.root);
        if bytes.len() as u64 <= SIZE {
            let _ = write_anew(self.fs, dir, &self.name(), &bytes);
        }
    }

    fn name(&self) -> OsString {
        format!("inputs-{:x}-{:x}", self.root.dev, self.root.ino).into()
    }
}

impl Known<'_> {
    /// Returns the records of names, by their places, which are in order.
    pub(super) fn places<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<Option<usize>> {
        let own = self.names.split(|byte| *byte == 0);
        let mut own = own.enumerate().peekable();
        let mut place = |name: &str| {
            while own.next_if(|(_, it)| *it < name.as_bytes()).is_some() {}
            own.next_if(|(_, it)| *it == name.as_bytes()).map(|(at, _)| at)
        };
        names.map(&mut place).collect()
    }

    /// Returns the digest of the file at a place, when it is as it was.
    pub(super) fn file(&self, at: usize, stamp: &Stamp) -> Option<Digest> {
        let mut rest = Rest::new(self.records.get(at * RECORD..)?);
        let known = rest.stamp()?;
        (known == *stamp).then_some(Digest { hash: rest.array()?, size: stamp.size })
    }

    /// Returns the directory's digest, when it has as many files as before.
    pub(super) fn digest(&self, files: usize) -> Option<Digest> {
        self.digest.filter(|_| files == self.records.len() / RECORD)
    }
}

fn render(directories: &[Records<'_>], root: FileId) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend([root.dev, root.ino].iter().flat_map(|it| it.to_le_bytes()));
    bytes.extend(u32::try_from(directories.len()).unwrap_or(u32::MAX).to_le_bytes());
    for directory in directories {
        bytes.extend(u16::try_from(directory.path.len()).unwrap_or(u16::MAX).to_le_bytes());
        bytes.extend(directory.path.as_bytes());
        let digest = directory.digest.unwrap_or(Digest { hash: [0; HASH], size: 0 });
        bytes.extend(digest.hash);
        bytes.extend(digest.size.to_le_bytes());
        let length: usize = directory.files.iter().map(|it| it.name.len() + 1).sum();
        bytes.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        for record in &directory.files {
            bytes.extend(record.name.as_bytes());
            bytes.push(0);
        }
        for record in &directory.files {
            put_stamp(&mut bytes, record.stamp);
            bytes.extend(record.digest.hash);
        }
    }
    sealed(bytes)
}

fn parse(all: &[u8], root: FileId) -> Option<Places> {
    let bytes = unsealed(all)?;
    let mut rest = Rest::new(bytes.strip_prefix(MAGIC)?);
    if (FileId { dev: rest.u64()?, ino: rest.u64()? }) != root {
        return None;
    }
    let count = rest.u32()?;
    let mut places = HashMap::new();
    for _ in 0..count {
        let length = usize::from(u16::from_le_bytes(rest.array()?));
        let path = std::str::from_utf8(rest.take(length)?).ok()?.to_owned();
        let digest = Digest { hash: rest.array()?, size: rest.u64()? };
        let length = usize::try_from(rest.u32()?).ok()?;
        let from = bytes.len() - rest.left();
        let files = rest.take(length)?.split(|byte| *byte == 0).count() - 1;
        let to = from + length;
        rest.take(files * RECORD)?;
        let digest = Some(digest).filter(|it| it.size > 0);
        places.insert(path, Place { digest, names: from..to, records: to..to + files * RECORD });
    }
    rest.is_over().then_some(places)
}
