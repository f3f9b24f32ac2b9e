//! What makes one tree of another: the objects of directories that are the same are never read.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::tree;
use super::walk::{self, Flattening, Open, What, path_of};
use super::{Blob, GitError, Id, Options, Repository, TreeFault};
use crate::snapshot::Snapshot;

/// What has to be put over one tree, the base, to see another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What is new or otherwise, and the directories that lead there.
    pub snapshot: Snapshot<Blob>,
    /// What is no longer there. The directory it was in is the root or one of the snapshot.
    pub gone: Vec<PathBuf>,
}

/// Compares two trees; `None` when more than `most` paths differ.
pub(super) fn difference(
    repository: &Repository,
    (base, id): (&Id, &Id),
    most: usize,
    options: &Options,
) -> Result<Option<Difference>, GitError> {
    let mut comparison = Comparison {
        flat: Flattening::new(repository, options.bounds),
        open: Vec::new(),
        gone: Vec::new(),
        most,
    };
    if !comparison.run(base, id)? {
        return Ok(None);
    }
    let Comparison { flat, gone, .. } = comparison;
    let snapshot = walk::assembled(repository, &flat.places, options.bounds)?;
    Ok(Some(Difference { snapshot, gone }))
}

struct Comparison<'a> {
    flat: Flattening<'a>,
    open: Vec<Pair>,
    gone: Vec<PathBuf>,
    most: usize,
}

/// A directory, and what the base has in its place.
struct Pair {
    new: Open,
    /// What of the base was not met yet.
    old: Names,
    /// All names of the new one that were met.
    names: HashSet<Box<[u8]>>,
}

type Names = BTreeMap<Box<[u8]>, (What, Id)>;

/// An entry of a directory.
struct Next {
    mode: u32,
    name: Box<[u8]>,
    id: Id,
}

impl Comparison<'_> {
    /// Returns whether few enough paths differ.
    fn run(&mut self, base: &Id, id: &Id) -> Result<bool, GitError> {
        let root = self.pair(Some(base), Some(id), 0)?;
        self.open.extend(root);
        while !self.open.is_empty() {
            match self.next(id)? {
                Some(next) => self.compare(next)?,
                None => self.close(),
            }
            if self.flat.places.len() + self.gone.len() > self.most {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes the next name of the directory that was opened last.
    fn next(&mut self, id: &Id) -> Result<Option<Next>, GitError> {
        let Some(top) = self.open.last_mut() else { return Ok(None) };
        let fault = |fault| GitError::Tree { id: top.new.id, fault };
        let bytes = top.new.bytes.clone();
        let next = tree::entry(&bytes, top.new.at, id.algorithm()).map_err(fault)?;
        let Some((tree::Entry { mode, name, id }, at)) = next else { return Ok(None) };
        top.new.at = at;
        // With another between them a name can be there twice: as file and as directory.
        if top.names.insert(name.into()) {
            Ok(Some(Next { mode, name: name.into(), id }))
        } else {
            Err(fault(TreeFault::Twice))
        }
    }

    fn compare(&mut self, Next { mode, name, id }: Next) -> Result<(), GitError> {
        let entry = &tree::Entry { mode, name: &name, id };
        let Some(top) = self.open.last_mut() else { return Ok(()) };
        let (old, directory) = (top.old.remove(&name), top.new.directory);
        let same = |(what, id): (What, Id)| {
            Some(what) == What::of(entry.mode) && (what == What::Submodule || id == entry.id)
        };
        if old.is_some_and(same) {
            return Ok(());
        }
        let what = self.flat.add(directory, entry)?;
        let old = old.and_then(|(what, id)| (what == What::Directory).then_some(id));
        let new = match what {
            What::Directory => Some(entry.id),
            What::Submodule => None,
            What::File | What::Executable | What::Link => return Ok(()),
        };
        self.flat.check_depth(self.open.len())?;
        let pair = self.pair(old.as_ref(), new.as_ref(), self.flat.places.len())?;
        self.open.extend(pair);
        Ok(())
    }

    /// Opens a directory of each; one that is not there is empty.
    fn pair(
        &mut self,
        old: Option<&Id>,
        new: Option<&Id>,
        directory: usize,
    ) -> Result<Option<Pair>, GitError> {
        let names = old.map_or_else(|| Ok(BTreeMap::new()), |id| self.names_of(id))?;
        let new = match (new, old) {
            (Some(id), _) => self.flat.open(id, directory)?,
            (None, Some(old)) => Open { bytes: [].into(), at: 0, directory, id: *old },
            (None, None) => return Ok(None),
        };
        Ok(Some(Pair { new, old: names, names: HashSet::new() }))
    }

    fn names_of(&mut self, id: &Id) -> Result<Names, GitError> {
        let bytes = self.flat.open(id, 0)?.bytes;
        let (mut names, mut at) = (BTreeMap::new(), 0);
        let fault = |fault| GitError::Tree { id: *id, fault };
        while let Some((entry, next)) = tree::entry(&bytes, at, id.algorithm()).map_err(fault)? {
            // One with an unknown mode is in no tree that was made.
            let what = What::of(entry.mode).ok_or(TreeFault::Format).map_err(fault)?;
            names.insert(entry.name.into(), (what, entry.id));
            at = next;
        }
        Ok(names)
    }

    /// Ends a directory: what the base has beyond it is gone.
    fn close(&mut self) {
        let Some(pair) = self.open.pop() else { return };
        let above = path_of(&self.flat.places, pair.new.directory);
        self.gone.extend(pair.old.keys().map(|name| above.join(OsStr::from_bytes(name))));
    }
}
