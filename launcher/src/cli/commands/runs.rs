//! `endow runs`.

use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use std::time::SystemTime;

use endow_vfs::fs::OsFs;
use endow_vfs::state::{ChangeCounts, Listed, Moment, RunDir, RunId, RunState};
use serde_json::{Value, json};

use crate::cli::args::{RunsArgs, RunsCommand};
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::Output;
use crate::cli::output::json_text;
use crate::cli::output::table;
use crate::cli::runs::stage_directories;
use crate::cli::runs::{Act, Kept, Opened, Verb};

const REMOVE: Verb = Verb {
    act: Act::Remove,
    states: &[RunState::Applied, RunState::Discarded, RunState::Undone],
    fits: |_| true,
};

/// Which runs may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removal {
    /// Those that nothing waits of.
    Settled,
    /// All that nobody works on.
    Forced,
}

/// A run that goes.
enum Removable {
    /// A run that says what it is.
    Known(Box<Opened>),
    /// A run whose record can't be used, or is not there: that of one whose removal was interrupted by an older endow.
    Unknown(RunDir),
}

impl Removable {
    /// Removes what the run has elsewhere, and returns its directory.
    fn taken_away(self, id: &RunId, output: &Output) -> Result<RunDir, CommandError> {
        match self {
            Self::Known(open) => {
                if open.is_begun()? {
                    output.caution(&format!(
                        "{id}: its write-back ends half-done, the tree stays as it is"
                    ));
                }
                stage_directories::remove_of(&open.dir, &open.record);
                Ok(open.dir)
            }
            Self::Unknown(dir) => Ok(dir),
        }
    }
}

/// All that a run which nobody works on can be.
const FORCE: Verb = Verb { states: &RunState::ALL, ..REMOVE };

/// Runs the command.
pub(crate) fn run(args: &RunsArgs, output: &Output) -> Result<ExitCode, CommandError> {
    check(args)?;
    let kept = Kept::list()?;
    match &args.command {
        None => list(&kept, args, output),
        Some(RunsCommand::Rm { runs, force }) => {
            let removal = if *force { Removal::Forced } else { Removal::Settled };
            remove(&kept, runs, (output, removal))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What says which runs are listed would say nothing of those that are removed, which are named.
fn check(args: &RunsArgs) -> Result<(), CommandError> {
    if args.command.is_none() || !(args.here || args.last.is_some()) {
        return Ok(());
    }
    let error = CommandError::new(Kind::Usage, "--here and --last are of the list alone");
    Err(error.hint(
        "`endow runs --here` lists runs, and `endow runs rm RUN` removes those that are named",
    ))
}

fn list(kept: &Kept, args: &RunsArgs, output: &Output) {
    let is_meant =
        |run: &&Listed| !args.here || run.record().is_some_and(|record| kept.is_of_here(record));
    let runs = kept.runs.iter().rev().filter(is_meant).take(args.last.unwrap_or(usize::MAX));
    let runs: Vec<&Listed> = runs.collect();
    if output.is_json() {
        let runs: Vec<Value> = runs.iter().map(|run| value(kept, run)).collect();
        return output.json(&json!({"version": 1, "runs": runs}));
    }
    if runs.is_empty() {
        return output.notice(none(!kept.runs.is_empty(), args));
    }
    let head = ["ID", "NAME", "STATE", "AGE", "CHANGES", "COMMAND", "WORKSPACE"];
    let now = SystemTime::now();
    let rows: Vec<[String; 7]> = runs.iter().map(|run| row(kept, run, now)).collect();
    output.text(&table::render(head, &rows));
}

/// Says that none is listed, though others may be kept.
fn none(are_others: bool, args: &RunsArgs) -> &'static str {
    match (are_others, args.here) {
        (false, _) => "no runs are kept",
        (true, true) => "no runs of this workspace are kept; `endow runs` lists the others",
        (true, false) => "none of the kept runs is asked for",
    }
}

fn row(kept: &Kept, run: &Listed, now: SystemTime) -> [String; 7] {
    let none = || "-".to_owned();
    let record = run.record();
    let changes = kept.changes(run);
    let command = record.map(|record| record.command.to_string_lossy().into_owned());
    let workspace = record.and_then(|record| record.workspace.as_ref());
    [
        run.id.to_string(),
        run.name().map_or_else(none, str::to_owned),
        state(run).to_owned(),
        now.duration_since(run.id.time()).map_or_else(|_| none(), table::age),
        changes.map_or_else(none, counts),
        command.unwrap_or_else(none),
        workspace.map_or_else(none, ToString::to_string),
    ]
}

/// Returns the state as a word; a record that can't be used has none.
pub(crate) fn state(run: &Listed) -> &'static str {
    run.state().map_or("unusable", RunState::word)
}

fn counts(changes: ChangeCounts) -> String {
    let ChangeCounts { created, modified, deleted, left } = changes;
    let written = format!("+{created} ~{modified} -{deleted}");
    match (created + modified + deleted, left) {
        (0, 0) => "-".to_owned(),
        (_, 0) => written,
        (0, left) => format!("{left} wait"),
        (_, left) => format!("{written}, {left} wait"),
    }
}

fn value(kept: &Kept, run: &Listed) -> Value {
    let record = run.record();
    let seconds = |moment: Moment| moment.seconds;
    let error = run.record.as_ref().and_then(|record| record.as_ref().err());
    json!({
        "id": run.id.as_str(),
        "name": run.name(),
        "state": run.state().map(RunState::word),
        "in_use": run.in_use,
        "started": record.map(|record| seconds(record.started)),
        "ended": record.and_then(|record| record.ended).map(seconds),
        "command": record.map(|record| json_text::text(record.command.as_bytes())),
        "workspace": record.and_then(|it| it.workspace.as_ref()).map(|it| json_text::text(it.as_bytes())),
        "outcome": record.and_then(|record| record.outcome.as_ref()),
        "changes": kept.changes(run),
        "error": error.map(ToString::to_string),
    })
}

/// Removes runs; all of them can be, or none is.
fn remove(
    kept: &Kept,
    names: &[String],
    (output, removal): (&Output, Removal),
) -> Result<(), CommandError> {
    let mut opened = Vec::new();
    for name in names {
        let run = kept.named(name)?;
        if opened.iter().any(|(known, _): &(&Listed, _)| known.id == run.id) {
            continue;
        }
        let open = match removal {
            Removal::Settled => Removable::Known(Box::new(kept.open(run, REMOVE)?)),
            Removal::Forced if !matches!(run.record, Some(Ok(_))) => {
                Removable::Unknown(kept.open_unusable(run)?)
            }
            Removal::Forced => Removable::Known(Box::new(kept.open_begun(run, FORCE)?)),
        };
        opened.push((run, open));
    }
    let mut removed = Vec::new();
    let mut failure = None;
    for (run, open) in opened {
        match open.taken_away(&run.id, output)?.remove(&OsFs) {
            Ok(()) => removed.push(run.id.as_str()),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    if output.is_json() && failure.is_none() {
        output.json(&json!({"version": 1, "removed": removed}));
    }
    for id in &removed {
        output.notice(&format!("removed {id}"));
    }
    failure.map_or(Ok(()), |error| Err(CommandError::from(error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{self, Command};

    fn parsed(words: &[&str]) -> RunsArgs {
        let words = ["endow", "runs"].iter().chain(words).map(Into::into).collect();
        match args::parse(words).expect("a call").command {
            Command::Runs(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_of_the_list_are_refused_where_runs_are_removed() {
        for words in [&["--here", "rm", "x"][..], &["-n", "1", "rm", "x"]] {
            assert!(check(&parsed(words)).is_err(), "{words:?}");
        }
        for words in [&["--json", "rm", "x"][..], &["--here", "-n", "1"], &[]] {
            assert!(check(&parsed(words)).is_ok(), "{words:?}");
        }
    }

    #[test]
    fn runs_of_others_are_told_where_none_is_of_here() {
        assert_eq!(none(false, &parsed(&["--here"])), "no runs are kept");
        assert!(none(true, &parsed(&["--here"])).contains("of this workspace"));
    }
}
