//! `endow discard`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use endow_vfs::fs::OsFs;
use endow_vfs::state::{ChangeCounts, HELD, RunState};
use endow_vfs::tree::DropError as Dropped;
use serde_json::json;

use crate::cli::args::DiscardArgs;
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::Output;
use crate::cli::report::write_back;
use crate::cli::runs::counts;
use crate::cli::runs::locked::{self, Picked, Stuck};
use crate::cli::runs::stage_directories;
use crate::cli::runs::{Act, Kept, Verb};
use crate::finish::{self, DropError, Selection, WriteBackError};

const DISCARD: Verb =
    Verb { act: Act::Discard, states: &[RunState::Waiting, RunState::Interrupted], fits: |_| true };

/// Drops the changes of a run that waits, or those at some paths.
pub(crate) fn run(args: &DiscardArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let kept = Kept::list()?;
    let stuck = if args.force { Stuck::GivenUp } else { Stuck::Stays };
    let mut picked = locked::pick_to_end(&kept, &args.chosen, DISCARD, (output, stuck))?;
    let selection = picked.selection()?;
    if let (Some(_), Some(gone)) = (&selection.paths, picked.gone_waiting(&selection).first()) {
        let error = CommandError::from(WriteBackError::from(gone.error()));
        let id = picked.run.id();
        return Err(error.hint(format!("`endow discard {id}` drops all that waits of it")));
    }
    let (state, moved) = match &selection.paths {
        None => (whole(&mut picked)?, Vec::new()),
        Some(_) => part(&mut picked, &selection)?,
    };
    let id = picked.run.id().as_str();
    if output.is_json() {
        output.json(&json!({"version": 1, "run": id, "state": state.word()}));
    }
    let called = picked.called();
    let what = if selection.paths.is_some() { "these changes" } else { "the changes" };
    output.notice(&format!("discarded {what} of {called}"));
    if !moved.is_empty() {
        let names: Vec<String> = moved.iter().map(|path| path.display().to_string()).collect();
        let names = write_back::some(&names);
        output.caution(&format!("what was moved there stays where it was: {names}"));
    }
    if state == RunState::Applied {
        output
            .notice(&format!("what was written back of it stays; `endow undo {id}` takes it back"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Drops all changes that wait. What was applied of the run before can still be undone. The record
/// is written before layers go: half a layer must never be taken for the whole.
fn whole(picked: &mut Picked) -> Result<RunState, CommandError> {
    let state = if picked.has_applied()? { RunState::Applied } else { RunState::Discarded };
    note_left(picked, 0);
    picked.drop_recorded()?;
    // An undo of what was written back would find it again, and no record would tell that it was dropped.
    picked.run.remove_whole(&OsFs, HELD)?;
    picked.set_state(state)?;
    stage_directories::remove_of(&picked.run, &picked.record);
    Ok(state)
}

/// Drops what waits at some paths; returns the places, too, where what was moved to these stays.
fn part(
    picked: &mut Picked,
    selection: &Selection,
) -> Result<(RunState, Vec<PathBuf>), CommandError> {
    let looked = picked.look()?;
    let before = counts::waiting(&looked);
    let mut moved = Vec::new();
    for one in &looked {
        let Some(target) = picked.target(one.number) else { continue };
        let named = selection.paths.iter().flatten().filter(|(number, _)| *number == one.number);
        let named: Vec<&Path> = named.map(|(_, path)| path.as_path()).collect();
        let old = finish::drop_changes(target, one, &named)?;
        moved.extend(old.iter().map(|path| one.at.place(path)));
    }
    let state = picked.state_of()?.unwrap_or(RunState::Discarded);
    let left = match picked.record.changes {
        Some(changes) if state == RunState::Waiting => {
            let now = counts::waiting(&finish::look(&picked.run, &picked.targets.open)?);
            counts::less(changes, (before, now)).left
        }
        _ => 0,
    };
    note_left(picked, left);
    picked.set_state(state)?;
    Ok((state, moved))
}

/// Notes how many changes wait now.
fn note_left(picked: &mut Picked, left: u64) {
    let counted = picked.record.changes;
    picked.record.changes = counted.map(|changes| ChangeCounts { left, ..changes });
}

impl From<DropError> for CommandError {
    fn from(error: DropError) -> Self {
        let kind = match error {
            DropError::Moved(_) | DropError::Drop(Dropped::Part(_)) => Kind::Usage,
            DropError::Drop(Dropped::Io(..) | Dropped::Left(..)) => Kind::Setup,
        };
        let this = Self::new(kind, error.to_string()).because(&error);
        match error {
            DropError::Moved(_) => this.hint("discard that directory as a whole, too"),
            DropError::Drop(Dropped::Part(_)) => this.hint("discard the directory as a whole"),
            DropError::Drop(_) => this,
        }
    }
}
