//! The format of a tree object, and the rules that git fsck has for it.

use std::cmp::Ordering;

use super::{Algorithm, Id, TreeFault};

/// The type of a directory, in a mode.
pub(crate) const DIRECTORY: u32 = 0o040_000;
/// The type of a submodule, in a mode: a commit of another repository, which stands where a directory does.
pub(crate) const SUBMODULE: u32 = 0o160_000;

/// One name in a tree object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) mode: u32,
    pub(crate) name: &'a [u8],
    pub(crate) id: Id,
}

/// Reads entries from where one begins; also returns where the next one does.
pub(crate) fn entry(
    bytes: &[u8],
    at: usize,
    algorithm: Algorithm,
) -> Result<Option<(Entry<'_>, usize)>, TreeFault> {
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.is_empty() {
        return Ok(None);
    }
    let parsed = parse(rest, algorithm.length()).ok_or(TreeFault::Format)?;
    Ok(Some((parsed.0, at + parsed.1)))
}

/// Checks that all entries are whole and in order, and each is there once.
pub(crate) fn check(bytes: &[u8], algorithm: Algorithm) -> Result<(), TreeFault> {
    let (mut at, mut before) = (0, None);
    while let Some((this, next)) = entry(bytes, at, algorithm)? {
        match before.map(|before: Entry<'_>| (before.name == this.name, order(&before, &this))) {
            Some((true, _)) => return Err(TreeFault::Twice),
            Some((_, Ordering::Greater | Ordering::Equal)) => return Err(TreeFault::Unsorted),
            _ => {}
        }
        (at, before) = (next, Some(this));
    }
    Ok(())
}

/// The name of a directory compares as if it ended in a slash.
pub(crate) fn order(one: &Entry<'_>, other: &Entry<'_>) -> Ordering {
    bytes(one).cmp(bytes(other))
}

fn bytes<'a>(entry: &Entry<'a>) -> impl Iterator<Item = u8> + use<'a> {
    let end = (entry.mode == DIRECTORY).then_some(b'/');
    entry.name.iter().copied().chain(end)
}

fn parse(rest: &[u8], length: usize) -> Option<(Entry<'_>, usize)> {
    let space = rest.iter().take(8).position(|byte| *byte == b' ')?;
    let mode = std::str::from_utf8(rest.get(..space)?).ok()?;
    let is_octal = mode.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    let mode = is_octal.then(|| u32::from_str_radix(mode, 8).ok())??;
    let name = rest.get(space + 1..)?;
    let name = name.get(..name.iter().position(|byte| *byte == 0)?)?;
    let end = space + 1 + name.len() + 1;
    let id = Id::from_bytes(rest.get(end..end + length)?)?;
    Some((Entry { mode, name, id }, end + length))
}
