//! The directories that lead to changes: as they were, and what is set in them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::CaptureError;
use super::stage::Staging;
use crate::cas::message::{ListedDirectory, ListedFile, ListedSymlink, Listing};
use crate::cas::{DIRECTORY_MAX, Digest, Store};
use crate::snapshot::Bounds;

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    File { digest: Digest, executable: bool },
    Symlink(String),
    Directory(Digest),
}

/// Whether what the tree has in a directory shows through the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Below {
    Shows,
    Hidden,
}

/// Messages that are not in the store yet.
pub(super) type Made = HashMap<Digest, Listing>;

/// All directories of the layer, by their paths.
pub(super) struct Directories<'a> {
    store: &'a Store<'a>,
    bounds: Bounds,
    all: BTreeMap<PathBuf, Directory>,
}

#[derive(Default)]
struct Directory {
    /// What shows through it.
    old: Option<(Digest, Listing)>,
    set: BTreeMap<String, Option<Leaf>>,
}

impl<'a> Directories<'a> {
    pub(super) fn new(
        store: &'a Store<'a>,
        root: Digest,
        bounds: Bounds,
    ) -> Result<Self, CaptureError> {
        let listing = read(store, &root, bounds)?;
        let root = Directory { old: Some((root, listing)), set: BTreeMap::new() };
        Ok(Self { store, bounds, all: BTreeMap::from([(PathBuf::new(), root)]) })
    }

    /// A directory of the layer; the one above it was entered before.
    pub(super) fn enter(
        &mut self,
        path: &Path,
        name: &str,
        below: Below,
    ) -> Result<(), CaptureError> {
        let old = match self.shown(path, name) {
            Some(Leaf::Directory(digest)) if below == Below::Shows => {
                Some((digest, read(self.store, &digest, self.bounds)?))
            }
            _ => None,
        };
        self.all.insert(path.to_owned(), Directory { old, set: BTreeMap::new() });
        Ok(())
    }

    /// Sets what a name stands for; nothing does for `None`.
    pub(super) fn set(&mut self, path: &Path, name: &str, leaf: Option<Leaf>) {
        let above = path.parent().and_then(|above| self.all.get_mut(above));
        if let Some(above) = above {
            above.set.insert(name.to_owned(), leaf);
        }
    }

    /// Returns whether the tree has a file of this content there.
    pub(super) fn had(&self, path: &Path, name: &str, content: &Digest) -> bool {
        matches!(self.shown(path, name), Some(Leaf::File { digest, .. }) if digest == *content)
    }

    /// What shows at a path through the layer.
    pub(super) fn shown(&self, path: &Path, name: &str) -> Option<Leaf> {
        let (_, listing) = self.all.get(path.parent()?)?.old.as_ref()?;
        find(listing, name)
    }

    /// Stages the messages that are different and returns the one of the root, and all of them.
    pub(super) fn apply(
        mut self,
        staging: &mut Staging<'_>,
    ) -> Result<(Digest, Made), CaptureError> {
        let (mut made, mut root) = (Made::new(), Digest::EMPTY);
        // What is in a directory comes before it.
        while let Some((path, directory)) = self.all.pop_last() {
            let digest = directory.put(&path, staging, &mut made)?;
            match path.file_name().and_then(|name| name.to_str()) {
                Some(name) => self.set(&path, name, Some(Leaf::Directory(digest))),
                None => root = digest,
            }
        }
        Ok((root, made))
    }
}

impl Directory {
    fn put(
        self,
        path: &Path,
        staging: &mut Staging<'_>,
        made: &mut Made,
    ) -> Result<Digest, CaptureError> {
        let Self { old, set } = self;
        let mut leaves = old.as_ref().map(|(_, old)| leaves(old)).unwrap_or_default();
        for (name, leaf) in set {
            match leaf {
                Some(leaf) => drop(leaves.insert(name, leaf)),
                None => drop(leaves.remove(&name)),
            }
        }
        let new = listing(path, leaves)?;
        // The message of an unchanged one can have properties, which its listing has not.
        if let Some((digest, old)) = old
            && old == new
        {
            return Ok(digest);
        }
        let message = new.encode();
        if message.len() as u64 > DIRECTORY_MAX {
            let what = "bytes in the message of a directory";
            return Err(CaptureError::TooMuch { what, most: DIRECTORY_MAX });
        }
        let digest = staging.put(&message, path)?;
        made.insert(digest, new);
        Ok(digest)
    }
}

/// Reads the message of a directory.
pub(super) fn read(
    store: &Store<'_>,
    digest: &Digest,
    bounds: Bounds,
) -> Result<Listing, CaptureError> {
    let message = store.read(digest, DIRECTORY_MAX)?;
    let listing = Listing::decode(&message, bounds.entries);
    listing.map_err(|error| CaptureError::Message { digest: *digest, error })
}

/// Returns what is in a directory, by its names.
pub(super) fn leaves(listing: &Listing) -> BTreeMap<String, Leaf> {
    let files = listing.files().iter().map(|it| (it.name.clone(), of_file(it)));
    let symlinks = listing.symlinks().iter();
    let symlinks = symlinks.map(|it| (it.name.clone(), Leaf::Symlink(it.target.clone())));
    let directories = listing.directories().iter();
    let directories = directories.map(|it| (it.name.clone(), Leaf::Directory(it.digest)));
    files.chain(symlinks).chain(directories).collect()
}

/// Returns what a directory has at a name. Its lists of files and of directories are sorted by name.
fn find(listing: &Listing, name: &str) -> Option<Leaf> {
    let files = listing.files();
    if let Ok(at) = files.binary_search_by(|it| it.name.as_str().cmp(name)) {
        return files.get(at).map(of_file);
    }
    let directories = listing.directories();
    if let Ok(at) = directories.binary_search_by(|it| it.name.as_str().cmp(name)) {
        return directories.get(at).map(|it| Leaf::Directory(it.digest));
    }
    let mut symlinks = listing.symlinks().iter();
    symlinks.find(|it| it.name == name).map(|it| Leaf::Symlink(it.target.clone()))
}

fn of_file(file: &ListedFile) -> Leaf {
    Leaf::File { digest: file.digest, executable: file.executable }
}

fn listing(path: &Path, leaves: BTreeMap<String, Leaf>) -> Result<Listing, CaptureError> {
    let (mut files, mut directories, mut symlinks) = (Vec::new(), Vec::new(), Vec::new());
    for (name, leaf) in leaves {
        match leaf {
            Leaf::File { digest, executable } => {
                files.push(ListedFile { name, digest, executable });
            }
            Leaf::Directory(digest) => directories.push(ListedDirectory { name, digest }),
            Leaf::Symlink(target) => symlinks.push(ListedSymlink { name, target }),
        }
    }
    let listing = Listing::new(files, directories, symlinks);
    listing.map_err(|error| CaptureError::Directory { path: path.to_owned(), error })
}
