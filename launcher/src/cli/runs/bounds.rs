//! The bounds of what is kept of settled runs: `[state]` of the user's policy.

use std::time::{Duration, SystemTime};

use endow_policy::StateRules;
use endow_vfs::fs::OsFs;
use endow_vfs::state::{Bounds, JOURNAL, Listed, RunId, Settled, StateDir, StateError, expired};

use crate::cli::error::CommandError;
use crate::cli::sources;
use crate::cli::sources::surroundings::Surroundings;

/// How sizes become known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// All are measured now.
    Measured,
    /// As the records say; where one does not, it is measured.
    Recorded,
}

/// Returns the runs that may go, with what they take.
pub(crate) fn settled(
    state: &StateDir,
    runs: &[Listed],
    sizes: Sizes,
) -> Result<Vec<Settled>, StateError> {
    let mut settled = Vec::new();
    for run in runs.iter().filter(|run| !run.in_use) {
        let Some((is, record)) = run.state().zip(run.record()) else { continue };
        if is.is_settled() {
            let recorded = record.undo_bytes.filter(|_| sizes == Sizes::Recorded);
            let measured = || state.measure(&OsFs, &run.id, "").map(|it| it.bytes);
            let bytes = recorded.map_or_else(measured, Ok)?;
            let ended = record.ended.unwrap_or(record.started).into();
            settled.push(Settled { id: run.id.clone(), state: is, ended, bytes });
        }
    }
    Ok(settled)
}

/// Returns the bounds that a policy states.
pub(crate) fn of_rules(rules: StateRules) -> Bounds {
    let age = Duration::from_secs(rules.days.saturating_mul(86_400));
    Bounds { runs: rules.runs, age, bytes: rules.size_bytes }
}

/// Takes settled runs beyond the bounds away, the oldest first: at the end of a run that was kept
/// itself. Nothing of it is told: the next run, or `endow gc`, tries again.
pub(crate) fn keep(surroundings: &Surroundings) {
    drop(try_keep(surroundings));
}

fn try_keep(surroundings: &Surroundings) -> Result<(), CommandError> {
    let bounds = of_rules(sources::state_rules(surroundings)?);
    let state = StateDir::open(&OsFs, &surroundings.dirs.state)?;
    let settled = settled(&state, &state.runs(&OsFs)?, Sizes::Recorded)?;
    for id in expired(&settled, bounds, SystemTime::now()) {
        // One that is left is no reason to leave the others.
        drop(remove(&state, &id));
    }
    Ok(())
}

/// Removes a run that is settled still, now that it is locked.
fn remove(state: &StateDir, id: &RunId) -> Result<(), StateError> {
    let run = state.open_run(&OsFs, id)?;
    let is_settled = run.read_record(&OsFs)?.is_some_and(|record| record.state.is_settled());
    if is_settled && !run.has(&OsFs, JOURNAL)? { run.remove(&OsFs) } else { Ok(()) }
}
