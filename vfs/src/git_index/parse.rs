//! The format of an index, as in gitformat-index(5).

use super::IndexFault;
use std::ffi::CStr;

use super::stamp::Stamp;
use super::tracked::{Builder, Tracked};

type Result<T> = std::result::Result<T, IndexFault>;

/// Ten numbers of stat(2), of four bytes each; the mode is the seventh.
const STAT: usize = 40;
const MODE: usize = 24;
const SHA1: usize = 20;
const SHA256: usize = 32;
/// The flag of a second pair of flag bytes.
const EXTENDED: u16 = 0x4000;
/// The type bits of a directory that a sparse index folded up.
const FOLDED: u32 = 0o040_000;

/// Reads the names of an index.
pub(super) fn parse(bytes: &[u8]) -> Result<Tracked> {
    let mut reader = Reader { rest: bytes, length: bytes.len() };
    if reader.take(4)? != b"DIRC" {
        return Err(IndexFault::Damaged);
    }
    let version = reader.u32()?;
    if !(2..=4).contains(&version) {
        return Err(IndexFault::Version(version));
    }
    let count = reader.u32()?;
    // The repository's configuration tells the kind of ids; the right one ends where it should.
    match parse_with(reader, Format { version, id: SHA1 }, count) {
        Err(IndexFault::Damaged | IndexFault::Extension) => {
            parse_with(reader, Format { version, id: SHA256 }, count)
        }
        result => result,
    }
}

#[derive(Clone, Copy)]
struct Format {
    version: u32,
    id: usize,
}

fn parse_with(mut reader: Reader<'_>, format: Format, count: u32) -> Result<Tracked> {
    let mut names = Builder::default();
    let mut name = Vec::new();
    let mut is_complete = true;
    for _ in 0..count {
        let (mode, stamp) = reader.entry(format, &mut name)?;
        // Entries without a name replace some of a split index's other file.
        is_complete &= !name.is_empty();
        if mode & 0o170_000 != FOLDED && !name.is_empty() {
            names.add(&name, stamp)?;
        }
    }
    reader.extensions(format.id)?;
    if is_complete { Ok(names.finish()) } else { Err(IndexFault::Damaged) }
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    rest: &'a [u8],
    length: usize,
}

impl<'a> Reader<'a> {
    /// Reads one entry into `name`, which holds the name before, and returns its mode and stamp.
    fn entry(&mut self, format: Format, name: &mut Vec<u8>) -> Result<(u32, Stamp)> {
        let start = self.position();
        let stat = self.take(STAT)?;
        let mode = stat.get(MODE..).and_then(<[u8]>::first_chunk).ok_or(IndexFault::Damaged)?;
        let stamp = Stamp::parse(stat).ok_or(IndexFault::Damaged)?;
        self.take(format.id)?;
        if self.u16()? & EXTENDED != 0 {
            if format.version < 3 {
                return Err(IndexFault::Damaged);
            }
            self.u16()?;
        }
        if format.version == 4 {
            let removed = self.varint()?;
            let kept = name.len().checked_sub(removed).ok_or(IndexFault::Damaged)?;
            name.truncate(kept);
        } else {
            name.clear();
        }
        name.extend_from_slice(self.text()?);
        if format.version < 4 {
            self.padding(start)?;
        }
        Ok((u32::from_be_bytes(*mode), stamp))
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
