//! The bounds of the cache: `[state] cache` of the user's policy.

use std::path::Path;
use std::time::Duration;

use endow_vfs::cas::{Digest, GcReport, Store};
use endow_vfs::fs::OsFs;
use endow_vfs::state::{RunState, TreeRecord};
use endow_vfs::trees::{SweptTrees, TreeCache};

use super::build;
use super::error::{CommandError, Kind, failed, of_store};
use super::output::Output;
use crate::cli::output::progress::ProgressLine;
use crate::cli::output::table;
use crate::cli::runs::Kept;
use crate::cli::sources;
use crate::cli::sources::surroundings::Surroundings;
use crate::trees::{self, MakeError, Watch};

/// How long a collection that somebody asked for waits for those who put something.
const PATIENCE: Duration = Duration::from_mins(1);

/// What it says of itself meanwhile.
const REMOVING: &str = "removing contents";

/// What a collection did, or would do.
#[derive(Default)]
pub(crate) struct Collected {
    /// In the store.
    pub(crate) store: GcReport,
    /// In the cache of trees.
    pub(crate) trees: SweptTrees,
    /// In the cache of actions: results that name contents which are gone.
    pub(crate) results: usize,
}

impl Collected {
    /// Returns the bytes of what was removed.
    pub(crate) fn freed(&self) -> u64 {
        self.store.freed + self.trees_freed()
    }

    /// Says what was removed, a line for each of the two where something was.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let rows = [
            (self.store.removed, "contents of the store", self.store.freed),
            (self.trees.removed.len(), "cached trees", self.trees_freed()),
        ];
        let rows = rows.into_iter().filter(|(count, ..)| *count > 0);
        let rows = rows.map(|(count, what, bytes)| {
            format!("removed {count} {what} ({})\n", table::size(bytes))
        });
        let results = Some(self.results).filter(|count| *count > 0);
        rows.chain(results.map(|count| format!("removed {count} results of actions\n")))
    }

    fn trees_freed(&self) -> u64 {
        self.trees.removed.iter().map(|tree| tree.bytes).sum()
    }
}

/// Returns the trees that were changed by runs which are kept, and what came of them.
fn kept_by_runs() -> Result<Vec<Digest>, CommandError> {
    let mut kept = Vec::new();
    for run in &Kept::list()?.runs {
        let record = match &run.record {
            None => continue,
            Some(Ok(record)) => record,
            Some(Err(error)) => {
                let said = failed("it can't be known what a run keeps", error).about(&run.id);
                return Err(
                    said.hint(format!("`endow runs rm --force {}` removes the run", run.id))
                );
            }
        };
        let is_dropped = record.state == RunState::Discarded;
        let trees = record.trees.iter().filter(|tree| !is_dropped || tree.has_landed());
        for text in trees.flat_map(TreeRecord::kept_digests) {
            kept.push(text.parse().map_err(|error| {
                CommandError::new(Kind::Setup, "no digest in a record").about(&run.id).cause(error)
            })?);
        }
    }
    Ok(kept)
}

/// Removes from the store and from the cache of trees what was not used for longest, until each has
/// at most `quota` bytes. What is not there is not made.
pub(crate) fn collect(
    surroundings: &Surroundings,
    quota: u64,
    output: &Output,
) -> Result<Collected, CommandError> {
    let line = ProgressLine::begin(output, REMOVING);
    let cache = &surroundings.dirs.cache;
    let mut collected = Collected::default();
    collected.store.is_within_quota = true;
    if cache.join("trees").is_dir() {
        let swept = TreeCache::open(&OsFs, cache).and_then(|trees| trees.sweep(&OsFs, quota));
        collected.trees = swept.map_err(|error| failed("can't use the cache of trees", &error))?;
    }
    let store = trees::store(cache);
    if store.is_dir() {
        let report = collect_store(&store, (quota, PATIENCE), &|it| line.show(it))?;
        collected.store = report.map_err(|error| failed("can't collect the store", &error))?;
        collected.results = build::collect(cache)?;
    }
    Ok(collected)
}

/// Collects the store, without what runs keep. Runs are asked while nobody puts anything: one that is just ending
/// has noted by then what it put, or puts it later.
fn collect_store(
    store: &Path,
    (quota, patience): (u64, Duration),
    watch: Watch<'_>,
) -> Result<Result<GcReport, MakeError>, CommandError> {
    let collection = match trees::Collection::begin(store, patience) {
        Err(error) => return Ok(Err(error)),
        Ok(collection) => collection,
    };
    Ok(collection.collect(quota, kept_by_runs()?, watch))
}

/// Makes the store small enough again after something was put; the caller holds a lease of that.
/// While others put something it stays as it is, and that is returned: they do the same when they are done.
pub(crate) fn keep_store(
    store: &Store<'_>,
    surroundings: &Surroundings,
    output: &Output,
) -> Result<bool, CommandError> {
    let quota = sources::state_rules(surroundings)?.cache_bytes;
    if store.usage().map_err(|error| of_store(&error))?.allocated <= quota {
        return Ok(true);
    }
    let line = ProgressLine::begin(output, REMOVING);
    let watch = |progress| line.show(progress);
    let collected = collect_store(store.path(), (quota, Duration::ZERO), &watch);
    drop(line);
    let report = match collected? {
        Err(MakeError::Busy(_)) => return Ok(false),
        Err(error) => {
            output.problem("the store has more than `[state] cache` allows", &error);
            return Ok(true);
        }
        Ok(report) => report,
    };
    let freed = table::size(report.freed);
    output.notice(&format!("removed {} older contents ({freed})", report.removed));
    Ok(true)
}

/// As [`keep_store`]; says so where the store stays as it is, since those who share it may never all be done.
pub(crate) fn keep_store_or_tell(
    store: &Store<'_>,
    surroundings: &Surroundings,
    output: &Output,
) -> Result<(), CommandError> {
    if !keep_store(store, surroundings, output)? {
        output.remark(
            "the store has more than `[state] cache` allows, and stays so while others use it",
        );
        output.hint("`endow gc` waits for them, a minute at most");
    }
    Ok(())
}
