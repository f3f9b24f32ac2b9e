//! What the end of a run could not do in a live mount.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::super::news::{Missed, Why};

/// The most paths that are told of a mount.
const MOST: usize = 32;

/// What the end of a run could not do in one mount.
#[derive(Debug, Default)]
pub(super) struct AllMissed(RefCell<Vec<(PathBuf, Why)>>);

impl AllMissed {
    /// Notes a directory that could not be looked into.
    pub(super) fn unsearched(&self, path: &Path) {
        self.add(path, Why::Unsearched);
    }

    /// Notes a protected name that could not be taken away.
    pub(super) fn stays(&self, path: &Path) {
        self.add(path, Why::Stays);
    }

    /// Notes a held name whose file has further names that could not be parted from it.
    pub(super) fn shared(&self, path: &Path) {
        self.add(path, Why::Shared);
    }

    fn add(&self, path: &Path, why: Why) {
        let mut all = self.0.borrow_mut();
        if all.len() < MOST && !all.iter().any(|(known, _)| known == path) {
            all.push((path.to_owned(), why));
        }
    }

    /// Takes all that was noted, as it is told of the mount with this number.
    pub(super) fn of(&self, guard: usize) -> impl Iterator<Item = Missed> {
        let all = self.0.take().into_iter();
        all.map(move |(path, why)| Missed { guard, path, why })
    }
}
