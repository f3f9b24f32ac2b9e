//! A tree of contents while it is put together.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::folder::{Clash, Folder, Leaf};
use crate::cas::Digest;
use crate::snapshot::{Entry, Node};

/// A directory that is not complete.
#[derive(Default)]
pub(super) struct Growing {
    leaves: BTreeMap<String, Leaf>,
    folders: BTreeMap<String, Self>,
    digest: Option<Digest>,
}

impl Growing {
    /// Puts a leaf at a path.
    pub(super) fn put(&mut self, path: &str, leaf: Leaf) -> Result<(), Clash> {
        let clash = || Clash(path.to_owned());
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut here = self;
        for name in above.split('/').filter(|name| !name.is_empty()) {
            if here.leaves.contains_key(name) {
                return Err(clash());
            }
            here = here.folders.entry(name.to_owned()).or_default();
        }
        let is_taken = here.folders.contains_key(name);
        let before = here.leaves.insert(name.to_owned(), leaf);
        if is_taken || before.is_some() { Err(clash()) } else { Ok(()) }
    }

    /// Puts all leaves of a directory, once. The digest is that of the directory, unless others are in it.
    pub(super) fn fill(
        &mut self,
        path: &str,
        leaves: impl Iterator<Item = (String, Leaf)>,
        digest: Option<Digest>,
    ) {
        let names = path.split('/').filter(|name| !name.is_empty());
        let here = names.fold(self, |it, name| it.folders.entry(name.to_owned()).or_default());
        here.leaves = leaves.collect();
        here.digest = digest;
    }

    /// Takes an entry of a snapshot, in which each name stands once and below directories.
    pub(super) fn take(&mut self, entry: &Entry<Digest>) {
        let Some(path) = entry.path.to_str() else { return };
        let mut here = self;
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            if names.peek().is_some() {
                here = here.folders.entry(name.to_owned()).or_default();
                continue;
            }
            let leaf = match &entry.node {
                Node::Directory => {
                    here.folders.entry(name.to_owned()).or_default();
                    return;
                }
                Node::File { content, executable, .. } => {
                    Leaf::File { digest: *content, executable: *executable }
                }
                Node::Symlink { target } => {
                    Leaf::Symlink { target: target.to_string_lossy().into_owned() }
                }
            };
            here.leaves.insert(name.to_owned(), leaf);
        }
    }

    /// Returns the directory, complete. It calls itself as deep as paths are, which are bounded.
    pub(super) fn done(self) -> Arc<Folder> {
        let known = self.digest.filter(|_| self.folders.is_empty());
        let folders = self.folders.into_iter().map(|(name, it)| (name, it.done())).collect();
        Arc::new(Folder::made(self.leaves, folders, known))
    }
}
