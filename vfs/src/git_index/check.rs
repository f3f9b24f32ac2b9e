//! Whether git can be let read an index.
//!
//! git takes the paths in an index as they are: with one of `/home/u/.bashrc`, `../x` or `.git/hooks/post-checkout`
//! `git checkout .` writes that file, and `git status` enters a repository there (measured, git 2.47). So each is looked
//! at, and whatever would have git read other paths than are seen here is refused.

use std::os::fd::OwnedFd;
use std::path::Path;

use endow_policy::is_name;

use super::find::{IndexFile, unusable};
use super::parse::{Entry, Extension, FOLDED, Head, LONG, Reader, SHA1, SHA256, TYPE};
use super::trees::{Claims, Trees};
use super::untracked;
use super::window::{Bytes, Counted};
use super::{IndexFault, IndexWarning, Stored};
use crate::git_object::Work;
use crate::git_tree::Algorithm;

type Result<T> = std::result::Result<T, IndexFault>;

/// The largest index that is looked at, in bytes.
const MOST: u64 = 512 << 20;
/// The largest extension that is looked at, in bytes.
const LARGEST: usize = 128 << 20;
/// What an index begins with.
const SIGNATURE: &[u8; 4] = b"DIRC";

/// What counts beside an index.
pub struct Beside<'b> {
    /// How much may still be looked at.
    pub work: &'b Work,
    /// The trees of its repository; without these it does not matter what is said of directories.
    pub stored: Option<&'b Stored<'b>>,
}

/// Looks at each path of the index in an open file, whose repository has such ids; of a split one, at those in this file. What git takes for none is
/// fine: it says so, and reads nothing.
///
/// # Errors
/// [`IndexFault::Path`] of a path that is none of a file in a work tree; others where git may read another path than is seen.
pub fn check(
    file: &OwnedFd,
    algorithm: Algorithm,
    beside: &Beside<'_>,
) -> std::result::Result<(), IndexWarning> {
    let path = Path::new("index");
    let begins = IndexFile::up_to(u64::MAX, path, file)?;
    if first(&begins, 0).map_err(unusable(path))? != Some(*SIGNATURE) {
        return Ok(());
    }
    check_bytes(&IndexFile::up_to(MOST, path, file)?, algorithm, beside).map_err(unusable(path))
}

fn first(bytes: &dyn Bytes, place: u64) -> Result<Option<[u8; 4]>> {
    let mut four = [0; 4];
    let length = bytes.read_at(place, &mut four)?;
    Ok((length == four.len()).then_some(four))
}

pub(super) fn check_bytes(
    bytes: &dyn Bytes,
    algorithm: Algorithm,
    beside: &Beside<'_>,
) -> Result<()> {
    let bytes = &Counted { bytes, work: beside.work };
    let id = if algorithm == Algorithm::Sha1 { SHA1 } else { SHA256 };
    let mut head = Head::read(bytes)?;
    let mut starts = Vec::new();
    let is_complete = head.entries(id, &mut |entry, name| {
        count(name, beside.work)?;
        starts.push(Start { place: entry.start, is_first: entry.kept == 0 });
        check_entry(entry, name)
    })?;
    let (mut is_split, mut last_end, end) = (false, None, head.place());
    let mut claims = Claims::new(beside.work);
    head.extensions(id as u64, &mut |extension| {
        last_end = (extension.name == b"EOIE").then_some(extension.start);
        match extension.name {
            b"link" => is_split = true,
            b"EOIE" => check_end(extension, end)?,
            b"IEOT" => check_blocks(extension, &starts)?,
            b"TREE" if beside.stored.is_some() => claims.add(&whole(bytes, extension)?, id)?,
            b"UNTR" => untracked::check(&whole(bytes, extension)?, id)?,
            _ => {}
        }
        Ok(())
    })?;
    check_tail(bytes, id as u64, last_end)?;
    if !is_complete && !is_split {
        return Err(IndexFault::Damaged);
    }
    match beside.stored.filter(|_| !claims.is_empty()) {
        None => Ok(()),
        // Most entries are in another file: what is said of them can't be compared.
        Some(_) if is_split => Err(IndexFault::Trees),
        Some(stored) => check_trees(bytes, Trees::new(algorithm, claims, stored), beside.work),
    }
}

/// A few bytes may stand for the beginning of a long name.
fn count(name: &[u8], work: &Work) -> Result<()> {
    work.take(name.len() as u64).ok_or(IndexFault::TooLarge)
}

/// Returns all that an extension says.
fn whole(bytes: &dyn Bytes, extension: &Extension<'_>) -> Result<Vec<u8>> {
    if extension.is_whole {
        return Ok(extension.content.to_vec());
    }
    let length = extension.size as usize;
    if length > LARGEST {
        return Err(IndexFault::TooLarge);
    }
    let mut content = vec![0; length];
    let read = bytes.read_at(extension.start + 8, &mut content)?;
    if read == length { Ok(content) } else { Err(IndexFault::Damaged) }
}

fn check_trees(bytes: &dyn Bytes, mut trees: Trees<'_>, work: &Work) -> Result<()> {
    let id = trees.length_of_ids();
    Head::read(bytes)?.entries(id, &mut |entry, name| {
        count(name, work)?;
        trees.add(entry, name)
    })?;
    trees.finish()
}

/// With several threads git looks for the end of the entries where the last extension would begin.
fn check_tail(bytes: &dyn Bytes, id: u64, last_end: Option<u64>) -> Result<()> {
    let Some(place) = bytes.length().checked_sub(id + 8 + 4 + id) else { return Ok(()) };
    let is_said = first(bytes, place)? == Some(*b"EOIE");
    if !is_said || last_end == Some(place) { Ok(()) } else { Err(IndexFault::Extension) }
}

fn check_entry(entry: &Entry, name: &[u8]) -> Result<()> {
    // git takes as many bytes for the path as this says.
    if usize::from(entry.length) != name.len().min(LONG.into()) {
        return Err(IndexFault::Damaged);
    }
    // It replaces one of a split index's other file, and takes that one's name.
    if name.is_empty() {
        return Ok(());
    }
    let is_folded = entry.mode & TYPE == FOLDED;
    let path = name.strip_suffix(b"/").filter(|_| is_folded).unwrap_or(name);
    if path.split(|byte| *byte == b'/').all(is_plain) { Ok(()) } else { Err(IndexFault::Path) }
}

/// Whether it is one name that leads nowhere else.
pub(super) fn is_plain(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.contains(&b'/') && !is_git(name)
}

/// Some file systems take these for `.git` as well.
fn is_git(name: &[u8]) -> bool {
    let end = name.iter().rposition(|byte| !b". ".contains(byte)).map_or(0, |at| at + 1);
    let short = name.get(..end).unwrap_or_default();
    is_name(short, ".git") || short.eq_ignore_ascii_case(b"git~1")
}

/// Where an entry begins.
struct Start {
    place: u64,
    /// Whether its path needs nothing of the one before.
    is_first: bool,
}

/// With several threads (`index.threads`) git looks for extensions from where this says.
fn check_end(extension: &Extension<'_>, end: u64) -> Result<()> {
    let said = Reader::new(extension.content).u32()?;
    if u64::from(said) == end { Ok(()) } else { Err(IndexFault::Extension) }
}

/// Each thread reads a block of entries, which this says the places of.
fn check_blocks(extension: &Extension<'_>, starts: &[Start]) -> Result<()> {
    let mut blocks = Reader::new(extension.content);
    if !extension.is_whole || blocks.u32()? != 1 {
        return Err(IndexFault::Extension);
    }
    let mut rest = starts;
    while !rest.is_empty() {
        let (place, count) = (blocks.u32()?, blocks.u32()? as usize);
        let is_first = |start: &Start| start.is_first && start.place == u64::from(place);
        let after = rest.get(count..).filter(|_| count > 0);
        rest = after.filter(|_| rest.first().is_some_and(is_first)).ok_or(IndexFault::Extension)?;
    }
    if blocks.is_at_end() { Ok(()) } else { Err(IndexFault::Extension) }
}

#[cfg(test)]
mod tests;
