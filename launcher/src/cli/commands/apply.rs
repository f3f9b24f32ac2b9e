//! `endow apply`.

use std::process::ExitCode;

use endow_vfs::state::{ChangeCounts, RunState};
use serde_json::json;

use crate::cli::args::ApplyArgs;
use crate::cli::error::CommandError;
use crate::cli::exit;
use crate::cli::output::Output;
use crate::cli::report::write_back;
use crate::cli::runs::locked::{self, Picked};
use crate::cli::runs::{Act, Kept, Verb};
use crate::finish::{self, Landing, SyncEnd, TreeEnd};

const APPLY: Verb =
    Verb { act: Act::Apply, states: &[RunState::Waiting, RunState::Interrupted], fits: |_| true };

/// Writes the changes of a run back.
pub(crate) fn run(args: &ApplyArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let kept = Kept::list()?;
    let mut picked = locked::pick(&kept, &args.chosen, APPLY, output)?;
    if let Some(choice) = args.on_conflict {
        picked.record.sync.on_conflict = choice.into();
    }
    let selection = picked.selection()?;
    let is_whole = selection.paths.is_none();
    if !is_whole && picked.finished == ChangeCounts::default() {
        // Each path that was named must have a change, or may have had one that was just made.
        picked.look()?;
    }
    let written = finish::write_back(&picked.run, &picked.record, &picked.targets, &selection)?;
    let trees = if is_whole {
        finish::end_trees(&picked.run, &mut picked.record, Landing::Now)
    } else {
        Vec::new()
    };
    let waits = trees.iter().any(TreeEnd::waits) || (!is_whole && picked.has_waiting_trees());
    let state = if waits {
        RunState::Waiting
    } else if is_whole && written.is_complete() && !picked.is_recorded() && picked.has_applied()? {
        RunState::Applied
    } else if is_whole && written.is_complete() && written.has_dropped() {
        RunState::Discarded
    } else {
        picked.state_of()?.unwrap_or(RunState::Discarded)
    };
    picked.prune(state);
    let now = written.counts().plus(finish::counts(&trees));
    picked.record.changes = Some(counts(&picked, now));
    let rules = picked.record.sync.clone();
    picked.set_state(state)?;
    let sync = SyncEnd {
        rules,
        state: Some(state),
        written,
        error: None,
        checkpoint: None,
        foreign: Vec::new(),
        lost: Vec::new(),
        stripped: Vec::new(),
        trees,
        unnoted: None,
    };
    let id = picked.run.id().as_str();
    if output.is_json() {
        let changes = write_back::changes(&sync);
        let sync = write_back::sync(&sync);
        output.json(&json!({
            "version": 1, "run": id, "state": state.word(), "changes": changes, "sync": sync,
        }));
    }
    let is_short = write_back::say(&sync, id, output);
    let is_short = picked.tell_recorded(output) || is_short;
    if !output.is_json() && !is_short {
        let now = now.plus(picked.finished);
        output.notice(&applied(now, &sync, id));
    }
    Ok(ExitCode::from(if is_short { exit::NOT_WRITTEN_BACK } else { 0 }))
}

/// What was written back before counts as well.
fn counts(picked: &Picked, now: ChangeCounts) -> ChangeCounts {
    let before = ChangeCounts { left: 0, ..picked.record.changes.unwrap_or_default() };
    before.plus(now)
}

/// Says what was done; what waits is told already.
fn applied(counts: ChangeCounts, sync: &SyncEnd, id: &str) -> String {
    match write_back::in_words(counts) {
        Some(counts) => format!("applied {counts}; `endow undo {id}` takes it back"),
        // A commit may change no file.
        None if sync.trees.iter().any(TreeEnd::has_landed) => {
            format!("applied; `endow undo {id}` takes it back")
        }
        None if sync.written.is_complete() => "there was nothing to write back".to_owned(),
        None => "nothing was written back: what waits does so until it is named".to_owned(),
    }
}
