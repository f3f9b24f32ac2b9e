//! The tree at `/` of actions. That of a repository is put into the store: whatever names a result by its
//! root has its digest then, and it can be shared.

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};

use endow_policy::{BuildRoot, HostPath};
use endow_vfs::cas::Publishing;
use endow_vfs::fs::OsFs;
use endow_vfs::inputs::{Found, Inputs, walk};
use endow_vfs::snapshot::Bounds;

use super::actions::Wanted;
use super::inputs::put_missing;
use crate::cli::error::{CommandError, Kind, failed};
use crate::cli::sources::surroundings::Surroundings;
use crate::trees;

/// Returns the digest of the tree that stands at `/`; `None` where the host's programs do.
pub(super) fn tree(
    wanted: &Wanted,
    (surroundings, memory): (&Surroundings, &OwnedFd),
    publishing: &Publishing<'_>,
) -> Result<Option<String>, CommandError> {
    match &wanted.root {
        BuildRoot::Host => Ok(None),
        BuildRoot::Tree(digest) => Ok(Some(digest.clone())),
        BuildRoot::Git { repository, rev } => {
            let cache = surroundings.dirs.cache.as_path();
            let place = (cache, wanted.cache_bytes, memory);
            of_git((repository, rev), place, publishing).map(Some)
        }
    }
}

/// Makes the tree of a revision in the cache, where later builds find it, and puts it into the store.
fn of_git(
    (repository, rev): (&HostPath, &str),
    (cache, room, memory): (&std::path::Path, u64, &OwnedFd),
    publishing: &Publishing<'_>,
) -> Result<String, CommandError> {
    let found = trees::whole((repository, rev), cache).map_err(|fault| {
        let error = CommandError::new(Kind::Setup, "can't have the tree at `/`");
        let error = error.about(repository).cause(fault.message);
        error.hint("`root` of `[build]` names a repository and a revision")
    })?;
    let unmade =
        |error: trees::MakeError| failed("can't have the tree at `/`", &error).about(repository);
    let _leases = trees::ready(&found, room, &|_| {}, &mut Vec::new()).map_err(unmade)?;
    put(&trees::open_made(&found).map_err(unmade)?, memory, publishing)
}

/// Puts a directory that nobody changes into the store. Of files that it had before nothing is read.
fn put(
    root: &OwnedFd,
    memory: &OwnedFd,
    publishing: &Publishing<'_>,
) -> Result<String, CommandError> {
    let inputs = Inputs {
        fs: &OsFs,
        root: root.as_fd(),
        memory: Some(memory.as_fd()),
        enters: &|_| true,
        takes: &|_| true,
        bounds: Bounds::default(),
    };
    let unread = |error: &dyn std::error::Error| failed("can't read the tree at `/`", error);
    let found = walk(&inputs).and_then(Found::whole);
    let tree = found.map_err(|error| unread(&error))?;
    let leaves = tree.leaves();
    put_missing(root, leaves.iter().map(|(path, leaf)| (path.as_str(), *leaf)), publishing)?;
    tree.put(publishing, &mut HashSet::new())?;
    Ok(tree.digest().map_err(|error| unread(&error))?.to_string())
}
