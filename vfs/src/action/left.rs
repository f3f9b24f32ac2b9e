//! What a tree has at the path of an output.

use std::path::PathBuf;

use super::LeftNode;
use crate::cas::message::Listing;
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
    let mut here = *root;
    let mut names = path.split('/').peekable();
    while let Some(name) = names.next() {
        let listing = listing(publishing, &here, path)?;
        let directory = listing.directories().iter().find(|it| it.name == name);
        match (directory, names.peek()) {
            (Some(directory), Some(_)) => here = directory.digest,
            (Some(directory), None) => {
                return directory_node(publishing, directory.digest, path).map(Some);
            }
            (None, Some(_)) => return Ok(None),
            (None, None) => return Ok(leaf(&listing, name)),
        }
    }
    Ok(None)
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

fn directory_node(
    publishing: &Publishing<'_>,
    root: Digest,
    path: &str,
) -> Result<LeftNode, LeftError> {
    let tree = Folder::of_store(publishing, &root, Bounds::default())?;
    let message = tree.tree_message();
    let message = message.map_err(|error| LeftError::Directory { path: path.to_owned(), error })?;
    let tree = publishing.put_bytes(&message)?.digest;
    Ok(LeftNode::Directory { root, tree })
}

fn listing(store: &Store<'_>, digest: &Digest, path: &str) -> Result<Listing, CasError> {
    let path = || PathBuf::from(path);
    let message = store.read(digest, DIRECTORY_MAX);
    let message = message.map_err(|error| CasError::Store { path: path(), error })?;
    let listing = Listing::decode(&message, Bounds::default().entries);
    listing.map_err(|error| CasError::Message { path: path(), digest: *digest, error })
}
