//! What is reachable from digests that are to be kept.

use std::collections::HashSet;

use super::message::{Listing, TreeMessage};
use super::tree::{DIRECTORY_MAX, TREE_MAX};
use super::{Digest, Store, StoreError};

/// Returns the digests of `roots` and of all that their directories and trees name, as far as
/// these are among `objects`.
///
/// A root can be any content: whether it is a directory or a tree shows when it is read. What is
/// damaged or no message is kept, and leads nowhere.
pub(super) fn reachable(
    store: &Store<'_>,
    objects: &HashSet<Digest>,
    roots: Vec<Digest>,
) -> Result<HashSet<Digest>, StoreError> {
    let (mut kept, mut seen) = (HashSet::from([Digest::EMPTY]), HashSet::new());
    let mut pending = roots;
    while let Some(digest) = pending.pop() {
        if !objects.contains(&digest) || !seen.insert(digest) {
            continue;
        }
        kept.insert(digest);
        for listing in listings(store, &digest)? {
            let files = listing.files().iter().map(|file| file.digest);
            kept.extend(files.filter(|digest| objects.contains(digest)));
            pending.extend(listing.directories().iter().map(|directory| directory.digest));
        }
    }
    Ok(kept)
}

/// Reads the directories in an object.
fn listings(store: &Store<'_>, digest: &Digest) -> Result<Vec<Listing>, StoreError> {
    let bytes = match store.read_unused(digest, TREE_MAX) {
        Ok(bytes) => bytes,
        Err(error @ StoreError::Io { .. }) => return Err(error),
        Err(_) => return Ok(Vec::new()),
    };
    if bytes.len() as u64 <= DIRECTORY_MAX
        && let Ok(listing) = Listing::decode(&bytes, usize::MAX)
    {
        return Ok(vec![listing]);
    }
    let Ok(tree) = TreeMessage::decode(&bytes, usize::MAX) else { return Ok(Vec::new()) };
    let directories = std::iter::once(tree.root()).chain(tree.directories());
    Ok(directories.filter_map(|bytes| Listing::decode(bytes, usize::MAX).ok()).collect())
}
