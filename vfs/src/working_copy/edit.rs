//! A tree with changes: only what leads to a change is written anew.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gix_object::Kind;

use super::CopyError;
use super::objects::Objects;
use super::trees::{Entries, Leaf, Trees, bytes};
use crate::git_tree::{DIRECTORY, Id};

/// Changes of a tree, by the directories they are in.
#[derive(Debug, Default)]
pub(super) struct Edits(BTreeMap<PathBuf, Directory>);

#[derive(Debug, Default)]
struct Directory {
    /// Nothing of what was there stays.
    is_new: bool,
    entries: BTreeMap<Vec<u8>, Option<Leaf>>,
}

impl Edits {
    /// Sets what stands at a path, or that nothing does.
    pub(super) fn set(&mut self, path: &Path, leaf: Option<Leaf>) {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return };
        self.way(above).entries.insert(name.as_bytes().to_vec(), leaf);
    }

    /// Sets that nothing stands at a path, unless something was set.
    fn unset(&mut self, path: &Path) {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return };
        self.way(above).entries.entry(name.as_bytes().to_vec()).or_insert(None);
    }

    /// A directory that has nothing but what is set in it.
    pub(super) fn replace(&mut self, path: &Path) {
        self.way(path).is_new = true;
    }

    /// Returns a directory, and makes all that lead to it known.
    fn way(&mut self, path: &Path) -> &mut Directory {
        for above in path.ancestors().skip(1) {
            if self.0.contains_key(above) {
                break;
            }
            self.0.insert(above.to_owned(), Directory::default());
        }
        self.0.entry(path.to_owned()).or_default()
    }

    /// Returns the tree that has all changes.
    pub(super) fn apply(
        mut self,
        (objects, trees): (&mut Objects<'_>, &mut Trees),
        root: &Id,
    ) -> Result<Id, CopyError> {
        let mut old = self.old(objects, trees, root)?;
        let paths: Vec<PathBuf> = self.0.keys().rev().cloned().collect();
        let mut result = *root;
        // What is in a directory comes before it.
        for path in paths {
            let Some(directory) = self.0.remove(&path) else { continue };
            let entries = old.remove(&path).unwrap_or_default();
            let entries = directory.on(entries);
            // An empty directory is none for git. In its place may stand a file by now.
            if entries.is_empty() && path.file_name().is_some() {
                self.unset(&path);
                continue;
            }
            let id = objects.put(Kind::Tree, &bytes(&entries))?;
            trees.remember(id, entries);
            match path.file_name() {
                Some(_) => self.set(&path, Some((DIRECTORY, id))),
                None => result = id,
            }
        }
        Ok(result)
    }

    /// Returns what the directories had.
    fn old(
        &self,
        objects: &mut Objects<'_>,
        trees: &mut Trees,
        root: &Id,
    ) -> Result<BTreeMap<PathBuf, Entries>, CopyError> {
        let mut old: BTreeMap<PathBuf, Entries> = BTreeMap::new();
        for (path, directory) in &self.0 {
            let id = match (path.parent(), path.file_name()) {
                (Some(above), Some(name)) => {
                    let found = old.get(above).and_then(|it| it.get(name.as_bytes()));
                    found.filter(|it| it.0 == DIRECTORY).map(|it| it.1)
                }
                _ => Some(*root),
            };
            let Some(id) = id.filter(|_| !directory.is_new) else { continue };
            old.insert(path.clone(), trees.entries(objects, &id)?.as_ref().clone());
        }
        Ok(old)
    }
}

impl Directory {
    fn on(self, mut entries: Entries) -> Entries {
        for (name, leaf) in self.entries {
            match leaf {
                Some(leaf) => entries.insert(name, leaf),
                None => entries.remove(&name),
            };
        }
        entries
    }
}
