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
use super::window::Bytes;
use super::{IndexFault, IndexWarning};

type Result<T> = std::result::Result<T, IndexFault>;

/// The largest index that is looked at, in bytes.
const MOST: u64 = 2 << 30;

/// Looks at each path of the index in an open file; of a split one, at those in this file.
///
/// # Errors
/// [`IndexFault::Path`] of a path that is none of a file in a work tree; others where git may read another path than is seen.
pub fn check(file: &OwnedFd) -> std::result::Result<(), IndexWarning> {
    let path = Path::new("index");
    check_bytes(&IndexFile::up_to(MOST, path, file)?).map_err(unusable(path))
}

/// The repository's settings tell the kind of ids, and are not at hand: only one may fit.
pub(super) fn check_bytes(bytes: &dyn Bytes) -> Result<()> {
    match [SHA1, SHA256].map(|id| check_as(bytes, id)) {
        [Ok(()), Ok(())] => Err(IndexFault::Damaged),
        [Err(IndexFault::Path), _] | [_, Err(IndexFault::Path)] => Err(IndexFault::Path),
        [Ok(()), Err(_)] | [Err(_), Ok(())] => Ok(()),
        [Err(fault), Err(_)] => Err(fault),
    }
}

fn check_as(bytes: &dyn Bytes, id: usize) -> Result<()> {
    let mut head = Head::read(bytes)?;
    let mut starts = Vec::new();
    let is_complete = head.entries(id, &mut |entry, name| {
        starts.push(Start { place: entry.start, is_first: entry.kept == 0 });
        check_entry(entry, name)
    })?;
    let (mut is_split, end, count) = (false, head.place(), head.count());
    head.extensions(id as u64, &mut |extension| match extension.name {
        b"link" => {
            is_split = true;
            Ok(())
        }
        b"EOIE" => check_end(extension, end),
        b"IEOT" if starts.len() == count as usize => check_blocks(extension, &starts),
        b"IEOT" => Err(IndexFault::Extension),
        _ => Ok(()),
    })?;
    if is_complete || is_split { Ok(()) } else { Err(IndexFault::Damaged) }
}

fn check_entry(entry: &Entry, name: &[u8]) -> Result<()> {
    // git takes as many bytes for the path as this says.
    if usize::from(entry.length) != name.len().min(LONG.into()) {
        return Err(IndexFault::Damaged);
    }
    let is_folded = entry.mode & TYPE == FOLDED;
    let path = name.strip_suffix(b"/").filter(|_| is_folded).unwrap_or(name);
    let is_plain = |part: &[u8]| !matches!(part, b"" | b"." | b"..") && !is_name(part, ".git");
    if path.split(|byte| *byte == b'/').all(is_plain) { Ok(()) } else { Err(IndexFault::Path) }
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
