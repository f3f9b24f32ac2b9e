//! `finish`: what follows when the last process of a run is gone. Changes of copy-on-write mounts
//! are written back, kept or dropped, and the rest of the run's directory goes.

mod at_home;
mod checkpoint;
mod clocks;
mod drop_path;
mod fate;
mod foreign;
mod git_objects;
mod git_program;
mod git_settings;
mod gone;
mod held;
mod in_memory;
mod in_view;
mod indexes;
mod leases;
mod links_out;
mod merge;
mod prune;
mod publish;
mod renew;
mod rules;
mod take_back;
mod targets;
mod trees;
mod write_back;

pub(crate) use at_home::left_at_home;
pub(crate) use checkpoint::{
    Since, has_moved_head, is_open as has_checkpoint, names as uncovered_names,
    settle as settle_checkpoint,
};
pub(crate) use clocks::{clock_since, clocks};
pub(crate) use drop_path::{DropError, drop_changes};
pub(crate) use fate::{Fate, fate};
pub(crate) use git_settings::{LeftSettings, left as left_settings};
pub(crate) use gone::{Gone, Targets};
pub(crate) use held::count as held;
pub(crate) use in_memory::Lost;
pub(crate) use in_view::{InView, OfMount};
pub(crate) use indexes::{note_indexes, open_indexes};
pub(crate) use prune::{drop_layers, prune};
pub(crate) use publish::{Published, publish};
pub(crate) use renew::{LEDGER, is_behind, renewing};
pub(crate) use rules::{Selection, protected, protects_own_code_alone};
pub(crate) use take_back::{follow, state_of, take_back, take_back_more};
pub(crate) use targets::{Target, TargetError, targets};
pub(crate) use trees::{Landing, TakenBack, TreeEnd, TreeKind, counts, end_trees, take_back_trees};
pub(crate) use write_back::{
    Looked, WriteBackError, WrittenBack, give_up, innermost, look, resume, write_back,
};

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use endow_policy::GuestPath;
use endow_vfs::fs::OsFs;
use endow_vfs::state::{
    Durability, Ending, HELD, JOURNAL, LAYERS, LIVE, MASK, Moment, Record, RunDir, RunState,
    SOCKETS, STARTED, StateError, SyncRules, UNDO,
};
use endow_vfs::sync::checkpoint::Checkpointed;
use endow_vfs::sync::{Ledger, NOTED_INDEXES};
use rustix::process::{getgid, getuid};

use crate::apply::Prepared;
use crate::plan::Plan;
use crate::plan::step::PrepareStep;
use crate::supervise::{Ended, Outcome};

/// What became of a run's changes.
#[derive(Debug)]
pub(crate) struct SyncEnd {
    /// How it was to be written back.
    pub(crate) rules: SyncRules,
    /// The state the run is in; `None` when nothing is kept of it.
    pub(crate) state: Option<RunState>,
    /// What was written back and what was not, by mount.
    pub(crate) written: WrittenBack,
    /// Why not everything could be done.
    pub(crate) error: Option<WriteBackError>,
    /// What became of a live workspace that was recorded.
    pub(crate) checkpoint: Option<Result<OfMount<Checkpointed>, WriteBackError>>,
    /// Where the command failed: names that it could not change, for they are of another owner or
    /// group.
    pub(crate) foreign: Vec<GuestPath>,
    /// Changes that were to be kept, and could not be.
    pub(crate) lost: Vec<Lost>,
    /// Names whose attributes could not be kept with them.
    pub(crate) stripped: Vec<PathBuf>,
    /// What became of copy-on-write mounts of trees.
    pub(crate) trees: Vec<TreeEnd>,
    /// Why the run can't say how it ended: it is kept as one whose end nobody saw.
    pub(crate) unnoted: Option<StateError>,
}

impl SyncEnd {
    /// Returns whether changes of a mount wait for the user; after an error all do.
    fn waits(&self, at: &GuestPath) -> bool {
        self.error.is_some() || self.written.waits_at(at)
    }

    /// Captures what the command left of trees; what waits makes the run wait.
    fn end_trees(&mut self, run: &RunDir, record: &mut Record, fate: Fate) {
        let landing = if fate == Fate::Keep { Landing::Later } else { Landing::Now };
        self.trees = end_trees(run, record, landing);
        if self.trees.iter().any(TreeEnd::waits) {
            self.state = Some(RunState::Waiting);
        } else if self.trees.iter().any(TreeEnd::has_changes) {
            self.state.get_or_insert(RunState::Applied);
        }
    }

    /// Takes in what became of a live workspace: changes that can be taken back count as written
    /// back. One of which none can is kept too, for an undo to name them: it is not the run before that is meant.
    /// Where that failed the run is kept, and an undo tries again.
    fn checkpointed(&mut self) {
        match &self.checkpoint {
            Some(Err(_)) => drop(self.state.get_or_insert(RunState::Interrupted)),
            Some(Ok((at, settled))) if settled.has_changes() => {
                self.state.get_or_insert(RunState::Applied);
                self.written.mounts.push((at.clone(), settled.report.clone()));
            }
            Some(Ok(_)) | None => {}
        }
    }
}

/// Ends a run. One without copy-on-write mounts, which has no record, leaves nothing.
///
/// # Errors
/// What must go can't be removed.
pub(crate) fn finish(
    plan: &Plan,
    prepared: Prepared,
    record: Option<Record>,
    ended: &Ended,
    memory: Vec<OwnedFd>,
) -> Result<Option<SyncEnd>, StateError> {
    let Some(run) = prepared.into_run() else { return Ok(None) };
    match record {
        Some(record) => end(run, record, ended, memory, &private(plan)).map(Some),
        None => run.remove(&OsFs).map(|()| None),
    }
}

/// Directories and files that were the command's own, and what it changed and nobody keeps.
fn private(plan: &Plan) -> Vec<PathBuf> {
    let made = plan.prepare.iter().filter_map(|step| match step {
        PrepareStep::MakeDir { at, .. } => Some(at.0.clone()),
        _ => None,
    });
    let dropped = plan.dropped.iter().filter(|it| !it.in_memory).map(|it| it.layer.0.clone());
    made.chain(dropped).collect()
}

/// Ends a run with copy-on-write mounts; `memory` are the layers that are in memory, in the order
/// of their mounts, and `private` the parts of the run's directory that go whatever becomes of it.
///
/// # Errors
/// What must go can't be removed. What goes wrong with write-back is told in the result: the
/// changes are kept, or told to be lost.
fn end(
    mut run: RunDir,
    mut record: Record,
    ended: &Ended,
    memory: Vec<OwnedFd>,
    private: &[PathBuf],
) -> Result<SyncEnd, StateError> {
    let fate = held::fate(fate(record.sync.mode, ended), &run, &mut record)?;
    let mut finished = SyncEnd {
        rules: record.sync.clone(),
        state: None,
        written: WrittenBack::default(),
        error: None,
        checkpoint: checkpointed(&run, &record, ended),
        foreign: foreign_names(&run, &record, ended, &memory),
        lost: Vec::new(),
        stripped: Vec::new(),
        trees: Vec::new(),
        unnoted: None,
    };
    record.ended = Some(Moment::from(SystemTime::now()));
    record.outcome = Some(ending(ended.outcome));
    clocks::note(&mut record);
    if fate != Fate::Drop {
        match end_kept(&run, &record, fate, &memory) {
            Ok((state, written)) => (finished.state, finished.written) = (state, written),
            Err(error) => {
                finished.state = Some(RunState::Waiting);
                finished.error = Some(error);
            }
        }
    }
    if fate != Fate::Drop {
        finished.end_trees(&run, &mut record, fate);
    }
    if finished.state == Some(RunState::Waiting) {
        let kept = in_memory::keep(&mut run, &mut record, &memory, |at| finished.waits(at));
        (finished.lost, finished.stripped) = (kept.lost, kept.stripped);
        if !finished.lost.is_empty() {
            finished.state = what_is_left(&run, &record, &finished);
        }
    }
    finished.checkpointed();
    let Some(state) = finished.state else {
        return run.remove(&OsFs).map(|()| finished);
    };
    record.state = state;
    record.changes = Some(finished.written.counts().plus(counts(&finished.trees)));
    record.undo_bytes = undo_bytes(&run, state);
    // Whatever fails from here on, the changes stay.
    let settled = settle(&run, &record, private);
    run.keep();
    match settled {
        Err(error) if error.is_full() => {
            (finished.state, finished.unnoted) = (Some(RunState::Interrupted), Some(error));
        }
        settled => settled?,
    }
    Ok(finished)
}

/// Compares a live workspace with what was recorded of it, before anything is written back to it.
fn checkpointed(
    run: &RunDir,
    record: &Record,
    ended: &Ended,
) -> Option<Result<OfMount<Checkpointed>, WriteBackError>> {
    let is_live = record.mounts.iter().any(|mount| mount.live);
    if !is_live || matches!(ended.outcome, Outcome::SetupFailed(_)) {
        return None;
    }
    let settled = targets(run, record, &[]).map_err(WriteBackError::from);
    let settled = settled.and_then(|targets| {
        match targets.gone.iter().find(|gone| gone.is_live && checkpoint::is_open(run)) {
            Some(gone) => Err(gone.error().into()),
            None => checkpoint::settle(run, record, (&targets.open, Since::Nobody)),
        }
    });
    settled.transpose()
}

/// Returns what may explain why a command failed.
fn foreign_names(
    run: &RunDir,
    record: &Record,
    ended: &Ended,
    memory: &[OwnedFd],
) -> Vec<GuestPath> {
    if ended.outcome == Outcome::Exited(0) {
        return Vec::new();
    }
    let user = (getuid().as_raw(), getgid().as_raw());
    targets(run, record, memory).map_or_else(|_| Vec::new(), |it| foreign::foreign(&it.open, user))
}

/// Measures what is left of a settled run; what can't be is measured when it must be known.
pub(crate) fn undo_bytes(run: &RunDir, state: RunState) -> Option<u64> {
    state.is_settled().then(|| run.measure(&OsFs, UNDO).ok()).flatten()
}

fn settle(run: &RunDir, record: &Record, private: &[PathBuf]) -> Result<(), StateError> {
    run.write_record(&OsFs, record, Durability::Cached)?;
    // By the layers it is told, which go next.
    let kept = targets::standing(run, record);
    if record.state == RunState::Applied
        && let Ok(targets) = targets::open(run, record, &[])
    {
        drop_layers(run, &targets.open)?;
    }
    let parts = parts_not_needed(record.state).iter().map(Path::new);
    let is_kept = |part: &Path| kept.iter().any(|path| path.starts_with(part));
    let private = private.iter().map(PathBuf::as_path).filter(|part| !is_kept(part));
    let mut parts = parts.chain(private);
    parts.try_for_each(|part| run.remove_part(&OsFs, part))
}

/// Returns the state of a run of which a layer is lost.
fn what_is_left(run: &RunDir, record: &Record, finished: &SyncEnd) -> Option<RunState> {
    let mut on_disk = record.mounts.iter().filter(|mount| !mount.in_memory);
    let is_begun = run.has(&OsFs, JOURNAL).unwrap_or(true);
    if is_begun || on_disk.any(|mount| finished.waits(&mount.at)) {
        return Some(RunState::Waiting);
    }
    let ledger = Ledger::read(&OsFs, run.as_fd()).ok()?;
    let mut numbers = (0..).zip(&record.mounts).map(|(number, _)| number);
    numbers.any(|number| ledger.applied(number).next().is_some()).then_some(RunState::Applied)
}

/// What a finished run needs no more.
fn parts_not_needed(state: RunState) -> &'static [&'static str] {
    match state {
        RunState::Applied => &[MASK, SOCKETS, STARTED, LIVE, LAYERS, HELD, NOTED_INDEXES],
        _ => &[MASK, SOCKETS, STARTED, LIVE],
    }
}

fn end_kept(
    run: &RunDir,
    record: &Record,
    fate: Fate,
    memory: &[OwnedFd],
) -> Result<(Option<RunState>, WrittenBack), WriteBackError> {
    let targets = targets(run, record, memory)?;
    if run.has(&OsFs, JOURNAL).unwrap_or(true) {
        resume(run, &targets)?;
    }
    let is_untouched = targets.open.iter().all(Target::is_untouched);
    let mut written = if is_untouched && !targets.gone.iter().any(|gone| gone.has_changes) {
        WrittenBack::default()
    } else if fate == Fate::Keep {
        WrittenBack::waiting(&look(run, &targets.open)?, &targets.gone)
    } else {
        write_back(run, record, &targets, &Selection::default())?
    };
    publish::tell(run, record, &mut written)?;
    if written.is_partial() {
        // The layer is as good without; a later write-back tries again.
        drop(prune(run, &targets.open));
    }
    Ok((written.state(), written))
}

fn ending(outcome: Outcome) -> Ending {
    let (kind, code, signal) = outcome.told();
    Ending { kind: kind.to_owned(), code, signal }
}
