//! Results of which contents are gone.

use std::path::Path;

use endow_vfs::action::{ActionCache, ActionResult};
use endow_vfs::cas::{Digest, Store};
use endow_vfs::fs::OsFs;

use crate::cli::error::{CommandError, failed, of_store};
use crate::trees;

/// Returns whether the store has all that a result names, but for the files in its directories, which every build would
/// have to look at. One that is missing is found when such a directory is put in place, and taken from there where it
/// stands.
pub(super) fn is_whole(result: &ActionResult, store: &Store<'_>) -> bool {
    let has = |digest: &Digest| store.has(digest).unwrap_or(false);
    result.contents().chain(result.directories()).all(has)
}

/// Forgets results that are of no use any more, and returns how many. What is not there is not made.
pub(crate) fn collect(cache: &Path) -> Result<usize, CommandError> {
    if !cache.join("actions").is_dir() {
        return Ok(0);
    }
    let store = Store::open(&OsFs, &trees::store(cache)).map_err(|error| of_store(&error))?;
    let results = ActionCache::open(&OsFs, cache)
        .and_then(|results| results.collect(|result| is_whole(result, &store)));
    results.map_err(|error| failed("can't use the cache of actions", &error))
}
