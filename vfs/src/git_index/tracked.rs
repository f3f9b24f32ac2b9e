//! The tracked paths of a work tree.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::{IndexFault, Stamp};
use crate::names::NameRules;

/// The longest path that a kernel call can name.
const PATH_MAX: usize = 4096;
/// The most bytes of all names together: a packed index could unfold to any size.
const BYTES: usize = 256 << 20;

/// The paths that an index tracks, relative to the work tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tracked {
    bytes: Vec<u8>,
    /// Where each name ends; sorted by name, each once.
    ends: Vec<u32>,
    /// What the index remembers of each; empty when the index was not in order.
    stamps: Vec<Stamp>,
}

impl Tracked {
    /// Returns what the index remembers of a file's state.
    pub fn stamp(&self, path: &[u8]) -> Option<Stamp> {
        let index = self.first_from(path);
        self.get(index).filter(|known| *known == path)?;
        self.stamps.get(index).copied()
    }

    /// Returns the tracked files, and directories above them, that rules would hide, sorted.
    ///
    /// These are what rules with this index's leave spare; they and the rules make the digest of
    /// a walk's cache, which then survives all changes of the index that spare the same.
    pub fn hidden_by(&self, rules: &dyn NameRules) -> Vec<PathBuf> {
        let mut hidden = Vec::new();
        let mut before: &[u8] = b"";
        for path in self.iter() {
            let same = before.iter().zip(path).take_while(|(a, b)| a == b).count();
            let is_new = |end: &usize| *end > same || before.get(*end) != Some(&b'/');
            let new = ends_of_names(path).filter(is_new);
            hidden.extend(new.filter_map(|end| hidden_part(rules, path, end)));
            before = path;
        }
        hidden.sort();
        hidden.dedup();
        hidden
    }

    /// Returns the paths, sorted by their bytes.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len()).filter_map(|index| self.get(index))
    }

    /// Returns how many paths there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether nothing is tracked.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns whether a path is tracked.
    pub fn has(&self, path: &[u8]) -> bool {
        self.get(self.first_from(path)) == Some(path)
    }

    /// Returns whether a path below a directory is tracked.
    pub fn has_below(&self, directory: &[u8]) -> bool {
        let first = [directory, b"/"].concat();
        self.get(self.first_from(&first)).is_some_and(|known| known.starts_with(&first))
    }

    /// Returns the index of the first path that is not before `path`.
    fn first_from(&self, path: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle).is_some_and(|known| known < path) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)? as usize;
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before));
        self.bytes.get(start.map_or(0, |start| *start as usize)..end)
    }
}

/// Returns the beginning of a path, up to the end of one of its names, if rules hide it.
fn hidden_part(rules: &dyn NameRules, path: &[u8], end: usize) -> Option<PathBuf> {
    let part = path.get(..end)?;
    let mut names = part.rsplit(|byte| *byte == b'/');
    let (name, above) = (names.next()?, names.next().unwrap_or_default());
    let is_hidden = rules.may_match_name(above, name)
        && rules.decide(part, end < path.len()).is_some_and(|is_hidden| is_hidden);
    is_hidden.then(|| OsString::from_vec(part.to_vec()).into())
}

/// Returns where each name of a path ends.
fn ends_of_names(path: &[u8]) -> impl Iterator<Item = usize> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    slashes.chain([path.len()])
}

/// Collects names in the order of an index.
#[derive(Default)]
pub(super) struct Builder {
    tracked: Tracked,
    is_unsorted: bool,
}

impl Builder {
    /// Adds a name; the stages of a conflict follow each other with the same one.
    pub(super) fn add(&mut self, name: &[u8], stamp: Stamp) -> Result<(), IndexFault> {
        let tracked = &mut self.tracked;
        if name.len() > PATH_MAX {
            return Err(IndexFault::Damaged);
        }
        let last = tracked.ends.len().checked_sub(1).and_then(|last| tracked.get(last));
        match last.map(|last| last.cmp(name)) {
            Some(std::cmp::Ordering::Equal) => return Ok(()),
            Some(std::cmp::Ordering::Greater) => self.is_unsorted = true,
            _ => {}
        }
        tracked.bytes.extend_from_slice(name);
        if tracked.bytes.len() > BYTES {
            return Err(IndexFault::TooLarge);
        }
        let end = u32::try_from(tracked.bytes.len()).map_err(|_| IndexFault::TooLarge)?;
        tracked.ends.push(end);
        tracked.stamps.push(stamp);
        Ok(())
    }

    /// Sorts what a hostile index left unsorted; nothing is known of its files then.
    pub(super) fn finish(self) -> Tracked {
        if !self.is_unsorted {
            return self.tracked;
        }
        let mut names: Vec<&[u8]> = self.tracked.iter().collect();
        names.sort_unstable();
        names.dedup();
        let mut sorted = Tracked::default();
        for name in names {
            sorted.bytes.extend_from_slice(name);
            sorted.ends.extend(u32::try_from(sorted.bytes.len()));
        }
        sorted
    }
}
