//! `endow undo`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use endow_vfs::state::{Record, RunState};
use endow_vfs::sync::checkpoint::Uncovered;
use endow_vfs::sync::{Lack, UndoReport};
use serde_json::{Value, json};

use crate::cli::args::UndoArgs;
use crate::cli::error::{CommandError, Kind};
use crate::cli::exit;
use crate::cli::output::Output;
use crate::cli::output::json_text;
use crate::cli::output::words::count;
use crate::cli::report::trees;
use crate::cli::report::write_back;
use crate::cli::runs::counts;
use crate::cli::runs::locked::{self, Picked};
use crate::cli::runs::{Act, Kept, Verb};
use crate::finish::{self, Gone, OfMount, Selection, Target, WriteBackError};

/// What `undo` takes: also a run of which only a part was written back.
const UNDO: Verb = Verb {
    act: Act::Undo,
    states: &[RunState::Applied, RunState::Waiting, RunState::Interrupted],
    fits: was_applied,
};

fn was_applied(record: &Record) -> bool {
    let some = record.changes.is_some_and(|it| it.created + it.modified + it.deleted > 0);
    record.state == RunState::Applied || some
}

/// Takes the applied changes of a run back.
pub(crate) fn run(args: &UndoArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let kept = Kept::list()?;
    let mut picked = locked::pick(&kept, &args.chosen, UNDO, output)?;
    let id = picked.run.id().to_string();
    if !picked.has_applied()? {
        return nothing_applied(&mut picked, &id, output);
    }
    let selection = picked.selection()?;
    picked.must_be_applied()?;
    let before = counts::applied(&picked)?;
    // With the last change that is taken back the ledger may go.
    let uncovered = uncovered(&picked, &selection)?;
    let mut reports = finish::take_back(&picked.run, &picked.targets.open, &selection)?;
    let (run, targets) = (&picked.run, &mut picked.targets);
    reports.extend(finish::take_back_more(run, &picked.record, targets, &selection)?);
    if let Some(state) = kept.state() {
        let others = kept.runs.iter().filter(|it| !it.in_use && it.id != *picked.run.id());
        finish::follow(state, others.map(|it| &it.id), (&picked.targets.open, &reports));
    }
    let trees = match &selection.paths {
        None => finish::take_back_trees(&mut picked.record),
        Some(_) => Vec::new(),
    };
    let state = picked.state_of()?.unwrap_or(RunState::Undone);
    let now = counts::applied(&picked)?;
    let counted = picked.record.changes.filter(|_| state != RunState::Undone);
    picked.record.changes = counted.map(|changes| counts::less(changes, (before, now)));
    picked.set_state(state)?;
    let is_short = trees::say_taken_back(&trees, output);
    let is_short = picked.tell_recorded(output) || is_short;
    let others = reports.iter().filter(|(_, report)| report.is_other_root);
    let others = others.filter_map(|(_, report)| picked.target(report.mount)).collect();
    let left = Left { gone: picked.gone_applied(&selection)?, others, uncovered };
    let is_short = tell(&reports, &left, &picked, output) || is_short;
    tell_history(&reports, &picked, output);
    Ok(ExitCode::from(if is_short { exit::NOT_WRITTEN_BACK } else { 0 }))
}

/// Says why there is nothing to take back.
fn nothing_applied(
    picked: &mut Picked,
    id: &str,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let selection = picked.selection()?;
    let uncovered = uncovered(picked, &selection)?;
    let is_applied = picked.record.state == RunState::Applied;
    let is_whole = selection.paths.is_none();
    let has_uncovered = picked.has_uncovered()?;
    if has_uncovered && uncovered.is_empty() {
        // It is elsewhere than was asked for, or where nobody can look.
        let gone = picked.targets.gone.iter().find(|gone| selection.means(gone.number));
        return Err(match gone {
            Some(gone) => WriteBackError::from(gone.error()).into(),
            None => nothing_written(id),
        });
    }
    if is_applied && (is_whole || !has_uncovered) {
        // An earlier undo was ended between its last change and the record of it, or there is none that could do
        // anything: the next one is that of the run before.
        let state = picked.state_of()?;
        picked.set_state(state.unwrap_or(RunState::Undone))?;
    }
    if !uncovered.is_empty() {
        let left = Left { gone: Vec::new(), others: Vec::new(), uncovered };
        tell(&[], &left, picked, output);
        return Ok(ExitCode::from(exit::NOT_WRITTEN_BACK));
    }
    if is_applied {
        if picked.tell_recorded(output) {
            return Ok(ExitCode::from(exit::NOT_WRITTEN_BACK));
        }
        output.notice(&format!("the changes of {} were taken back already", picked.called()));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(gone) = picked.gone_waiting(&Selection::default()).first() {
        return Err(WriteBackError::from(gone.error()).into());
    }
    Err(nothing_written(id))
}

fn nothing_written(id: &str) -> CommandError {
    CommandError::new(Kind::Usage, "nothing of the run is written back")
        .about(id)
        .hint("`endow runs` lists all runs, and what was written back of each")
}

/// What can't be taken back.
struct Left<'a> {
    /// Mounts whose directory can't be opened.
    gone: Vec<&'a Gone>,
    /// Mounts where another directory stands.
    others: Vec<&'a Target>,
    /// What no checkpoint holds.
    uncovered: Vec<OfMount<Vec<Uncovered>>>,
}

/// Returns what changed in live mounts, is selected, and was not recorded in time.
fn uncovered(
    picked: &Picked,
    selection: &Selection,
) -> Result<Vec<OfMount<Vec<Uncovered>>>, CommandError> {
    let ledger = picked.ledger()?;
    let of_target = |target: &Target| {
        let uncovered = ledger.uncovered(target.number);
        let selected = uncovered.filter(|it| selection.takes(target.number, &it.path));
        (target.shown.clone(), selected.cloned().collect::<Vec<_>>())
    };
    let all = picked.targets.open.iter().map(of_target);
    Ok(all.filter(|(_, list)| !list.is_empty()).collect())
}

/// Names what can't be taken back since no original of it was recorded.
fn tell_uncovered(uncovered: &[OfMount<Vec<Uncovered>>], output: &Output) {
    let names = |(at, list): &OfMount<Vec<Uncovered>>| write_back::names_of(at, list);
    let names: Vec<String> = uncovered.iter().flat_map(names).collect();
    if let Some(text) = write_back::lost(&names) {
        output.warning(&text);
    }
}

impl Left<'_> {
    fn paths(&self) -> Vec<PathBuf> {
        let gone = self.gone.iter().map(|gone| gone.source.as_path().to_owned());
        gone.chain(self.others.iter().map(|it| it.path.as_path().to_owned())).collect()
    }

    /// Names what stays after an undo; returns whether there is anything.
    fn tell(&self, output: &Output) -> bool {
        for other in &self.others {
            let path = &other.path;
            output.warning(&format!("another directory stands there by now, left alone: {path}"));
        }
        tell_uncovered(&self.uncovered, output);
        let is_gone = locked::tell_gone(&self.gone, output);
        is_gone || !self.others.is_empty() || !self.uncovered.is_empty()
    }

    fn json(&self) -> Vec<Value> {
        let of_mount = |(at, list): &OfMount<Vec<Uncovered>>| -> Vec<Value> {
            let one = |(path, left): (PathBuf, _)| json!({"path": json_text::path(&path), "reason": write_back::why(left)});
            finish::uncovered_names(at, list).into_iter().map(one).collect()
        };
        self.uncovered.iter().flat_map(of_mount).collect()
    }
}

/// Says what was taken back and what was not; returns whether anything was not.
fn tell(
    reports: &[OfMount<UndoReport>],
    left: &Left<'_>,
    picked: &Picked,
    output: &Output,
) -> bool {
    let (id, state) = (picked.run.id().as_str(), picked.record.state);
    let paths = |of: fn(&UndoReport) -> Vec<&Path>| -> Vec<PathBuf> {
        let whole = |(at, report): &OfMount<UndoReport>| -> Vec<PathBuf> {
            of(report).into_iter().map(|path| at.place(path)).collect()
        };
        reports.iter().flat_map(whole).collect()
    };
    let undone = paths(|it| it.undone.iter().map(PathBuf::as_path).collect());
    let changed = paths(|it| it.changed_since.iter().map(PathBuf::as_path).collect());
    let later = paths(|it| it.later.iter().map(PathBuf::as_path).collect());
    let failed = paths(|it| it.failed.iter().map(|it| it.path.as_path()).collect());
    let aside = paths(|it| it.set_aside.iter().map(PathBuf::as_path).collect());
    let lacking = lacking(reports);
    if output.is_json() {
        let list =
            |paths: &[PathBuf]| paths.iter().map(|it| json_text::path(it)).collect::<Vec<Value>>();
        output.json(&json!({
            "version": 1, "run": id, "state": state.word(), "undone": list(&undone),
            "changed_since": list(&changed), "later": list(&later), "failed": list(&failed),
            "set_aside": list(&aside), "gone": list(&left.paths()), "uncovered": left.json(),
            "lacking": lacking.iter()
                .map(|(path, what)| json!({"path": json_text::path(path), "reason": what}))
                .collect::<Vec<Value>>(),
        }));
    }
    for path in &changed {
        output
            .warning(&format!("changed since it was written back, left alone: {}", path.display()));
    }
    tell_later(&later, id, output);
    for path in &failed {
        output.warning(&format!("could not be taken back: {}", path.display()));
    }
    for place in &aside {
        output.warning(&format!("{}: {}", write_back::SET_ASIDE, place.display()));
    }
    for (path, what) in &lacking {
        output.warning(&format!("{what}: {}", path.display()));
    }
    let is_left = left.tell(output) || !lacking.is_empty();
    let undone = count(undone.len(), "change");
    output.notice(&format!("took back {undone} of {}", picked.called()));
    is_left || !changed.is_empty() || !later.is_empty() || !failed.is_empty()
}

/// Says where a live workspace has another history than when the run began: an undo leaves it.
fn tell_history(reports: &[OfMount<UndoReport>], picked: &Picked, output: &Output) {
    let is_live = |target: &&Target| {
        let mounts = (0u32..).zip(&picked.record.mounts);
        mounts.into_iter().any(|(number, mount)| number == target.number && mount.live)
    };
    let undone = reports.iter().filter(|(_, report)| !report.undone.is_empty());
    let targets = undone.filter_map(|(_, report)| picked.target(report.mount));
    for target in targets.filter(is_live).filter(|it| finish::has_moved_head(it)) {
        let path = &target.path;
        output.notice(&format!(
            "HEAD moved since the start of the run, and stays where it is: `git -C {path} reflog`"
        ));
    }
}

/// Returns what did not come back whole, and what it lacks.
fn lacking(reports: &[OfMount<UndoReport>]) -> Vec<(PathBuf, &'static str)> {
    let what = |lack| match lack {
        Lack::SetId => "came back without set-user-id and set-group-id, of another owner or group",
        Lack::Capability => "came back without its file capability",
        Lack::Special => "can't be brought back, a socket or device",
    };
    let all = |(at, report): &OfMount<UndoReport>| -> Vec<(PathBuf, &'static str)> {
        report.lacking.iter().map(|it| (at.place(&it.path), what(it.lack))).collect()
    };
    reports.iter().flat_map(all).collect()
}

/// Names what may not be the run's, and says how it comes back.
fn tell_later(paths: &[PathBuf], id: &str, output: &Output) {
    if paths.is_empty() {
        return;
    }
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let (count, names) = (names.len(), write_back::some(&names));
    output.warning(&format!(
        "{count} left alone, something changed beside it after the end of the run: {names}"
    ));
    output.hint(&format!("`endow undo {id} PATH` takes it back all the same"));
}
