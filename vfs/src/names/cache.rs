//! What a walk found, kept for the next one.
//!
//! One file for a root and the rules by which it was walked. A directory's record holds while its device, inode, modification and change
//! time do. A time is trusted only when it was two seconds old at the start of the walk: within
//! the grain of a file system's clock a name can come without the time moving.
//!
//! ```text
//! magic "endownm2" | rules [32] | options u8 | root dev u64, ino u64 | records u32 | record...
//! record: path | dev, ino u64 | modified, changed (i64 s, u32 ns) | entries u32
//!         | hidden u32, (kind u8, name)... | noted u32, (kind u8, name)... | repository u8
//!         | children u32, name...
//! path, name: length u16, bytes. Last: checksum u64. All little-endian.
//! ```

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::list::{Record, Stamp};
use super::{Borders, Vendored, WalkOptions};
use crate::fs::{Errno, FileId, Fs, Kind, Result, Timespec};

const MAGIC: &[u8; 8] = b"endownm2";
/// The largest file that is written or read.
const SIZE: usize = 64 << 20;
/// A walk is written down when more than one directory of so many was new.
const WORTH: u64 = 64;
const GRAIN: Duration = Duration::from_secs(2);
/// The most files of other rules that are kept beside a root's new one.
const OTHERS: usize = 3;
/// The most names of the cache's directory that are looked at for them.
const LISTED: usize = 10_000;

/// Where walks are remembered.
#[derive(Clone, Copy)]
pub struct WalkCache<'a> {
    /// The file calls.
    pub fs: &'a dyn Fs,
    /// The directory of the cache: this user's, closed to others.
    pub dir: BorrowedFd<'a>,
    /// A digest of all that the rules depend on.
    pub rules: [u8; 32],
}

/// The records of a former walk, by path.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<Vec<u8>, Record>);

impl Known {
    pub(super) fn get(&self, path: &[u8]) -> Option<&Record> {
        self.0.get(path)
    }
}

/// The former walk and the place for this one.
pub(super) struct Memory<'a> {
    cache: Option<WalkCache<'a>>,
    known: Known,
    root: FileId,
    name: OsString,
    header: Vec<u8>,
}

impl<'a> Memory<'a> {
    /// Reads what is there for a root; what is damaged or made by other rules is not there.
    pub(super) fn load(options: &WalkOptions<'a>, root: FileId) -> Self {
        let rules = options.cache.map_or([0; 32], |cache| cache.rules);
        let name = OsString::from(format!("{}{}", of_root(root), hex(&rules)));
        let header = options.cache.map(|cache| header(&cache.rules, options, root));
        let header = header.unwrap_or_default();
        let mut memory = Self { cache: options.cache, known: Known::default(), root, name, header };
        if let Some(bytes) = memory.cache.and_then(|cache| read(&cache, &memory.name).ok()) {
            memory.known = parse(&bytes, &memory.header).unwrap_or_default();
        }
        memory
    }

    pub(super) fn known(&self) -> Option<&Known> {
        (!self.known.0.is_empty()).then_some(&self.known)
    }

    /// Writes this walk down, if it learned something. A failure costs the next walk its time.
    pub(super) fn save(&self, records: &mut Vec<Record>, started: SystemTime, listed: u64) {
        let Some(cache) = self.cache else { return };
        if listed * WORTH <= records.len() as u64 {
            return;
        }
        records.retain(|record| is_settled(&record.stamp, started));
        let bytes = render(&self.header, records);
        if bytes.len() <= SIZE {
            let _ = write(&cache, &self.name, &bytes);
            let _ = self.forget_others(&cache);
        }
    }

    /// Takes away what is remembered by rules that may never come again, when there is much of it.
    fn forget_others(&self, cache: &WalkCache<'_>) -> Result<()> {
        let entries = cache.fs.list(cache.dir, LISTED)?;
        let beginning = of_root(self.root);
        let is_other =
            |name: &OsStr| name.as_bytes().starts_with(beginning.as_bytes()) && *name != self.name;
        let others: Vec<OsString> =
            entries.into_iter().map(|entry| entry.name).filter(|name| is_other(name)).collect();
        if others.len() <= OTHERS {
            return Ok(());
        }
        others.iter().try_for_each(|name| cache.fs.unlink(cache.dir, name))
    }
}

/// How the names of all files about a root begin.
fn of_root(root: FileId) -> String {
    format!("names-{:x}-{:x}-", root.dev, root.ino)
}

/// Enough of a digest to tell a few apart; the whole of it is in the file.
fn hex(rules: &[u8; 32]) -> String {
    rules.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn header(rules: &[u8; 32], options: &WalkOptions<'_>, root: FileId) -> Vec<u8> {
    let borders = u8::from(options.borders == Borders::Cross);
    let vendored = u8::from(options.vendored == Vendored::Enter);
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(rules);
    header.push(borders | vendored << 1);
    header.extend_from_slice(&root.dev.to_le_bytes());
    header.extend_from_slice(&root.ino.to_le_bytes());
    header
}

fn is_settled(stamp: &Stamp, started: SystemTime) -> bool {
    let time = |time: Timespec| {
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        UNIX_EPOCH + Duration::from_secs(seconds) + GRAIN
    };
    // Whole seconds, so that a time just under the limit counts as fresh.
    time(stamp.modified) < started - Duration::from_secs(1)
        && time(stamp.changed) < started - Duration::from_secs(1)
}

fn read(cache: &WalkCache<'_>, name: &OsStr) -> Result<Vec<u8>> {
    let file = cache.fs.open_file(cache.dir, name)?;
    let status = cache.fs.status_of(file.as_fd())?;
    let size = usize::try_from(status.size).unwrap_or(usize::MAX);
    let is_own = status.uid == rustix::process::geteuid().as_raw() && status.mode & 0o022 == 0;
    if status.kind != Kind::File || size > SIZE || !is_own {
        return Err(Errno::INVAL);
    }
    let mut bytes = vec![0; size];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match cache.fs.read(file.as_fd(), rest)? {
            0 => return Err(Errno::INVAL),
            length => filled += length,
        }
    }
    Ok(bytes)
}

fn write(cache: &WalkCache<'_>, name: &OsStr, bytes: &[u8]) -> Result<()> {
    let mut temporary = name.to_owned();
    temporary.push(format!(".{}.tmp", rustix::process::getpid().as_raw_nonzero()));
    let result = write_new(cache, &temporary, bytes)
        .and_then(|()| cache.fs.rename(cache.dir, &temporary, name));
    if result.is_err() {
        let _ = cache.fs.unlink(cache.dir, &temporary);
    }
    result
}

fn write_new(cache: &WalkCache<'_>, name: &OsStr, mut bytes: &[u8]) -> Result<()> {
    let file = cache.fs.create_file(cache.dir, name)?;
    while !bytes.is_empty() {
        let length = cache.fs.write(file.as_fd(), bytes)?;
        bytes = bytes.get(length..).unwrap_or_default();
    }
    Ok(())
}

fn render(header: &[u8], records: &[Record]) -> Vec<u8> {
    let mut bytes = header.to_vec();
    put_count(&mut bytes, records.len());
    for record in records {
        put_record(&mut bytes, record);
    }
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
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
    bytes.push(u8::from(record.is_repository));
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

fn parse(bytes: &[u8], header: &[u8]) -> Option<Known> {
    let (content, sum) = bytes.split_last_chunk::<8>()?;
    if u64::from_le_bytes(*sum) != checksum(content) {
        return None;
    }
    let mut reader = Reader(content.strip_prefix(header)?);
    let count = reader.u32()?;
    let mut known = Known::default();
    for _ in 0..count {
        let record = reader.record()?;
        known.0.insert(record.path.clone(), record);
    }
    reader.0.is_empty().then_some(known)
}

/// What is left of a file.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn record(&mut self) -> Option<Record> {
        let path = self.name()?;
        let id = FileId { dev: self.u64()?, ino: self.u64()? };
        let stamp = Stamp { id, modified: self.time()?, changed: self.time()? };
        let entries = self.u32()?;
        let (hidden, noted) = (self.names()?, self.names()?);
        let is_repository = self.u8()? != 0;
        let children = (0..self.u32()?).map(|_| self.name()).collect::<Option<_>>()?;
        Some(Record { path, stamp, entries, hidden, noted, is_repository, children })
    }

    fn names(&mut self) -> Option<Vec<(Kind, Vec<u8>)>> {
        (0..self.u32()?).map(|_| Some((kind(self.u8()?)?, self.name()?))).collect()
    }

    fn name(&mut self) -> Option<Vec<u8>> {
        let length = u16::from_le_bytes(self.chunk()?);
        let (name, rest) = self.0.split_at_checked(length.into())?;
        self.0 = rest;
        Some(name.to_vec())
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
