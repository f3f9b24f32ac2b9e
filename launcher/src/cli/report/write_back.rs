//! What became of a run's changes, in words, as exit code and in the report.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use endow_policy::{SyncMode, in_one_line};
use endow_vfs::state::{ChangeCounts, RunState};
use endow_vfs::sync::checkpoint::{Checkpointed, Left, Uncovered};
use endow_vfs::sync::{
    ChangeKind, Clock, Conflict, Held, LeftOut, Refusal, Refused, SyncReport, Winner,
};
use serde_json::{Value, json};

use super::moved::{self, Moved};
use super::trees;
use crate::cli::exit;
use crate::cli::output::Output;
use crate::cli::report::{self, Finished};
use crate::cli::runs::locked;
use crate::finish::{self, InView, OfMount, WriteBackError};
use crate::supervise::Outcome;

/// The most names that one line lists.
const NAMES_MAX: usize = 3;
/// What is said of what somebody put in the way of a write-back, and neither stayed there nor is kept with the run.
pub(crate) const SET_ASIDE: &str = "set aside, it could not stay where it was";
/// The most entries of a list in the report.
const LIST_MAX: usize = 10_000;

/// Says what the user must know, and returns the exit code: that of the command, unless it
/// succeeded and something was not written back.
pub(crate) fn tell(run: &Finished, code: ExitCode, output: &Output) -> ExitCode {
    let Some(sync) = &run.sync else { return code };
    let id = run.planned.id.as_str();
    let is_short = say(sync, id, output);
    if let (Some(counts), Some(_)) = (in_words(sync.written.counts()), sync.state) {
        output.detail(&format!("wrote back: {counts}; `endow undo {id}` takes it back"));
    }
    let succeeded = matches!(run.ran.ended.outcome, Outcome::Exited(0));
    if succeeded && is_short { ExitCode::from(exit::NOT_WRITTEN_BACK) } else { code }
}

/// Returns how many names were changed; `None` where none was.
pub(crate) fn in_words(counts: ChangeCounts) -> Option<String> {
    let ChangeCounts { created, modified, deleted, .. } = counts;
    let text = format!("{created} created, {modified} modified, {deleted} deleted");
    (created + modified + deleted > 0).then_some(text)
}

/// Says what the user must know; returns whether something that was to be written back was not.
pub(crate) fn say(sync: &finish::SyncEnd, id: &str, output: &Output) -> bool {
    if !sync.foreign.is_empty() {
        let names: Vec<String> = sync.foreign.iter().map(ToString::to_string).collect();
        output.notice(&unchangeable(&names));
    }
    tell_checkpoint(sync, output);
    for line in lines(sync, id) {
        match line.weight {
            Weight::Short => output.warning(&line.text),
            Weight::Told => output.remark(&line.text),
            Weight::Noted => output.notice(&line.text),
        }
    }
    for hint in hints(sync, id) {
        output.hint(&hint);
    }
    if let Some(error) = &sync.error {
        output.problem(not_written_back(sync, error), error);
        if let Some(remedy) = error.remedy().filter(|_| sync.lost.is_empty()) {
            output.hint(&remedy.replace("RUN", id));
        }
    }
    if let Some(error) = &sync.unnoted {
        output.problem("can't note how the run ended; what was not written back is kept", error);
        output.hint(&format!("make room, then `endow apply {id}`, or `endow discard {id}`"));
    }
    locked::tell_gone(&sync.written.gone.iter().collect::<Vec<_>>(), output);
    for path in &sync.stripped {
        let text = "attributes are lost, for endow's state can't keep them";
        output.warning(&format!("{text}: {}", path.display()));
    }
    for lost in &sync.lost {
        output.problem(&format!("changes are lost: {}", lost.at), &lost.error);
    }
    let waits = if is_unasked(sync) { Output::remark } else { Output::notice };
    let is_tree_short = trees::say(&sync.trees, (id, waits), output);
    is_short(sync) || is_tree_short
}

fn not_written_back(sync: &finish::SyncEnd, error: &WriteBackError) -> &'static str {
    match (sync.lost.is_empty(), error.is_begun()) {
        (true, true) => "changes are kept, and some may be written back",
        (true, false) => "changes are kept and not written back",
        (false, _) => "changes are not written back",
    }
}

/// Says what of a live workspace can't be taken back.
fn tell_checkpoint(sync: &finish::SyncEnd, output: &Output) {
    match &sync.checkpoint {
        None => {}
        Some(Err(error)) => output.problem("nothing of the workspace can be taken back yet", error),
        Some(Ok(settled)) => tell_covered(settled, output),
    }
}

/// Says what a checkpoint does not bring back.
pub(crate) fn tell_covered((at, settled): &OfMount<Checkpointed>, output: &Output) {
    if let Some(text) = lost(&names_of(at, &settled.uncovered)) {
        output.notice(&text);
    }
    let left_out = names_of(at, &settled.left_out);
    if !left_out.is_empty() {
        output.detail(&format!("the checkpoint leaves out: {}", left_out.join(", ")));
    }
}

/// Returns paths that a checkpoint does not bring back, each with the reason.
pub(crate) fn names_of(at: &InView, list: &[Uncovered]) -> Vec<String> {
    let shown = |(path, left): (PathBuf, Left)| format!("{} ({})", path.display(), why(left));
    finish::uncovered_names(at, list).into_iter().map(shown).collect()
}

/// Says that what has these names can't be taken back; nothing when there are none.
pub(crate) fn lost(names: &[String]) -> Option<String> {
    let count = names.len();
    (count > 0).then(|| format!("{count} can't be taken back: {}", some(names)))
}

/// Returns why a checkpoint does not cover a path, in words.
pub(crate) fn why(left: Left) -> &'static str {
    match left {
        Left::Changed => "changed before it was recorded",
        Left::Large => "too large",
        Left::Full => "the checkpoint is full",
        Left::Cache => "a cache",
        Left::Repository => "git's own history",
        Left::Unreadable => "it can't be read",
        Left::Special => "no file, directory or link",
        Left::MountPoint => "a mount of the host",
        Left::Lost => "the repository has it no more",
        Left::Since => "changed after the end of the run",
        Left::Attributes => "but for attributes that endow's state can't keep, all of it can",
        Left::Privilege => "but for set-user-id, set-group-id or a file capability, all of it can",
    }
}

/// Returns the report's `checkpoint`; `null` where none was made.
pub(crate) fn checkpoint(sync: &finish::SyncEnd) -> Value {
    match &sync.checkpoint {
        None => Value::Null,
        Some(Err(error)) => json!({"error": in_one_line(error)}),
        Some(Ok((at, settled))) => {
            let one = |(path, left): (PathBuf, Left)| json!({"path": report::text(path.as_os_str()), "reason": why(left)});
            let all = |list: &[Uncovered]| -> Vec<Value> {
                finish::uncovered_names(at, list).into_iter().take(LIST_MAX).map(one).collect()
            };
            json!({
                "covered": settled.report.applied.len(),
                "uncovered": all(&settled.uncovered), "left_out": all(&settled.left_out),
            })
        }
    }
}

/// Says what overlayfs can't change, and what helps.
pub(crate) fn unchangeable(names: &[String]) -> String {
    format!(
        "{} can't be changed inside (EOVERFLOW), of another owner or group: {} (`chown` to yourself and your first group, or --rw)",
        names.len(),
        some(names)
    )
}

/// Returns whether something that was to be written back was not.
fn is_short(sync: &finish::SyncEnd) -> bool {
    let reports = sync.written.mounts.iter().map(|(_, report)| report);
    let of_report = |report: &SyncReport| {
        let lost = report.conflicts.iter().any(|it| it.winner == Winner::Host);
        let held = sync.rules.strict && !report.held.is_empty();
        let stays = !report.refused.is_empty() || !report.failed.is_empty();
        lost || held || stays || !stuck(report).is_empty()
    };
    let is_open = sync.error.is_some() || sync.unnoted.is_some();
    let is_open = is_open || !sync.written.gone.is_empty();
    is_open || !sync.lost.is_empty() || reports.into_iter().any(of_report)
}

/// Returns what stays where nothing that is told says why, as when one path alone was asked for and a file of the
/// user's stands above it.
fn stuck(report: &SyncReport) -> Vec<&Path> {
    let is_told = !(report.conflicts.is_empty()
        && report.refused.is_empty()
        && report.failed.is_empty()
        && report.held.is_empty());
    let blocked = report.left_out.iter().filter_map(|it| match it {
        LeftOut::Blocked(path) if !is_told => Some(path.as_path()),
        _ => None,
    });
    blocked.collect()
}

/// One line about changes that are not in the tree.
struct Line {
    text: String,
    weight: Weight,
}

/// Who must see a line.
#[derive(Clone, Copy)]
enum Weight {
    /// Who looks at a terminal: it is as was asked.
    Noted,
    /// Everybody, scripts too: without a word the changes look complete.
    Told,
    /// The same, and the exit code tells of it.
    Short,
}

fn lines(sync: &finish::SyncEnd, id: &str) -> Vec<Line> {
    let written = &sync.written;
    let is_lost = |it: &InView| sync.lost.iter().any(|lost| lost.at == it.at);
    // What was taken out of a live mount waits on nobody's wish.
    let waiting_in = |is_held: bool| -> Vec<String> {
        let mounts = written.waiting.iter().filter(|(at, _)| !is_lost(at) && at.is_held == is_held);
        mounts.flat_map(|(at, them)| them.iter().map(move |it| shown(at, &it.path))).collect()
    };
    let all = |of: &dyn Fn(&SyncReport) -> Vec<&Path>| -> Vec<String> {
        let paths = |(at, report): &OfMount<SyncReport>| -> Vec<String> {
            of(report).into_iter().map(|path| shown(at, path)).collect()
        };
        told(sync).flat_map(paths).collect()
    };
    let lost = overtaken(sync, id);
    let of_mount = |(at, report): &OfMount<SyncReport>| -> Vec<String> {
        let each = |it: &Refused| format!("{} ({})", shown(at, &it.path), refusal(it.reason));
        report.refused.iter().map(each).collect()
    };
    let refused: Vec<String> = told(sync).flat_map(of_mount).collect();
    let failed = all(&|it| it.failed.iter().map(|it| it.path.as_path()).collect());
    let stuck = all(&stuck);
    let mut held = all(&|it| it.held.iter().map(|it| it.path.as_path()).collect());
    held.extend(waiting_in(true));
    let held = innermost(&held);
    let of_held = if sync.rules.strict { Weight::Short } else { Weight::Told };
    let merged = all(&|it| {
        let merged = it.conflicts.iter().filter(|it| it.winner == Winner::Merged);
        merged.map(|it| it.path.as_path()).collect()
    });
    let of_waiting = if is_unasked(sync) { Weight::Told } else { Weight::Noted };
    let look = format!("endow diff {id}");
    let both = match written.clock {
        Clock::Steady => "not written back, changed outside too",
        Clock::SetBack => "not written back, maybe changed outside (the clock was set back)",
    };
    let rows = [
        (merged, Weight::Noted, "merged with changes outside", format!("endow undo {id}")),
        (innermost(&waiting_in(false)), of_waiting, "waiting", format!("{look}; endow apply {id}")),
        (lost, Weight::Short, both, look.clone()),
        (refused, Weight::Short, "refused", look.clone()),
        (stuck, Weight::Short, "not written back, for what is above stays as it is", look),
        (failed, Weight::Short, "could not be written", format!("endow apply {id}")),
        (all(&set_aside), Weight::Told, SET_ASIDE, "move it where it belongs".to_owned()),
        (held, of_held, "held for review", format!("endow apply {id} PATH")),
        (all(&|it| it.dropped().collect()), Weight::Noted, "dropped", "--sync-only".to_owned()),
    ];
    let full = rows.into_iter().filter(|(names, ..)| !names.is_empty());
    let full = full.map(|(names, weight, what, then)| Line {
        text: format!("{} {what}: {} ({then})", names.len(), some(&names)),
        weight,
    });
    let moved = moved(sync, id).into_iter();
    full.chain(moved.map(|it| Line { text: it.told(), weight: Weight::Short })).collect()
}

/// Returns what helps where both sides changed something.
fn hints(sync: &finish::SyncEnd, id: &str) -> Vec<String> {
    let both = format!(
        "`endow apply {id} --on-conflict guest PATH` takes the run's, `endow discard {id} PATH` yours"
    );
    let both = Some(both).filter(|_| !overtaken(sync, id).is_empty());
    both.into_iter().chain(moved(sync, id).iter().map(Moved::hint)).collect()
}

/// Names what both sides changed, and the host's stays.
fn overtaken(sync: &finish::SyncEnd, id: &str) -> Vec<String> {
    let of = |(at, report): &OfMount<SyncReport>| -> Vec<String> {
        moved::lost(report, id).into_iter().map(|path| named_lost(sync, &at.place(path))).collect()
    };
    told(sync).flat_map(of).collect()
}

/// Names a path, with why both versions did not become one where that was asked for.
fn named_lost(sync: &finish::SyncEnd, place: &Path) -> String {
    let why = sync.written.not_merged.get(place);
    let why = why.map(|why| format!(" (not merged: {})", why.words())).unwrap_or_default();
    format!("{}{why}", place.display())
}

/// Returns the repositories that both sides moved.
fn moved(sync: &finish::SyncEnd, id: &str) -> Vec<Moved> {
    told(sync).flat_map(|it| moved::of_mount(it, id)).collect()
}

/// Returns the mounts of which nothing is lost with what kept it.
fn told(sync: &finish::SyncEnd) -> impl Iterator<Item = &OfMount<SyncReport>> {
    let is_lost = |at: &InView| sync.lost.iter().any(|lost| lost.at == at.at);
    sync.written.mounts.iter().filter(move |(at, _)| !is_lost(at))
}

fn innermost(names: &[String]) -> Vec<String> {
    finish::innermost(names).into_iter().cloned().collect()
}

fn set_aside(report: &SyncReport) -> Vec<&Path> {
    report.set_aside.iter().map(PathBuf::as_path).collect()
}

/// Whether changes that wait do so because the run was ended: they were to be written back.
fn is_unasked(sync: &finish::SyncEnd) -> bool {
    sync.rules.mode == SyncMode::Apply
}

fn shown(at: &InView, path: &Path) -> String {
    at.place(path).display().to_string()
}

/// Returns the first names of a list.
pub(crate) fn some(names: &[String]) -> String {
    let mut text = names.iter().take(NAMES_MAX).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > NAMES_MAX {
        text.push_str(", ...");
    }
    text
}

/// Returns the report's `changes`.
pub(crate) fn changes(sync: &finish::SyncEnd) -> Value {
    let mut lists: [Vec<Value>; 4] = Default::default();
    let applied = sync.written.mounts.iter().map(|(at, report)| (at, &report.applied));
    let waiting = sync.written.waiting.iter().map(|(at, changes)| (at, changes));
    for (at, changes) in applied.chain(waiting) {
        for change in changes {
            let list = match change.kind {
                ChangeKind::Created => 0,
                ChangeKind::Modified | ChangeKind::Replaced(_) => 1,
                ChangeKind::Deleted => 2,
                ChangeKind::Attributes => 3,
            };
            if let Some(list) = lists.get_mut(list) {
                list.push(place(at, &change.path));
            }
        }
    }
    let truncated = lists.iter().any(|list| list.len() > LIST_MAX);
    for list in &mut lists {
        list.truncate(LIST_MAX);
    }
    let [created, modified, deleted, mode] = lists;
    json!({
        "created": created, "modified": modified, "deleted": deleted, "renamed": null,
        "mode": mode, "truncated": truncated,
    })
}

/// Returns the report's `sync`.
pub(crate) fn sync(sync: &finish::SyncEnd) -> Value {
    let mounts = &sync.written.mounts;
    let applied: usize = mounts.iter().map(|(_, report)| report.applied.len()).sum();
    let each = |of: &dyn Fn(&InView, &SyncReport) -> Vec<Value>| -> Vec<Value> {
        mounts.iter().flat_map(|(at, report)| of(at, report)).take(LIST_MAX).collect()
    };
    json!({
        "mode": sync.rules.mode.word(),
        "state": sync.state.map(RunState::word),
        "applied": applied,
        "dropped": mounts.iter().map(|(_, report)| report.dropped().count()).sum::<usize>(),
        "conflicts": each(&|at, report| {
            let one = |it: &endow_vfs::sync::Resolved| json!({
                "path": place(at, &it.path), "reason": conflict(it.conflict),
                "winner": winner(it.winner),
                "not_merged": sync.written.not_merged.get(&at.place(&it.path)).map(|why| why.words()),
            });
            report.conflicts.iter().map(one).collect()
        }),
        "refused": each(&|at, report| {
            let refused = report.refused.iter().map(|it| (&it.path, refusal(it.reason).to_owned()));
            let failed = report.failed.iter().map(|it| (&it.path, it.errno.to_string()));
            refused.chain(failed)
                .map(|(path, reason)| json!({"path": place(at, path), "reason": reason}))
                .collect()
        }),
        "held": each(&|at, report| {
            let one = |it: &endow_vfs::sync::HeldPath| {
                json!({"path": place(at, &it.path), "reason": held(&it.reason)})
            };
            report.held.iter().map(one).collect()
        }),
        "left_out": each(&|at, report| {
            report.left_out.iter().map(|it| place(at, left_out(it))).collect()
        }),
        "set_aside": each(&|at, report| {
            report.set_aside.iter().map(|it| place(at, it)).collect()
        }),
        "lost": sync.lost.iter().map(|lost| {
            let at: OsString = lost.at.as_path().into();
            json!({"path": report::text(&at), "reason": in_one_line(&lost.error)})
        }).collect::<Vec<_>>(),
        "gone": sync.written.gone.iter().map(|it| {
            let source: OsString = it.source.as_path().into();
            report::text(&source)
        }).collect::<Vec<_>>(),
        "unchangeable": sync.foreign.iter().take(LIST_MAX).map(|it| {
            let at: OsString = it.as_path().into();
            report::text(&at)
        }).collect::<Vec<_>>(),
        "ref": trees::reference(&sync.trees),
        "digest": trees::digest(&sync.trees),
    })
}

fn place(at: &InView, path: &Path) -> Value {
    let whole: OsString = at.place(path).into();
    report::text(&whole)
}

fn left_out(left: &LeftOut) -> &Path {
    match left {
        LeftOut::NotSelected(path)
        | LeftOut::Dropped(path)
        | LeftOut::NotEmpty(path)
        | LeftOut::Blocked(path)
        | LeftOut::Aborted(path) => path,
    }
}

fn winner(winner: Winner) -> &'static str {
    match winner {
        Winner::Host => "host",
        Winner::Guest => "guest",
        Winner::Merged => "merged",
    }
}

/// Returns why a change met another, in words.
pub(crate) fn conflict(conflict: Conflict) -> &'static str {
    match conflict {
        Conflict::Root => "the mount's root is another directory now",
        Conflict::Ancestor => "a directory above was replaced",
        Conflict::Changed => "changed outside",
        Conflict::Appeared => "appeared outside",
        Conflict::Made => "made or replaced outside",
        Conflict::Vanished => "vanished outside",
        Conflict::Database => "the database that it belongs to changed outside",
    }
}

/// Returns why a change is refused, in words.
pub(crate) fn refusal(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Device => "a device",
        Refusal::Socket => "a socket",
        Refusal::Fifo => "a FIFO",
        Refusal::SetId => "set-user-id or set-group-id",
        Refusal::Capability => "a file capability",
        Refusal::OverlayAttribute => "append-only or immutable, or an attribute of overlayfs",
        Refusal::LinkOut => "a link that leads out of the mount",
        Refusal::ForeignOwner => "it belongs to another user",
        Refusal::Reserved => "a name that endow uses itself",
        Refusal::Unreadable => "it can't be read",
        Refusal::Beyond => "a file system can't keep it, or has no room for its attributes",
        Refusal::Moved => "what was moved from here can't be written back",
        Refusal::Repository => {
            "what may be a part of a git repository is changed or taken away outside alone"
        }
        Refusal::Ancestor => "its directory is not written back",
        Refusal::MountPoint => "a mount of the host stands there",
        Refusal::Subvolume => "another subvolume, into which nothing can be renamed",
        Refusal::NotFile => "no regular file any more",
        Refusal::NotDirectory => "no directory",
    }
}

/// Returns why a change is held, in words.
pub(crate) fn held(held: &Held) -> String {
    match held {
        Held::Protected(pattern) => format!("protected: {pattern}"),
        Held::Denied(pattern) => format!("the host hides a name there: {pattern}"),
        Held::Moved(pattern) => format!("what was moved from here is held: {pattern}"),
    }
}
