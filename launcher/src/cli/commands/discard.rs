//! `endow discard`.

use std::path::Path;
use std::process::ExitCode;

use endow_vfs::fs::OsFs;
use endow_vfs::state::{Durability, RunState};
use serde_json::json;

use crate::cli::args::DiscardArgs;
use crate::cli::error::{CommandError, Kind};
use crate::cli::kept::{Kept, Opened, Verb};
use crate::cli::output::Output;
use crate::cli::stale;

const DISCARD: Verb = Verb { word: "discard", states: &[RunState::Waiting, RunState::Interrupted] };

/// Drops the changes of a run that waits.
pub(crate) fn run(args: &DiscardArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let kept = Kept::list()?;
    let (run, paths) = kept.choose(&args.chosen, DISCARD)?;
    if let Some(path) = paths.first() {
        return Err(CommandError::new(Kind::Usage, "neither a run nor a change").about(path));
    }
    let opened = kept.open(run, DISCARD)?;
    let state = whole(&opened)?;
    if output.is_json() {
        output.json(&json!({"version": 1, "run": run.id.as_str(), "state": state.word()}));
    }
    output.notice(&format!("discarded the changes of {}", run.id));
    Ok(ExitCode::SUCCESS)
}

/// Drops all changes that wait. What was applied of the run before can still be undone.
fn whole(opened: &Opened) -> Result<RunState, CommandError> {
    let mut record = opened.record.clone();
    record.state = if opened.dir.has(&OsFs, "undo/applied.json")? {
        RunState::Applied
    } else {
        RunState::Discarded
    };
    // First the word, then the deed: half a layer must never be taken for the whole.
    opened.dir.write_record(&OsFs, &record, Durability::Durable)?;
    opened.dir.remove_part(&OsFs, Path::new("layers"))?;
    stale::remove_of(&record.id, &record);
    Ok(record.state)
}
