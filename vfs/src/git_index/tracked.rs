//! The tracked paths of a work tree.

use super::{IndexFault, Stamp};

/// The most bytes of all names together: a packed index could unfold to any size.
const BYTES: usize = 256 << 20;

/// The paths that an index tracks, relative to the work tree, and what it remembers of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracked<T = Stamp> {
    bytes: Vec<u8>,
    /// Where each name ends; sorted by name, each once.
    ends: Vec<u32>,
    /// What is remembered; empty when the index was not in order.
    remembered: Vec<T>,
}

impl<T> Default for Tracked<T> {
    fn default() -> Self {
        Self { bytes: Vec::new(), ends: Vec::new(), remembered: Vec::new() }
    }
}

impl<T> Tracked<T> {
    /// Returns what the index remembers of a file.
    pub fn remembered(&self, path: &[u8]) -> Option<&T> {
        let index = self.first_from(path);
        self.get(index).filter(|known| *known == path)?;
        self.remembered.get(index)
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

/// Collects names in the order of an index.
pub(super) struct Builder<T> {
    tracked: Tracked<T>,
    is_unsorted: bool,
}

impl<T> Default for Builder<T> {
    fn default() -> Self {
        Self { tracked: Tracked::default(), is_unsorted: false }
    }
}

impl<T> Builder<T> {
    /// Adds a name; the stages of a conflict follow each other with the same one.
    pub(super) fn add(&mut self, name: &[u8], remembered: T) -> Result<(), IndexFault> {
        let tracked = &mut self.tracked;
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
        tracked.remembered.push(remembered);
        Ok(())
    }

    /// Sorts what a hostile index left unsorted; nothing is known of its files then.
    pub(super) fn finish(self) -> Tracked<T> {
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
