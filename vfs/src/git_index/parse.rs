//! The format of an index, as in gitformat-index(5).

use std::collections::BTreeSet;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::stamp::Stamp;
use super::tracked::{Builder, Tracked};
use super::window::{Bytes, Window};
use super::{Blob, IndexFault};

type Result<T> = std::result::Result<T, IndexFault>;

/// Ten numbers of stat(2), of four bytes each; the mode is the seventh.
const STAT: usize = 40;
const MODE: usize = 24;
pub(super) const SHA1: usize = 20;
pub(super) const SHA256: usize = 32;
/// The flag of a second pair of flag bytes.
const EXTENDED: u16 = 0x4000;
/// The flags of a stage of a conflict.
const STAGES: u16 = 0x3000;
/// The bits of a name's length; all are set for a longer one.
pub(super) const LONG: u16 = 0x0fff;
/// The flags that are no length of a name and say nothing of the format.
const OWN: u16 = 0xb000;
/// The flag, of the second pair, of a name that was added without its content.
const NAME_ONLY: u16 = 0x2000;
/// The flag, of the second pair, of a name whose file need not be there: a sparse checkout.
const SKIPPED: u16 = 0x4000;
/// The most bytes of all names that are skipped: a packed index could unfold to any size.
const SKIPPED_BYTES: usize = 256 << 20;
/// The longest path that a kernel call can name.
pub(super) const PATH_MAX: usize = 4096;
/// The type bits.
pub(super) const TYPE: u32 = 0o170_000;
pub(super) const REGULAR: u32 = 0o100_000;
/// The type bits of a directory that a sparse index folded up.
pub(super) const FOLDED: u32 = 0o040_000;

/// Whether something is asked for that has a name.
pub(super) type Wanted<'w> = dyn Fn(&[u8]) -> bool + 'w;

/// Reads the names of an index that are wanted.
pub(super) fn parse(bytes: &dyn Bytes, wanted: &Wanted<'_>) -> Result<Tracked> {
    with_either_id(bytes, |each, id| track(each, id, wanted))
}

/// The repository's configuration tells the kind of ids; the right one ends where it should.
fn with_either_id<T>(bytes: &dyn Bytes, read: impl Fn(Head<'_>, usize) -> Result<T>) -> Result<T> {
    match read(Head::read(bytes)?, SHA1) {
        Err(IndexFault::Damaged | IndexFault::Extension) => read(Head::read(bytes)?, SHA256),
        result => result,
    }
}

fn track(head: Head<'_>, id: usize, wanted: &Wanted<'_>) -> Result<Tracked> {
    let mut names = Builder::default();
    head.each(id, &mut |entry, name| match entry.mode & TYPE {
        FOLDED => Ok(()),
        _ if wanted(name) => names.add(name, entry.stamp),
        _ => Ok(()),
    })?;
    Ok(names.finish())
}

/// Reads what an index with SHA-1 ids has of the files that are wanted.
pub(super) fn parse_blobs(bytes: &dyn Bytes, wanted: &Wanted<'_>) -> Result<Tracked<Blob>> {
    let mut blobs = Builder::default();
    Head::read(bytes)?.each(SHA1, &mut |entry, name| match entry.id {
        Some(id) if wanted(name) => blobs.add(name, Blob { id, stamp: entry.stamp }),
        _ => Ok(()),
    })?;
    Ok(blobs.finish())
}

/// Reads which paths a sparse checkout leaves out, directories that are folded up included.
pub(super) fn parse_skipped(bytes: &dyn Bytes) -> Result<BTreeSet<PathBuf>> {
    with_either_id(bytes, skip)
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

/// Digests what an index says of its names: modes, contents, stages and flags, and nothing of the files
/// that it remembers.
pub(super) fn digest(bytes: &dyn Bytes) -> Result<[u8; SHA256]> {
    with_either_id(bytes, |head, id| {
        let mut digest = Sha256::new();
        head.each(id, &mut |entry, name| {
            digest.update(entry.mode.to_be_bytes());
            digest.update(entry.named);
            entry.flags.iter().for_each(|flags| digest.update(flags.to_be_bytes()));
            digest.update(name);
            digest.update([0]);
            Ok(())
        })?;
        Ok(digest.finalize().into())
    })
}

/// The beginning of an index, and what follows it.
pub(super) struct Head<'a> {
    rest: Window<'a>,
    version: u32,
    count: u32,
}

/// What is told of each entry that has a name.
pub(super) type Each<'e> = dyn FnMut(&Entry, &[u8]) -> Result<()> + 'e;

impl<'a> Head<'a> {
    pub(super) fn read(bytes: &'a dyn Bytes) -> Result<Self> {
        let mut rest = Window::new(bytes);
        let mut head = Reader::new(rest.look()?);
        if head.take(4)? != b"DIRC" {
            return Err(IndexFault::Damaged);
        }
        let version = head.u32()?;
        if !(2..=4).contains(&version) {
            return Err(IndexFault::Version(version));
        }
        let (count, length) = (head.u32()?, head.position());
        rest.skip(length as u64)?;
        Ok(Self { rest, version, count })
    }

    fn each(mut self, id: usize, call: &mut Each<'_>) -> Result<()> {
        let is_complete = self.entries(id, &mut |entry, name| match name {
            b"" => Ok(()),
            name => call(entry, name),
        })?;
        self.extensions(id as u64, &mut |it| match it {
            Extension { name: b"link", .. } => Err(IndexFault::Split),
            _ => Ok(()),
        })?;
        if is_complete { Ok(()) } else { Err(IndexFault::Damaged) }
    }

    /// Reads the entries; returns whether all have a name. Those without one replace some of a split index's
    /// other file.
    pub(super) fn entries(&mut self, id: usize, call: &mut Each<'_>) -> Result<bool> {
        let mut name = Vec::new();
        let format = Format { version: self.version, id };
        let mut is_complete = true;
        for _ in 0..self.count {
            let start = self.rest.place();
            let mut reader = Reader::new(self.rest.look()?);
            let entry = Entry { start, ..reader.entry(format, &mut name)? };
            let length = reader.position();
            self.rest.skip(length as u64)?;
            is_complete &= !name.is_empty();
            call(&entry, &name)?;
        }
        Ok(is_complete)
    }

    /// Reads what follows the entries, up to the checksum.
    pub(super) fn extensions(
        &mut self,
        id: u64,
        call: &mut dyn FnMut(&Extension<'_>) -> Result<()>,
    ) -> Result<()> {
        while self.rest.left() > id {
            let start = self.rest.place();
            let mut reader = Reader::new(self.rest.look()?);
            let name = reader.take(4)?;
            if !matches!(name, b"link" | b"sdir" | [b'A'..=b'Z', ..]) {
                return Err(IndexFault::Extension);
            }
            let (size, head) = (reader.u32()?, reader.position());
            let shown = reader.rest.len().min(usize::try_from(size).unwrap_or(usize::MAX));
            let content = reader.take(shown)?;
            let is_whole = shown as u64 == u64::from(size);
            call(&Extension { start, name, size, content, is_whole })?;
            self.rest.skip(head as u64 + u64::from(size))?;
        }
        if self.rest.left() == id { Ok(()) } else { Err(IndexFault::Damaged) }
    }

    /// Returns where what follows begins.
    pub(super) fn place(&self) -> u64 {
        self.rest.place()
    }
}

/// What follows the entries.
pub(super) struct Extension<'a> {
    pub(super) start: u64,
    pub(super) name: &'a [u8],
    /// How long what it says is.
    pub(super) size: u32,
    /// What it says, as far as that is looked at.
    pub(super) content: &'a [u8],
    pub(super) is_whole: bool,
}

pub(super) struct Entry {
    /// Where it begins.
    pub(super) start: u64,
    pub(super) mode: u32,
    /// The length of its name by its own words, if that is less than [`LONG`].
    pub(super) length: u16,
    /// How much of the name before it begins with.
    pub(super) kept: usize,
    /// What it names, padded with zeros.
    named: [u8; SHA256],
    /// Its flags but for the length of its name, and the second pair.
    flags: [u16; 2],
    stamp: Stamp,
    /// The SHA-1 name of what a regular file had, unless both sides of a conflict have one.
    id: Option<[u8; SHA1]>,
    /// Its file need not be there.
    is_skipped: bool,
}

impl Entry {
    /// Returns the id of what it names, which has so many bytes.
    pub(super) fn named(&self, length: usize) -> &[u8] {
        self.named.get(..length).unwrap_or_default()
    }

    /// Returns which side of a conflict it is, as a flag; 0 where there is none.
    pub(super) fn stage(&self) -> u16 {
        self.flags.first().copied().unwrap_or_default() & STAGES
    }

    /// Whether it was added without its content.
    pub(super) fn is_name_only(&self) -> bool {
        self.flags.last().copied().unwrap_or_default() & NAME_ONLY != 0
    }
}

#[derive(Clone, Copy)]
struct Format {
    version: u32,
    id: usize,
}

pub(super) struct Reader<'a> {
    rest: &'a [u8],
    length: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, length: bytes.len() }
    }

    /// Reads one entry, and its name into `name`, which holds the one before.
    fn entry(&mut self, format: Format, name: &mut Vec<u8>) -> Result<Entry> {
        let start = self.position();
        let stat = self.take(STAT)?;
        let mode = stat.get(MODE..).and_then(<[u8]>::first_chunk).ok_or(IndexFault::Damaged)?;
        let mode = u32::from_be_bytes(*mode);
        let stamp = Stamp::parse(stat).ok_or(IndexFault::Damaged)?;
        let named = self.take(format.id)?;
        let id = <[u8; SHA1]>::try_from(named).ok();
        let named = std::array::from_fn(|at| named.get(at).copied().unwrap_or_default());
        let flags = self.u16()?;
        let mut more = 0;
        if flags & EXTENDED != 0 {
            if format.version < 3 {
                return Err(IndexFault::Damaged);
            }
            more = self.u16()?;
        }
        let kept = self.name(format, start, name)?;
        let is_whole = mode & TYPE == REGULAR && flags & STAGES == 0 && more & NAME_ONLY == 0;
        let is_skipped = more & SKIPPED != 0;
        let (length, flags) = (flags & LONG, [flags & OWN, more]);
        let id = id.filter(|_| is_whole);
        Ok(Entry { start: 0, mode, length, kept, named, flags, stamp, id, is_skipped })
    }

    /// Returns how much of the name before stays.
    fn name(&mut self, format: Format, start: usize, name: &mut Vec<u8>) -> Result<usize> {
        let removed = if format.version == 4 { self.varint()? } else { name.len() };
        let kept = name.len().checked_sub(removed).ok_or(IndexFault::Damaged)?;
        name.truncate(kept);
        name.extend_from_slice(self.text()?);
        if name.len() > PATH_MAX {
            return Err(IndexFault::Damaged);
        }
        if format.version < 4 {
            self.padding(start)?;
        }
        Ok(kept)
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

    /// Reads up to a byte, which is left out.
    pub(super) fn until(&mut self, end: u8) -> Result<&'a [u8]> {
        let length = self.rest.iter().position(|byte| *byte == end).ok_or(IndexFault::Damaged)?;
        let found = self.take(length)?;
        self.take(1)?;
        Ok(found)
    }

    pub(super) fn text(&mut self) -> Result<&'a [u8]> {
        let text = CStr::from_bytes_until_nul(self.rest).map_err(|_| IndexFault::Damaged)?;
        self.take(text.count_bytes() + 1)?;
        Ok(text.to_bytes())
    }

    /// Reads a number as in a pack's offsets: seven bits a byte, each further byte counts one.
    pub(super) fn varint(&mut self) -> Result<usize> {
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

    pub(super) fn u32(&mut self) -> Result<u32> {
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

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(IndexFault::Damaged)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    fn position(&self) -> usize {
        self.length - self.rest.len()
    }
}
