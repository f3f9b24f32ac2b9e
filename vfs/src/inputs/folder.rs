//! Trees of contents that share their parts.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, OnceLock};

use crate::cas::message::{
    ListedDirectory, ListedFile, ListedSymlink, Listing, MessageError, TreeMessage,
};
use crate::cas::{CasError, Digest, Publishing, Store, StoreError, snapshot};
use crate::snapshot::{Bounds, Entry, Node};

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
    message: OnceLock<Result<(Digest, Vec<u8>), MessageError>>,
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
            None => Ok(Arc::new(Self { leaves, folders, message: OnceLock::new() })),
        }
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

    /// Returns whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty() && self.folders.is_empty()
    }

    /// Returns the digest of its `Directory` message.
    ///
    /// # Errors
    /// A name that can't be in a tree of contents.
    pub fn digest(&self) -> Result<Digest, MessageError> {
        self.message().map(|(digest, _)| *digest)
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
            let Ok((digest, message)) = folder.message() else { continue };
            if !known.insert(*digest) {
                continue;
            }
            if !publishing.has(digest)? {
                publishing.put_bytes(message)?;
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

    fn message(&self) -> Result<&(Digest, Vec<u8>), MessageError> {
        let made = self.message.get_or_init(|| {
            let message = self.listing()?.encode();
            Ok((Digest::of(&message), message))
        });
        made.as_ref().map_err(Clone::clone)
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

/// A directory that is not complete.
#[derive(Default)]
struct Growing {
    leaves: BTreeMap<String, Leaf>,
    folders: BTreeMap<String, Self>,
}

impl Growing {
    fn put(&mut self, path: &str, leaf: Leaf) -> Result<(), Clash> {
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

    /// Takes an entry of a snapshot, in which each name stands once and below directories.
    fn take(&mut self, entry: &Entry<Digest>) {
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

    /// As deep as paths are, which are bounded.
    fn done(self) -> Arc<Folder> {
        let folders = self.folders.into_iter().map(|(name, it)| (name, it.done())).collect();
        Arc::new(Folder { leaves: self.leaves, folders, message: OnceLock::new() })
    }
}
