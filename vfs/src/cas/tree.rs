//! Trees as a store has them.

use std::path::{Path, PathBuf};

use super::message::{ListedDirectory, ListedFile, Listing, MessageError, TreeMessage};
use super::{Digest, Store, StoreError};
use crate::snapshot::{Bounds, Builder, Naming, Node, Snapshot, SnapshotError};

/// The most bytes of a `Directory` message: about 200 000 entries.
pub const DIRECTORY_MAX: u64 = 32 << 20;
/// The most bytes of a `Tree` message.
pub(super) const TREE_MAX: u64 = 128 << 20;

/// Why a tree of a store can't be shown.
#[derive(Debug, thiserror::Error)]
pub enum CasError {
    /// One of its messages can't be read.
    #[error("can't read the directory {}", show(path))]
    Store {
        /// Which directory of the tree.
        path: PathBuf,
        /// Why.
        #[source]
        error: StoreError,
    },
    /// One of its messages is none, or not in canonical form.
    #[error("not a directory: {digest} as {}", show(path))]
    Message {
        /// Which directory of the tree.
        path: PathBuf,
        /// The digest of the message.
        digest: Digest,
        /// What is wrong with it.
        #[source]
        error: MessageError,
    },
    /// A name, a target or the size of the tree can't be.
    #[error("the directory {digest} can't be shown")]
    Snapshot {
        /// The digest of the directory in which that was found.
        digest: Digest,
        /// What is wrong.
        #[source]
        error: SnapshotError,
    },
    /// A tree message lacks a directory that it names.
    #[error("the tree lacks the directory {}: {digest}", show(path))]
    NoChild {
        /// Where it would stand.
        path: PathBuf,
        /// The digest of its message.
        digest: Digest,
    },
}

fn show(path: &Path) -> std::path::Display<'_> {
    if path.as_os_str().is_empty() { Path::new(".").display() } else { path.display() }
}

/// Reads the tree below a `Directory` message, or the one in a `Tree` message. The messages are
/// read and hashed; the files are only named, so that they may be missing.
///
/// Modes, times and further properties in the messages are taken and have no effect.
///
/// # Errors
/// A message that is missing, damaged or not canonical, a directory that a `Tree` names and lacks,
/// or a tree that passes its bounds. One that names the same directories over and over is counted
/// as large as it would be.
pub fn snapshot(
    store: &Store<'_>,
    root: &Digest,
    bounds: Bounds,
) -> Result<Snapshot<Digest>, CasError> {
    let error = match of_directories(store, root, bounds) {
        Err(error) if is_of_root(&error) => error,
        read => return read,
    };
    match of_tree_message(store, root, bounds) {
        // It is neither.
        Err(other) if is_of_root(&other) => Err(error),
        read => read,
    }
}

/// Returns whether the bytes of the root are not of the kind that was expected.
fn is_of_root(error: &CasError) -> bool {
    match error {
        CasError::Message { path, .. }
        | CasError::Store { path, error: StoreError::TooLarge { .. } } => {
            path.as_os_str().is_empty()
        }
        _ => false,
    }
}

fn of_directories(
    store: &Store<'_>,
    root: &Digest,
    bounds: Bounds,
) -> Result<Snapshot<Digest>, CasError> {
    let read = |path: &Path, digest: &Digest, limit| {
        let message = store.read(digest, DIRECTORY_MAX);
        let message = message.map_err(|error| CasError::Store { path: path.to_owned(), error })?;
        decode(path, digest, &message, limit)
    };
    walk(root, bounds, read)
}

fn of_tree_message(
    store: &Store<'_>,
    tree: &Digest,
    bounds: Bounds,
) -> Result<Snapshot<Digest>, CasError> {
    let message = store.read(tree, TREE_MAX);
    let message = message.map_err(|error| CasError::Store { path: PathBuf::new(), error })?;
    let invalid = |error| CasError::Message { path: PathBuf::new(), digest: *tree, error };
    let message = TreeMessage::decode(&message, bounds.entries).map_err(invalid)?;
    let root = Digest::of(message.root());
    walk(&root, bounds, |path, digest, limit| {
        // The root is named by nothing else than its place.
        let bytes = message.directory(digest).or((*digest == root).then_some(message.root()));
        let lacks = || CasError::NoChild { path: path.to_owned(), digest: *digest };
        decode(path, digest, bytes.ok_or_else(lacks)?, limit)
    })
}

fn decode(path: &Path, digest: &Digest, message: &[u8], limit: usize) -> Result<Listing, CasError> {
    let invalid = |error| CasError::Message { path: path.to_owned(), digest: *digest, error };
    Listing::decode(message, limit).map_err(invalid)
}

/// Goes down from the root. What waits are directories that are counted in the tree already, so
/// that the bounds hold for it too.
fn walk(
    root: &Digest,
    bounds: Bounds,
    read: impl Fn(&Path, &Digest, usize) -> Result<Listing, CasError>,
) -> Result<Snapshot<Digest>, CasError> {
    let mut builder = Builder::new(Naming::Any, bounds);
    let mut pending = vec![(PathBuf::new(), *root)];
    while let Some((path, digest)) = pending.pop() {
        let listing = read(&path, &digest, bounds.entries)?;
        let below = add(&mut builder, &path, listing);
        pending.extend(below.map_err(|error| CasError::Snapshot { digest, error })?);
    }
    Ok(builder.finish())
}

/// Adds what is in a directory, and returns the directories in it.
fn add(
    builder: &mut Builder<Digest>,
    path: &Path,
    listing: Listing,
) -> Result<Vec<(PathBuf, Digest)>, SnapshotError> {
    for ListedFile { name, digest, executable } in listing.files() {
        let node = Node::File { content: *digest, size: digest.size, executable: *executable };
        builder.push(path, name.as_bytes(), node)?;
    }
    for symlink in listing.symlinks() {
        let target = PathBuf::from(&symlink.target);
        builder.push(path, symlink.name.as_bytes(), Node::Symlink { target })?;
    }
    let directories = listing.directories().iter().rev();
    let add = |ListedDirectory { name, digest }: &ListedDirectory| {
        let path = builder.push(path, name.as_bytes(), Node::Directory)?;
        Ok((path.to_owned(), *digest))
    };
    directories.map(add).collect()
}

#[cfg(test)]
mod tests;
