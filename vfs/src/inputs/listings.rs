//! The names in directories, kept for the next look: a directory whose times did not change has the
//! names that it had.
//!
//! ```text
//! magic "endowls1" | directories u32 | directory... | SHA-256 of all before
//! directory: path (length u16, bytes) | stamp | length u32, names, each with a NUL behind it
//! ```
//!
//! A file that is damaged is no file: everything is listed again.

use std::collections::HashMap;
use std::ffi::{CStr, OsStr, OsString};
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::record::{Rest, put_stamp, sealed, unsealed};
use super::stamp::Stamp;
use crate::fs::{FileId, Fs, read_own, write_anew};

const MAGIC: &[u8; 8] = b"endowls1";
/// The largest file that is read or written: room for some million names.
const SIZE: u64 = 256 << 20;

/// Directories by their paths: what each was, and where its names are kept.
type Known = HashMap<Vec<u8>, (Stamp, Range<usize>)>;

/// One directory: its path, what it was when it was listed, and its names as they are kept.
pub(super) struct Listing {
    pub(super) path: Vec<u8>,
    pub(super) stamp: Stamp,
    pub(super) names: Vec<u8>,
}

/// What is known of the directories below a root.
pub(super) struct Listings<'a> {
    fs: &'a dyn Fs,
    dir: Option<BorrowedFd<'a>>,
    name: OsString,
    bytes: Vec<u8>,
    known: Known,
}

impl<'a> Listings<'a> {
    /// Reads what is there for a root.
    pub(super) fn load(fs: &'a dyn Fs, dir: Option<BorrowedFd<'a>>, root: FileId) -> Self {
        let name = OsString::from(format!("names-{:x}-{:x}", root.dev, root.ino));
        let bytes = dir.and_then(|dir| read_own(fs, dir, &name, SIZE).ok()).unwrap_or_default();
        let known = parse(&bytes).unwrap_or_default();
        Self { fs, dir, name, bytes, known }
    }

    /// Returns the names in a directory that is as it was, in their order.
    pub(super) fn names(&self, path: &Path, stamp: &Stamp) -> Option<Vec<&OsStr>> {
        let (known, at) = self.known.get(path.as_os_str().as_bytes())?;
        let mut rest = self.bytes.get(at.clone()).filter(|_| known == stamp)?;
        let next = || {
            let name = CStr::from_bytes_until_nul(rest).ok()?.to_bytes();
            rest = rest.get(name.len() + 1..)?;
            Some(OsStr::from_bytes(name))
        };
        Some(std::iter::from_fn(next).collect())
    }

    /// Returns how many directories are known.
    pub(super) fn count(&self) -> usize {
        self.known.len()
    }

    /// Adds some to those that are still known of `seen`, and forgets the others. A failure costs the next
    /// look its time.
    pub(super) fn save(&self, new: &[Listing], seen: &[&Path]) {
        let Some(dir) = self.dir else { return };
        let mut bytes = MAGIC.to_vec();
        bytes.extend([0; 4]);
        let old = seen.iter().filter_map(|path| {
            let path = path.as_os_str().as_bytes();
            let (stamp, at) = self.known.get(path)?;
            Some((path, stamp, self.bytes.get(at.clone())?))
        });
        let new = new.iter().map(|it| (&*it.path, &it.stamp, &*it.names));
        let mut count = 0_u32;
        for (path, stamp, names) in old.chain(new) {
            let lengths = (u16::try_from(path.len()), u32::try_from(names.len()));
            let (Ok(path_length), Ok(length)) = lengths else { continue };
            bytes.extend(path_length.to_le_bytes());
            bytes.extend(path);
            put_stamp(&mut bytes, stamp);
            bytes.extend(length.to_le_bytes());
            bytes.extend(names);
            count += 1;
        }
        if let Some(place) = bytes.get_mut(MAGIC.len()..MAGIC.len() + 4) {
            place.copy_from_slice(&count.to_le_bytes());
        }
        let bytes = sealed(bytes);
        if bytes.len() as u64 <= SIZE {
            let _ = write_anew(self.fs, dir, &self.name, &bytes);
        }
    }
}

/// Returns names as they are kept.
pub(super) fn kept<'n>(names: impl IntoIterator<Item = &'n OsStr>) -> Vec<u8> {
    let mut kept = Vec::new();
    for name in names {
        kept.extend_from_slice(name.as_bytes());
        kept.push(0);
    }
    kept
}

fn parse(all: &[u8]) -> Option<Known> {
    let bytes = unsealed(all)?;
    let mut rest = Rest::new(bytes.strip_prefix(MAGIC)?);
    let count = rest.u32()?;
    let mut known = HashMap::with_capacity(bytes.len() / 256);
    for _ in 0..count {
        let length = usize::from(u16::from_le_bytes(rest.array()?));
        let path = rest.take(length)?.to_vec();
        let stamp = rest.stamp()?;
        let length = usize::try_from(rest.u32()?).ok()?;
        let from = bytes.len() - rest.left();
        rest.take(length)?;
        known.insert(path, (stamp, from..from + length));
    }
    rest.is_over().then_some(known)
}
