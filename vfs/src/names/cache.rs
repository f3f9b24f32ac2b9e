//! What a walk found, kept for the next one.
//!
//! One file for a root and the rules by which it was walked. A directory's record holds while its
//! device, inode, modification and change time do. A time is trusted only when it was two seconds
//! old at the start of the walk: within the grain of a file system's clock a name can come without
//! the time moving.

use std::ffi::{OsStr, OsString};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::WalkOptions;
use super::format::{Known, Records};
use super::list::Stamp;
use crate::fs::{COARSEST, FileId, Fs, Result, Timespec, read_own, write_anew};
use crate::hex;

const MAGIC: &[u8; 8] = b"endownm4";
/// The largest file that is written or read.
const SIZE: u64 = 64 << 20;
/// A walk is written down when more than one directory of so many was new.
const WORTH: u64 = 64;
/// More than a step of the kernel's clock, by which it notes times: 10 ms where it is coarsest (`CONFIG_HZ=100`).
const STEP: Duration = Duration::from_millis(20);
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
        // Enough of the digest to tell a few apart; the whole of it is in the file.
        let name = OsString::from(format!("{}{}", of_root(root), hex::digits(&rules[..8])));
        let header = options.cache.map(|cache| header(&cache.rules, root));
        let header = header.unwrap_or_default();
        let mut memory = Self { cache: options.cache, known: Known::default(), root, name, header };
        if let Some(bytes) =
            memory.cache.and_then(|it| read_own(it.fs, it.dir, &memory.name, SIZE).ok())
        {
            memory.known = Known::parse(bytes, &memory.header).unwrap_or_default();
        }
        memory
    }

    pub(super) fn known(&self) -> Option<&Known> {
        (!self.known.is_empty()).then_some(&self.known)
    }

    /// Returns whether a walk is to be written down.
    pub(super) fn is_kept(&self) -> bool {
        self.cache.is_some()
    }

    /// Writes down a walk that listed so many of its directories, if it learned something. A failure
    /// costs the next walk its time.
    pub(super) fn save(&self, records: &Records, directories: u64, listed: u64) {
        let Some(cache) = self.cache else { return };
        if listed * WORTH <= directories {
            return;
        }
        let bytes = records.render(&self.header);
        if bytes.len() as u64 <= SIZE {
            let _ = write_anew(cache.fs, cache.dir, &self.name, &bytes);
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

fn header(rules: &[u8; 32], root: FileId) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(rules);
    header.extend_from_slice(&root.dev.to_le_bytes());
    header.extend_from_slice(&root.ino.to_le_bytes());
    header
}

/// Returns whether a directory's times tell of all that happened before the walk `started`.
pub(super) fn is_settled(stamp: &Stamp, started: SystemTime) -> bool {
    let time = |time: Timespec| {
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        UNIX_EPOCH + Duration::from_secs(seconds) + COARSEST
    };
    // Whole seconds, so that a time just under the limit counts as fresh.
    time(stamp.modified) < started - Duration::from_secs(1)
        && time(stamp.changed) < started - Duration::from_secs(1)
}

/// Returns whether the next change of a directory will show in its times: within a step of the kernel's clock it may
/// not. One from the time to come tells as much as any other.
pub(super) fn is_at_rest(stamp: &Stamp, now: SystemTime) -> bool {
    let since = |time: Timespec| {
        let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
        let time = UNIX_EPOCH + Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), nanos);
        now.duration_since(time)
    };
    since(stamp.changed).map_or(true, |since| since > STEP)
}

#[cfg(test)]
mod tests;
