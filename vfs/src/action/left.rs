//! What a tree has at the path of an output.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::LeftNode;
use crate::cas::message::{ListedDirectory, Listing};
use crate::cas::{CasError, DIRECTORY_MAX, Digest, Publishing, Store};
use crate::inputs::Folder;
use crate::snapshot::Bounds;

/// Why an output can't be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeftError {
    /// The tree can't be read.
    #[error(transparent)]
    Tree(#[from] CasError),
    /// The tree of a directory can't be put together.
    #[error("can't name the directory {path}")]
    Directory {
        /// Its path.
        path: String,
        /// Why.
        #[source]
        error: crate::cas::message::MessageError,
    },
    /// The store can't take it.
    #[error(transparent)]
    Store(#[from] crate::cas::StoreError),
}

/// Returns what a tree of the store has at a path. Of a directory the message of its whole tree is put into
/// the store, too.
///
/// # Errors
/// The tree can't be read, or the store can't take the message.
pub fn left_at(
    publishing: &Publishing<'_>,
    root: &Digest,
    path: &str,
) -> Result<Option<LeftNode>, LeftError> {
    Ok(match found_at(publishing, root, path)? {
        Some(AtPath::Directory(root)) => {
            let tree = tree_of(publishing, &root, path)?;
            Some(LeftNode::Directory { root, tree })
        }
        Some(AtPath::Leaf(node)) => Some(node),
        None => None,
    })
}

/// What stands at a path.
pub(super) enum AtPath {
    /// A directory, by its message.
    Directory(Digest),
    /// A file or a link.
    Leaf(LeftNode),
}

/// Returns what a tree of the store has at a path; the empty one is the tree itself.
pub(super) fn found_at(
    store: &Store<'_>,
    root: &Digest,
    path: &str,
) -> Result<Option<AtPath>, LeftError> {
    let mut here = *root;
    let mut names = path.split('/').filter(|name| !name.is_empty()).peekable();
    while let Some(name) = names.next() {
        let listing = listing(store, &here, path)?;
        match (listing.directories().iter().find(|it| it.name == name), names.peek()) {
            (Some(directory), _) => here = directory.digest,
            (None, Some(_)) => return Ok(None),
            (None, None) => return Ok(leaf(&listing, name).map(AtPath::Leaf)),
        }
    }
    Ok(Some(AtPath::Directory(here)))
}

/// A directory of a tree that gets directories.
struct Growing {
    listing: Listing,
    /// Those of its directories that were looked into, or made.
    below: BTreeMap<String, Growing>,
}

/// Returns a tree of the store with directories at these paths, and those that lead to them. Where something else
/// stands on the way it stays. Each directory is written once.
pub(super) fn with_directories<'a>(
    publishing: &Publishing<'_>,
    root: &Digest,
    paths: impl IntoIterator<Item = &'a str>,
) -> Result<Digest, LeftError> {
    let mut tree = Growing { listing: listing(publishing, root, "")?, below: BTreeMap::new() };
    let mut is_other = false;
    for path in paths {
        let mut here = &mut tree;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if leaf(&here.listing, name).is_some() {
                break;
            }
            if !here.below.contains_key(name) {
                let found = here.listing.directories().iter().find(|it| it.name == name);
                is_other |= found.is_none();
                let there = match found.map(|it| it.digest) {
                    Some(digest) => listing(publishing, &digest, path)?,
                    None => Listing::default(),
                };
                let grown = Growing { listing: there, below: BTreeMap::new() };
                here.below.insert(name.to_owned(), grown);
            }
            let Some(below) = here.below.get_mut(name) else { break };
            here = below;
        }
    }
    if is_other { tree.put(publishing) } else { Ok(*root) }
}

impl Growing {
    /// Puts the messages of all that grew. No deeper than a path is long, which is bounded.
    fn put(self, publishing: &Publishing<'_>) -> Result<Digest, LeftError> {
        let mut directories: BTreeMap<String, Digest> =
            self.listing.directories().iter().map(|it| (it.name.clone(), it.digest)).collect();
        for (name, below) in self.below {
            let digest = below.put(publishing)?;
            directories.insert(name, digest);
        }
        let directories = directories.into_iter();
        let directories = directories.map(|(name, digest)| ListedDirectory { name, digest });
        let (files, links) = (self.listing.files().to_vec(), self.listing.symlinks().to_vec());
        let made = Listing::new(files, directories.collect(), links);
        let made = made.map_err(|error| LeftError::Directory { path: String::new(), error })?;
        Ok(publishing.put_bytes(&made.encode())?.digest)
    }
}

fn leaf(listing: &Listing, name: &str) -> Option<LeftNode> {
    let file = listing.files().iter().find(|it| it.name == name);
    let file = file.map(|it| LeftNode::File { digest: it.digest, executable: it.executable });
    let link = || {
        let link = listing.symlinks().iter().find(|it| it.name == name)?;
        Some(LeftNode::Symlink { target: link.target.clone() })
    };
    file.or_else(link)
}

/// Puts the message of a whole tree.
pub(super) fn tree_of(
    publishing: &Publishing<'_>,
    root: &Digest,
    path: &str,
) -> Result<Digest, LeftError> {
    let tree = Folder::of_store(publishing, root, Bounds::default())?;
    let message = tree.tree_message();
    let message = message.map_err(|error| LeftError::Directory { path: path.to_owned(), error })?;
    Ok(publishing.put_bytes(&message)?.digest)
}

fn listing(store: &Store<'_>, digest: &Digest, path: &str) -> Result<Listing, CasError> {
    let path = || PathBuf::from(path);
    let message = store.read(digest, DIRECTORY_MAX);
    let message = message.map_err(|error| CasError::Store { path: path(), error })?;
    let listing = Listing::decode(&message, Bounds::default().entries);
    listing.map_err(|error| CasError::Message { path: path(), digest: *digest, error })
}
