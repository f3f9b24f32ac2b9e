//! What a pack has of one object (gitformat-pack(5)). It is read bit by bit: somebody may make the files shorter meanwhile.

use std::io::{BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};

use gix_zlib::Decompress;

use super::Work;
use super::counted::Counted;
use super::inflate::Stream;
use crate::fs::{Fs, OsFs};
use crate::git_tree::{Algorithm, Id};

/// How an index begins, and where it says how many names begin with each byte or one before.
const BEGIN: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const COUNTS: u64 = 8;
const NAMES: u64 = COUNTS + 256 * 4;
/// The flag of a place beyond 31 bits.
const LARGE: u64 = 1 << 31;
/// More than the longest header: two numbers, or a number and an id.
const HEADER: usize = 64;
/// How much is read at once.
const ROOM: usize = 8 << 10;

/// An entry as far as it matters for trees.
pub(super) struct Entry {
    pub(super) packed: Packed,
    /// How many bytes it is inflated.
    pub(super) size: u64,
    /// Where these are.
    place: u64,
}

pub(super) enum Packed {
    Tree,
    /// A delta of what is at a place, or has a name.
    DeltaAt {
        place: u64,
    },
    DeltaOf {
        id: Id,
    },
}

/// Returns where an object is, by the index of a pack.
pub(super) fn find(index: &OwnedFd, id: &Id) -> Option<u64> {
    (read::<8>(index, 0)? == BEGIN).then_some(())?;
    let first = u64::from(*id.as_bytes().first()?);
    let count = |byte: u64| Some(u64::from(number(index, COUNTS + byte * 4)?));
    let (mut low, mut high) = (first.checked_sub(1).map_or(Some(0), count)?, count(first)?);
    let (length, all) = (id.as_bytes().len() as u64, count(255)?);
    let mut name = vec![0; id.as_bytes().len()];
    while low < high && high <= all {
        let middle = low.midpoint(high);
        fill(index, &mut name, NAMES + middle * length)?;
        match name.as_slice().cmp(id.as_bytes()) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
            std::cmp::Ordering::Equal => return place(index, (middle, all), length),
        }
    }
    None
}

/// Returns where the object with a number is, of so many.
fn place(index: &OwnedFd, (at, all): (u64, u64), length: u64) -> Option<u64> {
    let places = NAMES + all * (length + 4);
    let said = u64::from(number(index, places + at * 4)?);
    if said & LARGE == 0 {
        return Some(said);
    }
    let large = places + all * 4 + (said & !LARGE) * 8;
    read(index, large).map(u64::from_be_bytes)
}

/// Reads what is said of an entry; `None` for what is no tree, nor may become one.
pub(super) fn entry(data: &OwnedFd, at: u64, algorithm: Algorithm) -> Option<Entry> {
    let mut bytes = [0; HEADER];
    let filled = OsFs.read_at(data.as_fd(), &mut bytes, at).ok()?;
    let mut rest = bytes.get(..filled)?;
    let first = byte(&mut rest)?;
    let (mut size, mut last, mut shift) = (u64::from(first & 15), first, 4);
    while last & 0x80 != 0 && shift < 60 {
        last = byte(&mut rest)?;
        size |= u64::from(last & 0x7f) << shift;
        shift += 7;
    }
    let packed = match first >> 4 & 7 {
        2 => Packed::Tree,
        6 => Packed::DeltaAt { place: at.checked_sub(distance(&mut rest)?)? },
        7 => {
            let (name, after) = rest.split_at_checked(algorithm.length())?;
            rest = after;
            Packed::DeltaOf { id: Id::from_bytes(name)? }
        }
        _ => return None,
    };
    Some(Entry { packed, size, place: at + (filled - rest.len()) as u64 })
}

/// Each further byte counts one.
fn distance(rest: &mut &[u8]) -> Option<u64> {
    let mut last = byte(rest)?;
    let mut value = u64::from(last & 0x7f);
    while last & 0x80 != 0 {
        last = byte(rest)?;
        value = value.checked_add(1).filter(|value| *value < 1 << 56)? << 7;
        value |= u64::from(last & 0x7f);
    }
    Some(value)
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    Some(*first)
}

/// Returns what an entry has, as it is without the pack's compression.
pub(super) fn inflated(data: &OwnedFd, entry: &Entry, work: &Work) -> Option<Vec<u8>> {
    let mut state = Decompress::new();
    let source = Counted::new(At { file: data, place: entry.place }, work);
    let mut stream = Stream::new(BufReader::with_capacity(ROOM, source), &mut state);
    stream.hold_up_to(entry.size);
    let mut bytes = vec![0; usize::try_from(entry.size).ok()?];
    let is_whole = stream.fill(&mut bytes)? == bytes.len() && stream.fill(&mut [0])? == 0;
    is_whole.then_some(bytes)
}

/// A file from a place on.
struct At<'f> {
    file: &'f OwnedFd,
    place: u64,
}

impl Read for At<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let length = OsFs.read_at(self.file.as_fd(), into, self.place)?;
        self.place += length as u64;
        Ok(length)
    }
}

fn number(file: &OwnedFd, at: u64) -> Option<u32> {
    read(file, at).map(u32::from_be_bytes)
}

fn read<const N: usize>(file: &OwnedFd, at: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    fill(file, &mut bytes, at)?;
    Some(bytes)
}

fn fill(file: &OwnedFd, into: &mut [u8], at: u64) -> Option<()> {
    (OsFs.read_at(file.as_fd(), into, at).ok()? == into.len()).then_some(())
}
