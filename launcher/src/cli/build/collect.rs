//! Results of which contents are gone, and what is remembered of directories that may be.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::Duration;

use endow_vfs::action::{ActionCache, ActionResult};
use endow_vfs::cas::{Digest, Store};
use endow_vfs::fs::OsFs;

use super::inputs::INPUTS;
use crate::cli::error::{CommandError, failed, of_store};
use crate::trees;

/// For so long is remembered what was found in a directory, after it was last asked for.
const REMEMBERED: Duration = Duration::from_hours(30 * 24);

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
    forget_old(&cache.join(INPUTS));
    let store = Store::open(&OsFs, &trees::store(cache)).map_err(|error| of_store(&error))?;
    let results = ActionCache::open(&OsFs, cache)
        .and_then(|results| results.collect(|result| is_whole(result, &store)));
    results.map_err(|error| failed("can't use the cache of actions", &error))
}

/// Nothing says whether a directory is still there whose device and inode name a file. One that is not removed now is
/// removed some day.
fn forget_old(memory: &Path) {
    let entries = fs::read_dir(memory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.metadata().is_ok_and(|found| is_old(&found))) {
        drop(fs::remove_file(entry.path()));
    }
}

fn is_old(found: &Metadata) -> bool {
    let times = [found.accessed(), found.modified()];
    times.into_iter().flatten().all(|time| time.elapsed().is_ok_and(|age| age > REMEMBERED))
}

#[cfg(test)]
mod tests {
    use std::fs::{File, FileTimes};
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_nobody_asks_for_is_forgotten() {
        let place = tempfile::tempdir().expect("a directory");
        let make = |name: &str, read: Duration, written: Duration| {
            let file = File::create(place.path().join(name)).expect("made");
            let now = SystemTime::now();
            let times = FileTimes::new().set_accessed(now - read).set_modified(now - written);
            file.set_times(times).expect("set");
        };
        let (old, new) = (REMEMBERED * 2, REMEMBERED / 2);
        make("old", old, old);
        make("read", new, old);
        make("written", old, new);
        forget_old(place.path());
        forget_old(&place.path().join("absent"));
        let names =
            fs::read_dir(place.path()).expect("listed").map(|it| it.expect("it").file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert_eq!(names, ["read", "written"]);
    }
}
