//! What an index remembers of untracked files (the extension `UNTR`): git looks into the directories that it names, and
//! `git clean` removes what it names there. git believes the numbers in it, too, and writes beyond its own memory where
//! they say so (measured, git 2.47).

use super::IndexFault;
use super::check::is_plain;
use super::parse::{PATH_MAX, Reader};

type Result<T> = std::result::Result<T, IndexFault>;

/// What is remembered of a file by stat(2).
const STAT: usize = 36;
/// What is remembered of two files with patterns, and flags.
const STATS: usize = 2 * STAT + 4;
/// The file of patterns in each directory.
const PATTERNS: &[u8] = b".gitignore";
/// No path has more directories.
const DEPTH: usize = PATH_MAX / 2;

/// Looks at each name and number.
pub(super) fn check(content: &[u8], id: usize) -> Result<()> {
    let mut reader = Reader::new(content);
    let length = reader.varint()?;
    reader.take(length)?;
    reader.take(STATS + 2 * id)?;
    let patterns = reader.text()?;
    let directories = reader.varint()?;
    if !matches!(patterns, b"" | PATTERNS) {
        return Err(IndexFault::Path);
    }
    if directories == 0 {
        return Ok(());
    }
    check_directories(&mut reader, directories)?;
    let [known, _, hashed] = [
        count_of_set(&mut reader, directories)?,
        count_of_set(&mut reader, directories)?,
        count_of_set(&mut reader, directories)?,
    ];
    reader.take(known * STAT + hashed * id).map(drop)
}

/// Each directory comes before those in it, and the first holds all others.
fn check_directories(reader: &mut Reader<'_>, count: usize) -> Result<()> {
    let (mut open, mut seen) = (vec![1_usize], 0);
    while let Some(left) = open.last_mut() {
        let Some(rest) = left.checked_sub(1) else {
            open.pop();
            continue;
        };
        *left = rest;
        let below = check_directory(reader, seen == 0)?;
        seen += 1;
        open.push(below);
        if seen > count || open.len() > DEPTH {
            return Err(IndexFault::Damaged);
        }
    }
    if seen == count { Ok(()) } else { Err(IndexFault::Damaged) }
}

/// Returns how many are in it.
fn check_directory(reader: &mut Reader<'_>, is_root: bool) -> Result<usize> {
    let names = reader.varint()?;
    let below = reader.varint()?;
    let directory = reader.text()?;
    if is_root != directory.is_empty() || !is_root && !is_plain(directory) {
        return Err(IndexFault::Path);
    }
    for _ in 0..names {
        let name = reader.text()?;
        if !is_plain(name.strip_suffix(b"/").unwrap_or(name)) {
            return Err(IndexFault::Path);
        }
    }
    Ok(below)
}

/// Reads a compressed bitmap (EWAH, gitformat-bitmap(5)) of so many bits, and returns how many are set.
fn count_of_set(reader: &mut Reader<'_>, bits: usize) -> Result<usize> {
    let (_, words) = (reader.u32()?, reader.u32()? as usize);
    let content = reader.take(words.checked_mul(8).ok_or(IndexFault::Damaged)?)?;
    if reader.u32()? as usize >= words.max(1) {
        return Err(IndexFault::Damaged);
    }
    let mut set = Set { bits: bits as u64, at: 0, count: 0 };
    let (words, _) = content.as_chunks::<8>();
    let mut words = words.iter().map(|word| u64::from_be_bytes(*word));
    while let Some(marker) = words.next() {
        let (run, literals) = (marker >> 1 & u64::from(u32::MAX), marker >> 33);
        set.run(run * 64, marker & 1 == 1)?;
        for _ in 0..literals {
            set.word(words.next().ok_or(IndexFault::Damaged)?)?;
        }
    }
    usize::try_from(set.count).map_err(|_| IndexFault::Damaged)
}

struct Set {
    bits: u64,
    at: u64,
    count: u64,
}

impl Set {
    /// Takes as many bits of one kind.
    fn run(&mut self, length: u64, is_set: bool) -> Result<()> {
        let end = self.at.saturating_add(length);
        if is_set && length > 0 {
            self.count += length;
            self.expect(end)?;
        }
        self.at = end;
        Ok(())
    }

    fn word(&mut self, word: u64) -> Result<()> {
        self.count += u64::from(word.count_ones());
        if word != 0 {
            self.expect(self.at.saturating_add(64 - u64::from(word.leading_zeros())))?;
        }
        self.at = self.at.saturating_add(64);
        Ok(())
    }

    /// No bit behind the last may be set.
    fn expect(&self, end: u64) -> Result<()> {
        if end <= self.bits { Ok(()) } else { Err(IndexFault::Damaged) }
    }
}
