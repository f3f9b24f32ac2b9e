//! Which paths are different in two trees.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::CaptureError;
use super::directories::Leaf;
use crate::cas::Digest;
use crate::snapshot::Bounds;
use crate::working_copy::{ChangedKind, ChangedPath};

/// Reads what is in a directory.
type Read<'a> = dyn Fn(&Digest) -> Result<BTreeMap<String, Leaf>, CaptureError> + 'a;

/// A path at which two trees differ.
pub(super) struct Difference {
    pub(super) path: PathBuf,
    /// What they have there: the old one, the new one.
    pub(super) sides: [Option<Leaf>; 2],
}

impl Difference {
    pub(super) fn changed(self) -> ChangedPath {
        let kind = match self.sides {
            [None, _] => ChangedKind::Created,
            [_, None] => ChangedKind::Deleted,
            _ => ChangedKind::Modified,
        };
        ChangedPath { path: self.path, kind }
    }
}

/// Two trees that are compared.
pub(super) struct Differences<'a> {
    read: &'a Read<'a>,
    bounds: Bounds,
    found: Vec<Difference>,
    /// Directories that are to be compared; one of them can be missing.
    pending: Vec<(PathBuf, [Option<Digest>; 2])>,
}

impl<'a> Differences<'a> {
    pub(super) fn new(read: &'a Read<'a>, bounds: Bounds) -> Self {
        Self { read, bounds, found: Vec::new(), pending: Vec::new() }
    }

    /// Returns all paths that are different, sorted: directories, too, where there was none or is
    /// none any more. Equal directories are not read.
    pub(super) fn all(mut self, old: Digest, new: Digest) -> Result<Vec<Difference>, CaptureError> {
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
        digest.map_or_else(|| Ok(BTreeMap::new()), |digest| (self.read)(&digest))
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
            if !matches!(pair, [Some(Leaf::Directory(_)), Some(Leaf::Directory(_))]) {
                self.found.push(Difference { path, sides: pair.map(Option::<&Leaf>::cloned) });
            }
        }
    }
}
