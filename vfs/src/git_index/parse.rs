//! The format of an index, as in gitformat-index(5).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::stamp::Stamp;
use super::tracked::{Builder, Tracked};
use super::{Blob, IndexFault};

type Result<T> = std::result::Result<T, IndexFault>;

/// Ten numbers of stat(2), of four bytes each; the mode is the seventh.
const STAT: usize = 40;
const MODE: usize = 24;
const SHA1: usize = 20;
const SHA256: usize = 32;
/// The flag of a second pair of flag bytes.
const EXTENDED: u16 = 0x4000;
/// The flags of a stage of a conflict.
const STAGES: u16 = 0x3000;
/// The flag, of the second pair, of a name that was added without its content.
const NAME_ONLY: u16 = 0x2000;
/// The flag, of the second pair, of a name whose file need not be there: a sparse checkout.
const SKIPPED: u16 = 0x4000;
/// The most bytes of all names that are skipped: a packed index could unfold to any size.
const SKIPPED_BYTES: usize = 256 << 20;
/// The type bits.
const TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
/// The type bits of a directory that a sparse index folded up.
const FOLDED: u32 = 0o040_000;

/// Reads the names of an index.
pub(super) fn parse(bytes: &[u8]) -> Result<Tracked> {
    let head = Head::read(bytes)?;
    // The repository's configuration tells the kind of ids; the right one ends where it should.
    match track(head, SHA1) {
        Err(IndexFault::Damaged | IndexFault::Extension) => track(head, SHA256),
        result => result,
    }
}

fn track(head: Head<'_>, id: usize) -> Result<Tracked> {
    let mut names = Builder::default();
    head.each(id, &mut |entry, name| match entry.mode & TYPE {
        FOLDED => Ok(()),
        _ => names.add(name, entry.stamp),
    })?;
    Ok(names.finish())
}

/// Reads what an index with SHA-1 ids has of the files that are wanted.
pub(super) fn parse_blobs(
    bytes: &[u8],
    wanted: &dyn Fn(&[u8]) -> bool,
) -> Result<BTreeMap<Vec<u8>, Blob>> {
    let mut blobs = BTreeMap::new();
    Head::read(bytes)?.each(SHA1, &mut |entry, name| {
        if let Some(id) = entry.id.filter(|_| wanted(name)) {
            blobs.insert(name.to_vec(), Blob { id, stamp: entry.stamp });
        }
        Ok(())
    })?;
    Ok(blobs)
}

/// Reads which paths a sparse checkout leaves out, directories that are folded up included.
pub(super) fn parse_skipped(bytes: &[u8]) -> Result<BTreeSet<PathBuf>> {
    let head = Head::read(bytes)?;
    match skip(head, SHA1) {
        Err(IndexFault::Damaged | IndexFault::Extension) => skip(head, SHA256),
        result => result,
    }
}

fn skip(head: Head<'_>, id: usize) -> Result<BTreeSet<PathBuf>> {
    let (mut skipped, mut bytes) = (BTreeSet::new(), 0);
    head.each(id, &mut |entry, name| {
        if entry.is_skipped {
            bytes += name.len();
            skipped.insert(OsStr::from_bytes(name.strip_suffix(b"/").unwrap_or(name)).into());
        }
        if bytes > SKIPPED_BYTES { Err(IndexFault::TooLarge) } else { Ok(()) }
    })?;
    Ok(skipped)
}

/// The beginning of an index, and what follows it.
#[derive(Clone, Copy)]
struct Head<'a> {
    rest: Reader<'a>,
    version: u32,
    count: u32,
}

/// What is told of each entry that has a name.
type Each<'e> = dyn FnMut(&Entry, &[u8]) -> Result<()> + 'e;

impl<'a> Head<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut rest = Reader { rest: bytes, length: bytes.len() };
        if rest.take(4)? != b"DIRC" {
            return Err(IndexFault::Damaged);
        }
        let version = rest.u32()?;
        if !(2..=4).contains(&version) {
            return Err(IndexFault::Version(version));
        }
        let count = rest.u32()?;
        Ok(Self { rest, version, count })
    }

    fn each(self, id: usize, call: &mut Each<'_>) -> Result<()> {
        let (mut reader, mut name) = (self.rest, Vec::new());
        let format = Format { version: self.version, id };
        let mut is_complete = true;
        for _ in 0..self.count {
            let entry = reader.entry(format, &mut name)?;
            // Entries without a name replace some of a split index's other file.
            is_complete &= !name.is_empty();
            if !name.is_empty() {
                call(&entry, &name)?;
            }
        }
        reader.extensions(id)?;
        if is_complete { Ok(()) } else { Err(IndexFault::Damaged) }
    }
}

struct Entry {
    mode: u32,
    stamp: Stamp,
    /// The SHA-1 name of what a regular file had, unless both sides of a conflict have one.
    id: Option<[u8; SHA1]>,
    /// Its file need not be there.
    is_skipped: bool,
}

#[derive(Clone, Copy)]
struct Format {
    version: u32,
    id: usize,
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    rest: &'a [u8],
    length: usize,
}

impl<'a> Reader<'a> {
    /// Reads one entry, and its name into `name`, which holds the one before.
    fn entry(&mut self, format: Format, name: &mut Vec<u8>) -> Result<Entry> {
        let start = self.position();
        let stat = self.take(STAT)?;
        let mode = stat.get(MODE..).and_then(<[u8]>::first_chunk).ok_or(IndexFault::Damaged)?;
        let mode = u32::from_be_bytes(*mode);
        let stamp = Stamp::parse(stat).ok_or(IndexFault::Damaged)?;
        let id = <[u8; SHA1]>::try_from(self.take(format.id)?).ok();
        let flags = self.u16()?;
        let mut more = 0;
        if flags & EXTENDED != 0 {
            if format.version < 3 {
                return Err(IndexFault::Damaged);
            }
            more = self.u16()?;
        }
        self.name(format, start, name)?;
        let is_whole = mode & TYPE == REGULAR && flags & STAGES == 0 && more & NAME_ONLY == 0;
        let is_skipped = more & SKIPPED != 0;
        Ok(Entry { mode, stamp, id: id.filter(|_| is_whole), is_skipped })
    }

    fn name(&mut self, format: Format, start: usize, name: &mut Vec<u8>) -> Result<()> {
        if format.version == 4 {
            let removed = self.varint()?;
            let kept = name.len().checked_sub(removed).ok_or(IndexFault::Damaged)?;
            name.truncate(kept);
        } else {
            name.clear();
        }
        name.extend_from_slice(self.text()?);
        if format.version < 4 { self.padding(start) } else { Ok(()) }
    }

    /// Reads the NULs that make an entry's length a multiple of eight; one is read already.
    fn padding(&mut self, start: usize) -> Result<()> {
        let over = (self.position() - start) % 8;
        let padding = self.take((8 - over) % 8)?;
        if padding.iter().any(|byte| *byte != 0) {
            return Err(IndexFault::Damaged);
        }
        Ok(())
    }

    fn extensions(mut self, id: usize) -> Result<()> {
        while self.rest.len() > id {
            let signature = self.take(4)?;
            match signature {
                b"link" => return Err(IndexFault::Split),
                b"sdir" | [b'A'..=b'Z', ..] => {}
                _ => return Err(IndexFault::Extension),
            }
            let size = self.u32()?;
            self.take(usize::try_from(size).map_err(|_| IndexFault::Damaged)?)?;
        }
        if self.rest.len() == id { Ok(()) } else { Err(IndexFault::Damaged) }
    }

    fn text(&mut self) -> Result<&'a [u8]> {
        let text = CStr::from_bytes_until_nul(self.rest).map_err(|_| IndexFault::Damaged)?;
        self.take(text.count_bytes() + 1)?;
        Ok(text.to_bytes())
    }

    /// Reads a number as in a pack's offsets: seven bits a byte, each further byte counts one.
    fn varint(&mut self) -> Result<usize> {
        let mut value = 0_usize;
        for place in 0..4 {
            let [byte] = self.chunk::<1>()?;
            let bits = usize::from(byte & 0x7f);
            value = if place == 0 { bits } else { (value + 1) << 7 | bits };
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(IndexFault::Damaged)
    }

    fn u32(&mut self) -> Result<u32> {
        self.chunk().map(u32::from_be_bytes)
    }

    fn u16(&mut self) -> Result<u16> {
        self.chunk().map(u16::from_be_bytes)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (chunk, rest) = self.rest.split_first_chunk().ok_or(IndexFault::Damaged)?;
        self.rest = rest;
        Ok(*chunk)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(IndexFault::Damaged)?;
        self.rest = rest;
        Ok(taken)
    }

    fn position(&self) -> usize {
        self.length - self.rest.len()
    }
}
