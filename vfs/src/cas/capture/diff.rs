//! Which paths are different in two trees.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::CaptureError;
use super::directories::{Leaf, Made, leaves, read};
use crate::cas::{Digest, Store};
use crate::snapshot::Bounds;
use crate::working_copy::{ChangedKind, ChangedPath};

/// Two trees, of which the new one has messages that the store lacks.
pub(super) struct Differences<'a> {
    store: &'a Store<'a>,
    made: &'a Made,
    bounds: Bounds,
    found: Vec<ChangedPath>,
    /// Directories that are to be compared; one of them can be missing.
    pending: Vec<(PathBuf, [Option<Digest>; 2])>,
}

impl<'a> Differences<'a> {
    pub(super) fn new(store: &'a Store<'a>, made: &'a Made, bounds: Bounds) -> Self {
        Self { store, made, bounds, found: Vec::new(), pending: Vec::new() }
    }

    /// Returns all paths that are different, sorted: directories, too, where there was none or is
    /// none any more. Equal directories are not read.
    pub(super) fn all(
        mut self,
        old: Digest,
        new: Digest,
    ) -> Result<Vec<ChangedPath>, CaptureError> {
        if old != new {
            self.pending.push((PathBuf::new(), [Some(old), Some(new)]));
        }
        // Each of both trees keeps to its bounds, or is going to be refused where it is shown.
        let most = self.bounds.entries.saturating_mul(2);
        while let Some((path, pair)) = self.pending.pop() {
            let [old, new] = pair.map(|digest| self.leaves(digest));
            self.compare(&path, &old?, &new?);
            if self.found.len() > most {
                return Err(CaptureError::TooMuch { what: "changed paths", most: most as u64 });
            }
        }
        self.found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(self.found)
    }

    fn leaves(&self, digest: Option<Digest>) -> Result<BTreeMap<String, Leaf>, CaptureError> {
        let Some(digest) = digest else { return Ok(BTreeMap::new()) };
        match self.made.get(&digest) {
            Some(listing) => Ok(leaves(listing)),
            None => Ok(leaves(&read(self.store, &digest, self.bounds)?)),
        }
    }

    fn compare(&mut self, at: &Path, old: &BTreeMap<String, Leaf>, new: &BTreeMap<String, Leaf>) {
        let gone = old.keys().filter(|name| !new.contains_key(*name));
        for name in new.keys().chain(gone) {
            let pair = [old.get(name), new.get(name)];
            let [was, is] = pair;
            if was == is {
                continue;
            }
            let path = at.join(name);
            let directories = pair.map(|leaf| match leaf {
                Some(Leaf::Directory(digest)) => Some(*digest),
                _ => None,
            });
            if directories != [None, None] {
                self.pending.push((path.clone(), directories));
            }
            let kind = match pair {
                [Some(Leaf::Directory(_)), Some(Leaf::Directory(_))] => continue,
                [None, _] => ChangedKind::Created,
                [_, None] => ChangedKind::Deleted,
                _ => ChangedKind::Modified,
            };
            self.found.push(ChangedPath { path, kind });
        }
    }
}
