//! How a walk is written down.
//!
//! ```text
//! magic "endownm4" | rules [32] | root dev u64, ino u64 | records u32 | record...
//! record: path | dev, ino u64 | modified, changed (i64 s, u32 ns) | entries u32
//!         | hidden u32, (kind u8, name)... | noted u32, (kind u8, name)...
//!         | repository 1, git's own 2 u8
//!         | children u32, name...
//! path, name: length u16, bytes. Last: checksum u64. All little-endian.
//! ```

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::list::{Record, Stamp};
use crate::fs::{FileId, Kind, Timespec};

/// The bytes of a record between its path and its names: device, inode, two times, entries.
const STATE: usize = 2 * 8 + 2 * (8 + 4) + 4;

/// Records of a walk, as they are written.
#[derive(Debug, Default)]
pub(super) struct Records {
    bytes: Vec<u8>,
    count: usize,
}

impl Records {
    pub(super) fn push(&mut self, record: &Record) {
        put_record(&mut self.bytes, record);
        self.count += 1;
    }

    pub(super) fn append(&mut self, other: &Self) {
        self.bytes.extend_from_slice(&other.bytes);
        self.count += other.count;
    }

    /// Returns the whole file.
    pub(super) fn render(&self, header: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(header.len() + self.bytes.len() + 12);
        bytes.extend_from_slice(header);
        put_count(&mut bytes, self.count);
        bytes.extend_from_slice(&self.bytes);
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }
}

/// The records of a former walk, which are read when they are asked for.
#[derive(Debug, Default)]
pub(super) struct Known {
    bytes: Vec<u8>,
    /// Where records begin, by a hash of their paths.
    places: HashMap<u64, u32>,
    hasher: RandomState,
}

impl Known {
    /// Reads a whole file, if it is undamaged and begins like this.
    pub(super) fn parse(bytes: Vec<u8>, header: &[u8]) -> Option<Self> {
        let (content, sum) = bytes.split_last_chunk::<8>()?;
        if u64::from_le_bytes(*sum) != checksum(content) {
            return None;
        }
        let mut reader = Reader(content.strip_prefix(header)?);
        let (count, hasher) = (reader.u32()?, RandomState::new());
        let mut places = HashMap::new();
        for _ in 0..count {
            let place = content.len() - reader.0.len();
            let path = reader.pass()?;
            places.insert(hasher.hash_one(path), u32::try_from(place).ok()?);
        }
        reader.0.is_empty().then_some(())?;
        Some(Self { bytes, places, hasher })
    }

    /// Returns what is known of a directory.
    pub(super) fn get(&self, path: &[u8]) -> Option<Record> {
        let place = *self.places.get(&self.hasher.hash_one(path))?;
        let record = Reader(self.bytes.get(place as usize..)?).record()?;
        // Two paths may have the same hash.
        (record.path == path).then_some(record)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

fn put_record(bytes: &mut Vec<u8>, record: &Record) {
    put_name(bytes, &record.path);
    bytes.extend_from_slice(&record.stamp.id.dev.to_le_bytes());
    bytes.extend_from_slice(&record.stamp.id.ino.to_le_bytes());
    put_time(bytes, record.stamp.modified);
    put_time(bytes, record.stamp.changed);
    bytes.extend_from_slice(&record.entries.to_le_bytes());
    put_names(bytes, &record.hidden);
    put_names(bytes, &record.noted);
    bytes.push(u8::from(record.is_repository) | u8::from(record.is_git) << 1);
    put_count(bytes, record.children.len());
    for name in &record.children {
        put_name(bytes, name);
    }
}

fn put_names(bytes: &mut Vec<u8>, names: &[(Kind, Vec<u8>)]) {
    put_count(bytes, names.len());
    for (kind, name) in names {
        bytes.push(kind_byte(*kind));
        put_name(bytes, name);
    }
}

fn put_count(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

fn put_name(bytes: &mut Vec<u8>, name: &[u8]) {
    // The walk goes 128 names deep, so a path has at most 32 KiB.
    bytes.extend_from_slice(&u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes());
    bytes.extend_from_slice(name);
}

fn put_time(bytes: &mut Vec<u8>, time: Timespec) {
    bytes.extend_from_slice(&time.tv_sec.to_le_bytes());
    bytes.extend_from_slice(&u32::try_from(time.tv_nsec).unwrap_or(0).to_le_bytes());
}

/// What is left of a file.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn record(&mut self) -> Option<Record> {
        let path = self.name()?.to_vec();
        let id = FileId { dev: self.u64()?, ino: self.u64()? };
        let stamp = Stamp { id, modified: self.time()?, changed: self.time()? };
        let entries = self.u32()?;
        let (hidden, noted) = (self.names()?, self.names()?);
        let what = self.u8()?;
        let (is_repository, is_git) = (what & 1 != 0, what & 2 != 0);
        let children = (0..self.u32()?).map(|_| Some(self.name()?.to_vec()));
        let children = children.collect::<Option<_>>()?;
        Some(Record { path, stamp, entries, hidden, noted, is_repository, is_git, children })
    }

    fn names(&mut self) -> Option<Vec<(Kind, Vec<u8>)>> {
        (0..self.u32()?).map(|_| Some((kind(self.u8()?)?, self.name()?.to_vec()))).collect()
    }

    /// Passes a record, and returns its path.
    fn pass(&mut self) -> Option<&'a [u8]> {
        let path = self.name()?;
        self.chunk::<STATE>()?;
        for _ in 0..2 {
            for _ in 0..self.u32()? {
                kind(self.u8()?)?;
                self.name()?;
            }
        }
        self.u8()?;
        for _ in 0..self.u32()? {
            self.name()?;
        }
        Some(path)
    }

    fn name(&mut self) -> Option<&'a [u8]> {
        let length = u16::from_le_bytes(self.chunk()?);
        let (name, rest) = self.0.split_at_checked(length.into())?;
        self.0 = rest;
        Some(name)
    }

    fn time(&mut self) -> Option<Timespec> {
        let tv_sec = i64::from_le_bytes(self.chunk()?);
        Some(Timespec { tv_sec, tv_nsec: self.u32()?.into() })
    }

    fn u64(&mut self) -> Option<u64> {
        self.chunk().map(u64::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.chunk().map(u32::from_le_bytes)
    }

    fn u8(&mut self) -> Option<u8> {
        self.chunk().map(|[byte]: [u8; 1]| byte)
    }

    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (chunk, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*chunk)
    }
}

/// Finds damage, not malice: the directory is closed to others. FNV-1a over words.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    let sum = words.iter().fold(0xcbf2_9ce4_8422_2325, |sum, w| step(sum, u64::from_le_bytes(*w)));
    rest.iter().fold(sum, |sum, byte| step(sum, (*byte).into()))
}

fn kind_byte(kind: Kind) -> u8 {
    match kind {
        Kind::File => 0,
        Kind::Directory => 1,
        Kind::Symlink => 2,
        Kind::Other => 3,
    }
}

fn kind(byte: u8) -> Option<Kind> {
    [Kind::File, Kind::Directory, Kind::Symlink, Kind::Other].get(usize::from(byte)).copied()
}

#[cfg(test)]
mod tests;
