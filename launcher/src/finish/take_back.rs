//! Taking written changes back, and finishing what a killed process began.

use std::os::fd::AsFd;
use std::path::Path;

use endow_vfs::fs::OsFs;
use endow_vfs::state::{Record, RunDir, RunId, RunState, StateDir};
use endow_vfs::sync::{self, Ledger, MountPlace, RunPlace, UndoReport};

use super::renew::renewing;
use super::write_back::{lock_all, place};
use super::{Looked, OfMount, Selection, Target, Targets, WriteBackError, look};

/// Takes back what was written back of a run, all of it or what is selected.
pub(crate) fn take_back(
    run: &RunDir,
    targets: &[Target],
    selection: &Selection,
) -> Result<Vec<OfMount<UndoReport>>, WriteBackError> {
    let _locks = lock_all(run, targets)?;
    let places: Vec<MountPlace<'_>> = targets.iter().map(place).collect();
    let id = run.id().clone();
    let run = RunPlace { dir: run.as_fd(), id: id.as_str() };
    let takes = |mount, path: &Path| selection.takes(mount, path);
    // Who names a path knows what became of it.
    let undo = if selection.paths.is_some() { sync::undo_named } else { sync::undo };
    let reports = undo(&OsFs, &run, &places, &takes)?;
    Ok(targets.iter().map(|target| target.shown.clone()).zip(reports).collect())
}

/// Takes the rest back in mounts whose directory has come back by that, as one in another mount of the run does; from
/// then on they count among the others.
pub(crate) fn take_back_more(
    run: &RunDir,
    record: &Record,
    targets: &mut Targets,
    selection: &Selection,
) -> Result<Vec<OfMount<UndoReport>>, WriteBackError> {
    let mut reports = Vec::new();
    loop {
        let known = targets.open.len();
        targets.open_more(run, record)?;
        let more = targets.open.get(known..).unwrap_or_default();
        if more.is_empty() {
            return Ok(reports);
        }
        reports.extend(take_back(run, more, selection)?);
    }
}

/// Tells other runs what came back of theirs, while nobody works on them; without that it counts as changed
/// since they left it.
pub(crate) fn follow<'r>(
    state: &StateDir,
    others: impl Iterator<Item = &'r RunId>,
    (targets, reports): (&[Target], &[OfMount<UndoReport>]),
) {
    let restored = || targets.iter().zip(reports).filter(|(_, (_, it))| !it.restored.is_empty());
    if restored().next().is_none() {
        return;
    }
    for run in others.filter_map(|id| state.open_run(&OsFs, id).ok()) {
        let tell = || {
            for (target, (_, report)) in restored() {
                drop(sync::follow(&OsFs, run.as_fd(), target.root.as_fd(), &report.restored));
            }
        };
        drop(renewing(&run, tell));
    }
}

/// Returns the state that a run is in by what is there of it: changes that wait, or ones that can
/// be taken back; `None` when there is neither.
pub(crate) fn state_of(
    run: &RunDir,
    targets: &Targets,
) -> Result<Option<RunState>, WriteBackError> {
    let waits = targets.gone.iter().any(|gone| gone.has_changes);
    if waits || look(run, &targets.open)?.iter().any(Looked::has_changes) {
        return Ok(Some(RunState::Waiting));
    }
    let ledger = Ledger::read(&OsFs, run.as_fd())?;
    let applied = targets.numbers().any(|number| ledger.applied(number).next().is_some());
    Ok(applied.then_some(RunState::Applied))
}
