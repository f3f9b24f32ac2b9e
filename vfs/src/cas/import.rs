//! Whole trees of another store.

use std::collections::HashSet;

use super::message::{Listing, MessageError, TreeMessage};
use super::tree::{DIRECTORY_MAX, TREE_MAX};
use super::{Digest, Other, Publishing, StoreError};

/// The most entries of one message.
pub(super) const ENTRIES_MAX: usize = 1 << 22;

/// What was imported so far.
#[derive(Debug, Default)]
pub struct Imported {
    /// All contents, those that were there already included.
    pub contents: HashSet<Digest>,
    /// How many of them were not.
    pub new: usize,
}

/// What a content was taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A content that names nothing.
    File,
    /// A `Directory` message.
    Directory,
    /// A `Tree` message.
    Tree,
}

/// Why a tree can't be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A content is missing or damaged, or can't be stored.
    #[error("can't import {digest}")]
    Store {
        /// Which one.
        digest: Digest,
        /// Why.
        #[source]
        error: StoreError,
    },
    /// Its directories go on and on.
    #[error("a tree of more than {limit} directories, one in another")]
    Deep {
        /// How many it may have.
        limit: usize,
    },
    /// What a tree names as a directory is none.
    #[error("not a directory, and a tree names it as one: {digest}")]
    Message {
        /// Its digest.
        digest: Digest,
        /// What is wrong with it.
        #[source]
        error: MessageError,
    },
}

/// Copies a content and, when it is a directory or a tree, all that it names; says which of these
/// it is. What was copied before an error stays.
///
/// # Errors
/// A content that the other store lacks or has damaged, a directory that is none, or a failing call.
pub fn import_all(
    publishing: &Publishing<'_>,
    other: &Other<'_>,
    root: &Digest,
    imported: &mut Imported,
) -> Result<Root, ImportError> {
    let mut importing = Importing { publishing, other, imported, directories: HashSet::new() };
    importing.content(root)?;
    let (kind, pending) = importing.root(root)?;
    importing.directories.extend(&pending);
    importing.below(pending)?;
    Ok(kind)
}

struct Importing<'a> {
    publishing: &'a Publishing<'a>,
    other: &'a Other<'a>,
    imported: &'a mut Imported,
    /// Directories that were read, or are to be.
    directories: HashSet<Digest>,
}

impl Importing<'_> {
    /// Finds out what the root is, copies its files, and returns the directories that it names.
    fn root(&mut self, root: &Digest) -> Result<(Root, Vec<Digest>), ImportError> {
        if root.size > TREE_MAX {
            return Ok((Root::File, Vec::new()));
        }
        let bytes = self.read(root, TREE_MAX)?;
        if root.size <= DIRECTORY_MAX
            && let Ok(listing) = Listing::decode(&bytes, ENTRIES_MAX)
        {
            return Ok((Root::Directory, self.files(&listing)?));
        }
        let Ok(tree) = TreeMessage::decode(&bytes, ENTRIES_MAX) else {
            return Ok((Root::File, Vec::new()));
        };
        let messages = std::iter::once(tree.root()).chain(tree.directories());
        // One that is no tree can begin like one; what is in a tree is in canonical form.
        let listings: Result<Vec<Listing>, _> =
            messages.map(|bytes| Listing::decode(bytes, ENTRIES_MAX)).collect();
        let Ok(listings) = listings else { return Ok((Root::File, Vec::new())) };
        for listing in listings {
            // The directories that it names are in the message.
            self.files(&listing)?;
        }
        Ok((Root::Tree, Vec::new()))
    }

    /// Copies directories and all below them.
    fn below(&mut self, mut pending: Vec<Digest>) -> Result<(), ImportError> {
        while let Some(digest) = pending.pop() {
            self.content(&digest)?;
            let bytes = self.read(&digest, DIRECTORY_MAX)?;
            let listing = Listing::decode(&bytes, ENTRIES_MAX);
            let listing = listing.map_err(|error| ImportError::Message { digest, error })?;
            let named = self.files(&listing)?;
            pending.extend(named.into_iter().filter(|it| self.directories.insert(*it)));
        }
        Ok(())
    }

    /// Copies the files of a directory and returns the directories in it.
    fn files(&mut self, listing: &Listing) -> Result<Vec<Digest>, ImportError> {
        listing.files().iter().try_for_each(|file| self.content(&file.digest))?;
        Ok(listing.directories().iter().map(|directory| directory.digest).collect())
    }

    fn content(&mut self, digest: &Digest) -> Result<(), ImportError> {
        if self.imported.contents.insert(*digest) {
            let stored = self.publishing.import(self.other, digest);
            let stored = stored.map_err(|error| ImportError::Store { digest: *digest, error })?;
            self.imported.new += usize::from(stored.is_new);
        }
        Ok(())
    }

    fn read(&self, digest: &Digest, limit: u64) -> Result<Vec<u8>, ImportError> {
        let bytes = self.publishing.read(digest, limit);
        bytes.map_err(|error| ImportError::Store { digest: *digest, error })
    }
}

#[cfg(test)]
mod tests;
