//! Trees that git writes no more and still reads: with modes of other bits (`100664`), and with directories in which nothing
//! is. Of an index that was made from them these are its trees.

use std::collections::HashSet;

use super::check::is_plain;
use super::parse::{REGULAR, TYPE};
use crate::git_tree::{self, DIRECTORY, Entry, Id};

/// Reads the tree of a name, and nothing else.
pub type Stored<'s> = dyn Fn(&Id) -> Option<Vec<u8>> + 's;

/// The bit by which git tells what it makes executable, and the modes that it writes.
const EXECUTABLE: u32 = 0o100;
const PLAIN: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
/// No mode has more bits.
const HIGHEST: u32 = 0o177_777;

/// Returns whether the tree of a name has what another one has, as git reads it.
pub(super) fn is_equal(tree: &[u8], name: &[u8], stored: &Stored<'_>) -> bool {
    compare(tree, name, stored).is_some()
}

fn compare(tree: &[u8], name: &[u8], stored: &Stored<'_>) -> Option<()> {
    let id = Id::from_bytes(name)?;
    let older = stored(&id)?;
    git_tree::check(&older, id.algorithm()).ok()?;
    let (mut at, mut rest) = (0, tree);
    while let Some((entry, next)) = git_tree::entry(&older, at, id.algorithm()).ok()? {
        at = next;
        match rest.strip_prefix(&*written(&entry)?) {
            Some(after) => rest = after,
            None => is_hollow(&entry, stored).then_some(())?,
        }
    }
    rest.is_empty().then_some(())
}

/// Returns an entry as git would write it.
fn written(entry: &Entry<'_>) -> Option<Vec<u8>> {
    let mode = match entry.mode {
        mode if mode > HIGHEST => return None,
        mode if mode & TYPE != REGULAR => mode,
        mode if mode & EXECUTABLE == 0 => PLAIN,
        _ => PROGRAM,
    };
    Some([format!("{mode:o} ").as_bytes(), entry.name, b"\0", entry.id.as_bytes()].concat())
}

/// Returns whether an entry is a directory without any file, at any depth.
fn is_hollow(entry: &Entry<'_>, stored: &Stored<'_>) -> bool {
    entry.mode == DIRECTORY && is_plain(entry.name) && is_without_files(entry.id, stored)
}

/// Returns whether the tree of a name has no file.
pub(super) fn is_without_files(id: Id, stored: &Stored<'_>) -> bool {
    let (mut seen, mut pending) = (HashSet::from([id]), vec![id]);
    while let Some(id) = pending.pop() {
        let Some(below) = stored(&id).and_then(|tree| directories(&tree, id)) else { return false };
        pending.extend(below.into_iter().filter(|it| seen.insert(*it)));
    }
    true
}

/// Returns the trees in one that has no others; `None` for one that has.
fn directories(tree: &[u8], id: Id) -> Option<Vec<Id>> {
    git_tree::check(tree, id.algorithm()).ok()?;
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some((entry, next)) = git_tree::entry(tree, at, id.algorithm()).ok()? {
        (entry.mode == DIRECTORY && is_plain(entry.name)).then_some(())?;
        found.push(entry.id);
        at = next;
    }
    Some(found)
}
