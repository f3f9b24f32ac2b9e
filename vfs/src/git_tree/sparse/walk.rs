//! From a tree object to what of it is selected. What can hold nothing that is selected is not read.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::Sparse;
use super::select::Within;
use crate::git_tree::tree::{self, DIRECTORY, Entry, SUBMODULE};
use crate::git_tree::walk::{self, Flattening, Open};
use crate::git_tree::{Blob, GitError, Id, Options, Repository};
use crate::snapshot::{Bounds, Snapshot, SnapshotError};

/// What all comparisons of names with patterns may cost together: some ten seconds.
const MOST: u64 = 1 << 33;

/// Reads what is selected of a tree.
pub(in crate::git_tree) fn snapshot(
    repository: &Repository,
    id: &Id,
    (sparse, options): (&Sparse, &Options),
) -> Result<Snapshot<Blob>, GitError> {
    let flat = Flattening::new(repository, options.bounds);
    let selecting = Selecting { flat, sparse, bounds: options.bounds, seen: 0, work: 0 };
    let places = selecting.run(id)?;
    walk::assembled(repository, &places, options.bounds)
}

struct Selecting<'a> {
    flat: Flattening<'a>,
    sparse: &'a Sparse,
    bounds: Bounds,
    /// How many names were looked at.
    seen: usize,
    work: u64,
}

/// A directory of which a part is looked at.
struct Level {
    open: Open,
    within: Within,
    /// Its name in the directory above; the root has none, and is there from the start.
    name: Box<[u8]>,
    is_there: bool,
}

impl Selecting<'_> {
    fn run(mut self, root: &Id) -> Result<Vec<walk::Place>, GitError> {
        let open = self.flat.open(root, 0)?;
        let within = self.sparse.root();
        let mut levels = vec![Level { open, within, name: Box::default(), is_there: true }];
        while let Some(top) = levels.last_mut() {
            let fault = |fault| GitError::Tree { id: top.open.id, fault };
            let bytes = top.open.bytes.clone();
            let next = tree::entry(&bytes, top.open.at, root.algorithm()).map_err(fault)?;
            let Some((entry, at)) = next else {
                levels.pop();
                continue;
            };
            top.open.at = at;
            let is_directory = matches!(entry.mode, DIRECTORY | SUBMODULE);
            let looked = (entry.name, is_directory);
            let within = self.sparse.look(&top.within, looked, &mut self.work);
            self.check(&levels)?;
            if entry.mode == DIRECTORY {
                self.enter(&mut levels, &entry, within)?;
            } else if within.is_selected {
                let directory = self.there(&mut levels)?;
                self.flat.add(directory, &entry)?;
            }
        }
        Ok(self.flat.places)
    }

    /// Opens a directory, if anything in it can be selected.
    fn enter(
        &mut self,
        levels: &mut Vec<Level>,
        entry: &Entry<'_>,
        within: Within,
    ) -> Result<(), GitError> {
        if self.sparse.may_hold(&within) {
            if levels.len() > self.bounds.depth {
                let (of, limit) = ("directories above one another", self.bounds.depth as u64);
                return Err(too_large(levels, of, limit));
            }
            let open = self.flat.open(&entry.id, 0);
            let path = || path_of(levels).join(OsStr::from_bytes(entry.name));
            let open = open.map_err(|error| error.needed_for(path))?;
            levels.push(Level { open, within, name: entry.name.into(), is_there: false });
        }
        Ok(())
    }

    /// Adds the directories that are not there yet, and returns the place of the last.
    fn there(&mut self, levels: &mut [Level]) -> Result<usize, GitError> {
        let mut directory = 0;
        for level in levels {
            if !level.is_there {
                let entry = Entry { mode: DIRECTORY, name: &level.name, id: level.open.id };
                self.flat.add(directory, &entry)?;
                (level.open.directory, level.is_there) = (self.flat.places.len(), true);
            }
            directory = level.open.directory;
        }
        Ok(directory)
    }

    /// A tree can name others so often that looking at all has no end, though nothing is selected.
    fn check(&mut self, levels: &[Level]) -> Result<(), GitError> {
        self.seen += 1;
        if self.seen > self.bounds.entries {
            let limit = self.bounds.entries as u64;
            return Err(too_large(levels, "files and directories", limit));
        }
        if self.work > MOST {
            return Err(too_large(levels, "comparisons with patterns", MOST));
        }
        Ok(())
    }
}

fn path_of(levels: &[Level]) -> PathBuf {
    levels.iter().map(|level| OsStr::from_bytes(&level.name)).collect()
}

fn too_large(levels: &[Level], of: &'static str, limit: u64) -> GitError {
    SnapshotError::TooLarge { path: path_of(levels), of, limit }.into()
}
