//! Trees of contents that share their parts.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, OnceLock};

use super::growing::Growing;
use crate::cas::message::{
    ListedDirectory, ListedFile, ListedSymlink, Listing, MessageError, TreeMessage,
};
use crate::cas::{CasError, Digest, Publishing, Store, StoreError, snapshot};
use crate::snapshot::Bounds;

/// A file or link of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// A file.
    File {
        /// Its content.
        digest: Digest,
        /// Whether it can be executed.
        executable: bool,
    },
    /// A symbolic link.
    Symlink {
        /// Where it leads.
        target: String,
    },
}

/// A directory of a tree. It never changes: two trees may have it, and its digest is found once.
#[derive(Debug, Default)]
pub struct Folder {
    leaves: BTreeMap<String, Leaf>,
    folders: BTreeMap<String, Arc<Self>>,
    digest: OnceLock<Result<Digest, MessageError>>,
}

/// Which files of a tree, by their paths.
pub struct Selection<'s> {
    /// The file or directory below which all of them are; the tree itself is `""`.
    pub below: &'s str,
    /// Whether all of a directory are, and of those in it.
    pub has_all: &'s dyn Fn(&str) -> bool,
    /// Whether one is.
    pub takes: &'s dyn Fn(&str) -> bool,
}

/// Two trees have something else at one path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("two inputs are at one path: {0}")]
pub struct Clash(pub String);

impl Folder {
    /// Makes a tree of files and links by their paths.
    ///
    /// # Errors
    /// One stands where another has its directory.
    pub fn new<'a>(
        leaves: impl IntoIterator<Item = (&'a str, &'a Leaf)>,
    ) -> Result<Arc<Self>, Clash> {
        let mut root = Growing::default();
        for (path, leaf) in leaves {
            root.put(path, leaf.clone())?;
        }
        Ok(root.done())
    }

    /// Makes a tree with nothing but a directory.
    pub fn directory(path: &str) -> Arc<Self> {
        Self::below(path, Arc::default())
    }

    /// Puts another tree below a path.
    pub fn below(path: &str, tree: Arc<Self>) -> Arc<Self> {
        path.split('/').rev().fold(tree, |below, name| {
            let folders = BTreeMap::from([(name.to_owned(), below)]);
            Arc::new(Self { folders, ..Self::default() })
        })
    }

    /// Puts two trees into one. What both have alike stands there once; parts that only one has are
    /// shared.
    ///
    /// # Errors
    /// They have something else at one path.
    pub fn union(one: &Arc<Self>, other: &Arc<Self>) -> Result<Arc<Self>, Clash> {
        if Arc::ptr_eq(one, other) || other.is_empty() {
            return Ok(Arc::clone(one));
        }
        if one.is_empty() {
            return Ok(Arc::clone(other));
        }
        let mut leaves = one.leaves.clone();
        for (name, leaf) in &other.leaves {
            if leaves.insert(name.clone(), leaf.clone()).is_some_and(|it| it != *leaf) {
                return Err(Clash(name.clone()));
            }
        }
        let mut folders = one.folders.clone();
        for (name, folder) in &other.folders {
            let both = match folders.get(name) {
                Some(own) => Self::union(own, folder).map_err(|it| it.below(name))?,
                None => Arc::clone(folder),
            };
            folders.insert(name.clone(), both);
        }
        match folders.keys().find(|name| leaves.contains_key(*name)) {
            Some(name) => Err(Clash(name.clone())),
            None => Ok(Arc::new(Self { leaves, folders, digest: OnceLock::new() })),
        }
    }

    /// Returns the tree of the files that are selected; parts of which all are stay shared.
    pub fn select(self: &Arc<Self>, selection: &Selection<'_>) -> Arc<Self> {
        let path = selection.below;
        if let Some(leaf) = self.leaf(path).filter(|_| (selection.takes)(path)) {
            // One alone clashes with nothing.
            return Self::new([(path, leaf)]).unwrap_or_default();
        }
        let folder = if path.is_empty() { Some(self) } else { self.shared(path) };
        let selected = folder.map(|it| it.select_at(&mut path.to_owned(), selection));
        match selected.filter(|it| !it.is_empty()) {
            None => Arc::default(),
            Some(selected) if path.is_empty() => selected,
            Some(selected) => Self::below(path, selected),
        }
    }

    /// Returns the selected part of this directory. It calls itself as deep as paths are, which are bounded.
    fn select_at(self: &Arc<Self>, path: &mut String, selection: &Selection<'_>) -> Arc<Self> {
        if (selection.has_all)(path) {
            return Arc::clone(self);
        }
        let mut selected = Self::default();
        for (name, leaf) in &self.leaves {
            if put_to(path, name, |path| (selection.takes)(path)) {
                selected.leaves.insert(name.clone(), leaf.clone());
            }
        }
        for (name, folder) in &self.folders {
            let folder = put_to(path, name, |path| folder.select_at(path, selection));
            if !folder.is_empty() {
                selected.folders.insert(name.clone(), folder);
            }
        }
        Arc::new(selected)
    }

    /// Returns the directory at a path.
    pub fn folder(&self, path: &str) -> Option<&Self> {
        self.shared(path).map(Arc::as_ref)
    }

    fn shared(&self, path: &str) -> Option<&Arc<Self>> {
        let mut names = path.split('/');
        let first = self.folders.get(names.next()?)?;
        names.try_fold(first, |here, name| here.folders.get(name))
    }

    /// Returns the file or link at a path.
    pub fn leaf(&self, path: &str) -> Option<&Leaf> {
        match path.rsplit_once('/') {
            Some((above, name)) => self.folder(above)?.leaves.get(name),
            None => self.leaves.get(path),
        }
    }

    /// Returns the tree with another leaf at a path where one is.
    #[must_use]
    pub fn with(self: &Arc<Self>, path: &str, leaf: Leaf) -> Arc<Self> {
        let (mut leaves, mut folders) = (self.leaves.clone(), self.folders.clone());
        match path.split_once('/') {
            Some((name, below)) => {
                folders.entry(name.to_owned()).and_modify(|it| *it = it.with(below, leaf));
            }
            None => {
                leaves.entry(path.to_owned()).and_modify(|it| *it = leaf);
            }
        }
        Arc::new(Self { leaves, folders, digest: OnceLock::new() })
    }

    /// Returns all directories with their paths; it is the one at `""`.
    pub fn all(&self) -> Vec<(String, &Self)> {
        let (mut all, mut open) = (Vec::new(), vec![(String::new(), self)]);
        while let Some((path, folder)) = open.pop() {
            let at =
                |name: &str| if path.is_empty() { name.into() } else { format!("{path}/{name}") };
            open.extend(folder.folders.iter().map(|(name, it)| (at(name), it.as_ref())));
            all.push((path, folder));
        }
        all
    }

    /// Returns the files and links in the directory itself, by their names.
    pub fn own_leaves(&self) -> impl Iterator<Item = (&str, &Leaf)> {
        self.leaves.iter().map(|(name, leaf)| (name.as_str(), leaf))
    }

    /// Returns whether a file or link stands in it.
    pub fn has_leaf(&self, name: &str) -> bool {
        self.leaves.contains_key(name)
    }

    /// Puts a directory together whose digest may be known.
    pub(super) fn made(
        leaves: BTreeMap<String, Leaf>,
        folders: BTreeMap<String, Arc<Self>>,
        digest: Option<Digest>,
    ) -> Self {
        let digest = digest.map_or_else(OnceLock::new, |it| OnceLock::from(Ok(it)));
        Self { leaves, folders, digest }
    }

    /// Returns whether no directory is in it.
    pub(super) fn is_flat(&self) -> bool {
        self.folders.is_empty()
    }

    /// Reads a tree of the store.
    ///
    /// # Errors
    /// Something of it is missing or damaged, or it passes the bounds.
    pub fn of_store(
        store: &Store<'_>,
        root: &Digest,
        bounds: Bounds,
    ) -> Result<Arc<Self>, CasError> {
        let snapshot = snapshot(store, root, bounds)?;
        let mut tree = Growing::default();
        for entry in snapshot.entries() {
            tree.take(entry);
        }
        Ok(tree.done())
    }

    /// Returns whether the directory holds nothing.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty() && self.folders.is_empty()
    }

    /// Returns the digest of its `Directory` message.
    ///
    /// # Errors
    /// A name that can't be in a tree of contents.
    pub fn digest(&self) -> Result<Digest, MessageError> {
        let found = || self.listing().map(|listing| Digest::of(&listing.encode()));
        self.digest.get_or_init(found).clone()
    }

    /// Returns how many files and links it has.
    pub fn count(&self) -> usize {
        self.leaves.len() + self.folders.values().map(|folder| folder.count()).sum::<usize>()
    }

    /// Returns all files and links by their paths.
    pub fn leaves(&self) -> Vec<(String, &Leaf)> {
        let mut all = Vec::new();
        let mut open = vec![(String::new(), self)];
        while let Some((path, folder)) = open.pop() {
            all.extend(folder.leaves.iter().map(|(name, leaf)| (format!("{path}{name}"), leaf)));
            let below = folder.folders.iter();
            open.extend(below.map(|(name, it)| (format!("{path}{name}/"), it.as_ref())));
        }
        all
    }

    /// Puts the messages of all its directories into the store, but of those that are `known` to be there
    /// with all that is below them; the others are added. Contents of files are not looked at.
    ///
    /// # Errors
    /// A failing call.
    pub fn put(
        &self,
        publishing: &Publishing<'_>,
        known: &mut HashSet<Digest>,
    ) -> Result<(), StoreError> {
        let mut open = vec![self];
        while let Some(folder) = open.pop() {
            let Ok(digest) = folder.digest() else { continue };
            if !known.insert(digest) {
                continue;
            }
            if let (false, Ok(listing)) = (publishing.has(&digest)?, folder.listing()) {
                publishing.put_bytes(&listing.encode())?;
            }
            open.extend(folder.folders.values().map(Arc::as_ref));
        }
        Ok(())
    }

    /// Returns the bytes of the `Tree` message of it and all that is below.
    ///
    /// # Errors
    /// A name that can't be in a tree of contents.
    pub fn tree_message(&self) -> Result<Vec<u8>, MessageError> {
        let (mut children, mut seen) = (Vec::new(), BTreeSet::new());
        let mut open: Vec<&Self> = self.folders.values().map(Arc::as_ref).collect();
        while let Some(folder) = open.pop() {
            if seen.insert(folder.digest()?) {
                children.push(folder.listing()?);
                open.extend(folder.folders.values().map(Arc::as_ref));
            }
        }
        Ok(TreeMessage::encode(&self.listing()?, &children))
    }

    fn listing(&self) -> Result<Listing, MessageError> {
        let (mut files, mut symlinks) = (Vec::new(), Vec::new());
        for (name, leaf) in &self.leaves {
            let name = name.clone();
            match leaf {
                Leaf::File { digest, executable } => {
                    let (digest, executable) = (*digest, *executable);
                    files.push(ListedFile { name, digest, executable });
                }
                Leaf::Symlink { target } => {
                    symlinks.push(ListedSymlink { name, target: target.clone() });
                }
            }
        }
        let directory = |(name, folder): (&String, &Arc<Self>)| {
            Ok(ListedDirectory { name: name.clone(), digest: folder.digest()? })
        };
        let directories = self.folders.iter().map(directory).collect::<Result<_, _>>()?;
        Listing::new(files, directories, symlinks)
    }
}

impl PartialEq for Folder {
    fn eq(&self, other: &Self) -> bool {
        (&self.leaves, &self.folders) == (&other.leaves, &other.folders)
    }
}

impl Clash {
    fn below(self, name: &str) -> Self {
        Self(format!("{name}/{}", self.0))
    }
}

/// Calls `say` with a path to which a name is put, and takes the name away again.
fn put_to<T>(path: &mut String, name: &str, say: impl FnOnce(&mut String) -> T) -> T {
    let length = path.len();
    if length > 0 {
        path.push('/');
    }
    path.push_str(name);
    let said = say(path);
    path.truncate(length);
    said
}
