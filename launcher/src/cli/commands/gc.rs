//! `endow gc`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use endow_vfs::fs::OsFs;
use endow_vfs::state::{Listed, RunId, RunState, StateDir, Sweep, expired};
use serde_json::json;

use crate::cli::args::GcArgs;
use crate::cli::cache;
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::Output;
use crate::cli::output::json_text;
use crate::cli::output::table;
use crate::cli::runs::bounds::{self, Sizes};
use crate::cli::runs::locked;
use crate::cli::runs::stage_directories;
use crate::cli::runs::unguarded;
use crate::cli::runs::{Act, Kept, Verb};
use crate::cli::sources;
use crate::cli::sources::surroundings;

const REMOVE: Verb = Verb {
    act: Act::Remove,
    states: &[RunState::Applied, RunState::Discarded, RunState::Undone],
    fits: |_| true,
};

/// What was done, or would be.
#[derive(Default)]
struct Collected {
    /// Runs whose write-back was killed on the way, and is finished now.
    finished: Vec<RunId>,
    /// Dead runs that held nothing.
    swept: Vec<String>,
    /// Runs whose removal was interrupted, and is finished now.
    gone: Vec<RunId>,
    /// Settled runs beyond a bound, with what they took.
    removed: Vec<(RunId, u64)>,
    stages: Vec<PathBuf>,
    /// Runs that should have gone.
    failed: Vec<(String, String)>,
    /// Contents and cached trees that were removed.
    cache: cache::Collected,
}

/// Runs the command.
pub(crate) fn run(args: &GcArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let surroundings = surroundings::read(None)?;
    let rules = sources::state_rules(&surroundings)?;
    let mut collected = Collected::default();
    let before = Kept::list()?;
    if let Some(state) = before.state().filter(|_| !args.dry_run) {
        sweep(state, &mut collected, output)?;
        finish_begun(&before, &mut collected, output);
    }
    let kept = Kept::list()?;
    let measured = |state| bounds::settled(state, &kept.runs, Sizes::Measured);
    let candidates = kept.state().map(measured).transpose()?.unwrap_or_default();
    let gone = expired(&candidates, bounds::of_rules(rules), SystemTime::now());
    for run in kept.runs.iter().filter(|run| gone.contains(&run.id)) {
        let bytes = candidates.iter().find(|it| it.id == run.id).map_or(0, |it| it.bytes);
        match remove(&kept, run, args.dry_run) {
            Ok(stages) => {
                collected.stages.extend(stages);
                collected.removed.push((run.id.clone(), bytes));
            }
            Err(error) => collected.failed.push((run.id.to_string(), error.message)),
        }
    }
    for run in kept.runs.iter().filter(|run| is_old_and_silent(run, bounds::of_rules(rules).age)) {
        match remove_remnant(&kept, run, args.dry_run) {
            Ok(bytes) => collected.removed.extend(bytes.map(|bytes| (run.id.clone(), bytes))),
            Err(error) => collected.failed.push((run.id.to_string(), error.message)),
        }
    }
    if !args.dry_run {
        collected.cache = cache::collect(&surroundings, rules.cache_bytes, output)?;
    }
    tell(&collected, args.dry_run, output);
    Ok(ExitCode::SUCCESS)
}

/// Finishes write-backs of runs that nobody holds.
fn finish_begun(kept: &Kept, collected: &mut Collected, output: &Output) {
    for run in kept.runs.iter().filter(|run| !run.in_use && run.record().is_some()) {
        match locked::finish_begun(kept, run, output) {
            Ok(false) => {}
            Ok(true) => collected.finished.push(run.id.clone()),
            // Swept just before, or taken up by somebody else.
            Err(error) if error.kind == Kind::Usage => {}
            Err(error) => collected.failed.push((run.id.to_string(), with_hint(error))),
        }
    }
}

/// Returns what went wrong, and the last word that helps.
fn with_hint(error: CommandError) -> String {
    let CommandError { message, hints, .. } = error;
    hints.last().map_or_else(|| message.clone(), |hint| format!("{message} ({hint})"))
}

/// Takes dead runs away that hold nothing, and those that are gone but for a rest.
fn sweep(state: &StateDir, collected: &mut Collected, output: &Output) -> Result<(), CommandError> {
    let sweep = Sweep { candidates: usize::MAX, start: 0, now: SystemTime::now() };
    let swept = state.sweep(&OsFs, sweep)?;
    unguarded::tell(&swept.unguarded, output);
    let text = |name: &OsString| name.to_string_lossy().into_owned();
    collected.swept = swept.removed.iter().map(text).collect();
    collected.gone = swept.gone;
    let failed = swept.failed.iter().map(|(name, errno)| {
        (text(name), format!("{errno} ({})", state.path().join("runs").join(name).display()))
    });
    collected.failed.extend(failed);
    Ok(())
}

/// Whether a run of longer ago says nothing of itself.
fn is_old_and_silent(run: &Listed, most: Duration) -> bool {
    let age = SystemTime::now().duration_since(run.id.time());
    run.record.is_none() && !run.in_use && age.is_ok_and(|age| age > most)
}

/// Removes what an interrupted removal of an older endow left of a run, and returns its bytes; `None` for what may
/// be something else.
fn remove_remnant(kept: &Kept, run: &Listed, dry: bool) -> Result<Option<u64>, CommandError> {
    let dir = kept.open_unusable(run)?;
    if !dir.is_remnant(&OsFs)? {
        return Ok(None);
    }
    let measured = kept.state().map(|state| state.measure(&OsFs, &run.id, "")).transpose()?;
    if !dry {
        dir.remove(&OsFs)?;
    }
    Ok(Some(measured.unwrap_or_default().bytes))
}

fn remove(kept: &Kept, run: &Listed, dry: bool) -> Result<Vec<PathBuf>, CommandError> {
    if dry {
        return Ok(Vec::new());
    }
    let opened = kept.open(run, REMOVE)?;
    let stages = stage_directories::remove_of(&opened.dir, &opened.record);
    opened.dir.remove(&OsFs)?;
    Ok(stages)
}

fn tell(collected: &Collected, dry: bool, output: &Output) {
    let freed = collected.removed.iter().map(|(_, bytes)| bytes).sum::<u64>();
    if output.is_json() {
        let removed = collected.removed.iter();
        let removed: Vec<_> =
            removed.map(|(id, bytes)| json!({"id": id.as_str(), "bytes": bytes})).collect();
        let failed = collected.failed.iter();
        let failed: Vec<_> = failed.map(|(id, why)| json!({"id": id, "error": why})).collect();
        let stages = collected.stages.iter().map(|path| json_text::path(path));
        return output.json(&json!({
            "version": 1, "dry_run": dry, "removed": removed, "freed_bytes": freed,
            "swept": collected.swept, "gone": collected.gone.iter().map(RunId::as_str).collect::<Vec<_>>(),
            "finished": collected.finished.iter().map(RunId::as_str).collect::<Vec<_>>(), "stages": stages.collect::<Vec<_>>(), "failed": failed,
            "contents_removed": collected.cache.store.removed,
            "trees_removed": collected.cache.trees.removed.len(),
            "cache_freed_bytes": collected.cache.freed(),
        }));
    }
    let verb = if dry { "would remove" } else { "removed" };
    let lines = collected
        .removed
        .iter()
        .map(|(id, bytes)| format!("{verb} {id} ({})\n", table::size(*bytes)));
    let swept = collected.swept.iter().map(|name| format!("removed {name} (it held nothing)\n"));
    let gone = collected.gone.iter().map(|id| format!("removed {id} (its removal was begun)\n"));
    let failed = collected.failed.iter().map(|(id, why)| format!("left {id}: {why}\n"));
    let finished = collected.finished.iter().map(|id| format!("finished the write-back of {id}\n"));
    let cache = collected.cache.lines();
    output.text(
        &finished
            .chain(lines)
            .chain(swept)
            .chain(gone)
            .chain(failed)
            .chain(cache)
            .collect::<String>(),
    );
}
