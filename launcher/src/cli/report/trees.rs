//! What became of copy-on-write mounts of trees, in words and in the report.

use std::path::PathBuf;

use endow_policy::in_one_line;
use endow_vfs::state::LandedReference;
use endow_vfs::working_copy::{Captured, ChangedPath, RefusedPath};
use serde_json::{Value, json};

use crate::cli::output::Output;
use crate::cli::output::json_text;
use crate::cli::report;
use crate::finish::{TakenBack, TreeEnd, TreeKind};

/// The most names that one line lists.
const NAMES_MAX: usize = 3;
/// Digits of a commit that a line shows.
const SHORT: usize = 12;

/// How a line is told.
type Tell = fn(&Output, &str);

/// Says where results are, and those that wait as `waits` does; returns whether something that was to be written
/// back was not.
pub(crate) fn say(trees: &[TreeEnd], (id, waits): (&str, Tell), output: &Output) -> bool {
    for end in trees {
        if let Some(captured) = &end.captured {
            say_result(end, captured, (id, waits), output);
        }
        if let Some(error) = &end.error {
            let what = match end.landed.first() {
                Some(landed) => format!("not as was asked, but in {}", landed.name),
                None if end.has_landed() => "not as was asked".to_owned(),
                None => "its changes wait".to_owned(),
            };
            output.problem(&format!("{}: {what}", end.at), error);
        }
    }
    trees.iter().any(TreeEnd::is_short)
}

fn say_result(end: &TreeEnd, captured: &Captured, (id, waits): (&str, Tell), output: &Output) {
    let at = &end.at;
    for LandedReference { name, new, .. } in &end.landed {
        let commit = new.get(..SHORT).unwrap_or(new);
        output.notice(&format!("{at}: {} in {name} ({commit})", changes(captured.changed)));
    }
    if let Some(digest) = &end.stored {
        output.notice(&format!("{at}: {} in {digest}", changes(captured.changed)));
    }
    if !end.has_landed() && end.error.is_none() && captured.changed > 0 {
        let then = format!("endow diff {id}; endow apply {id}");
        waits(output, &format!("{at}: {} waiting ({then})", changes(captured.changed)));
    }
    let names = |paths: Vec<&PathBuf>| -> String {
        let shown: Vec<_> =
            paths.iter().take(NAMES_MAX).map(|it| it.display().to_string()).collect();
        let more = if paths.len() > NAMES_MAX { ", ..." } else { "" };
        format!("{}{more}", shown.join(", "))
    };
    if !captured.ignored.is_empty() {
        let (count, shown) = (captured.ignored.len(), names(captured.ignored.iter().collect()));
        output.notice(&format!("{at}: {count} left out, git ignores them: {shown}"));
    }
    if !captured.refused.is_empty() {
        let count = captured.refused.len();
        let shown = names(captured.refused.iter().map(|it| &it.path).collect());
        let what = match end.kind {
            TreeKind::Git => "commit",
            TreeKind::Cas => "tree",
        };
        output.warning(&format!("{at}: {count} in no {what}: {shown} (endow diff {id})"));
    }
}

fn changes(count: u64) -> String {
    if count == 1 { "1 change".to_owned() } else { format!("{count} changes") }
}

/// Says which references could not be taken back; returns whether there were any.
pub(crate) fn say_taken_back(trees: &[TakenBack], output: &Output) -> bool {
    for (at, kind, result) in trees {
        match result {
            Ok(()) if *kind == TreeKind::Cas => {
                output.notice(&format!("{at}: the store keeps the new tree no longer"));
            }
            Ok(()) => output.notice(&format!("{at}: the references are what they were")),
            Err(error) => output.problem(&format!("{at}: left alone"), error),
        }
    }
    trees.iter().any(|(_, _, result)| result.is_err())
}

/// Returns the report's `trees`.
pub(crate) fn value(trees: &[TreeEnd]) -> Value {
    trees.iter().map(one).collect()
}

/// Returns the report's `sync.ref`.
pub(crate) fn reference(trees: &[TreeEnd]) -> Option<&str> {
    trees.iter().find_map(|end| Some(end.landed.first()?.name.as_str()))
}

/// Returns the report's `sync.digest`.
pub(crate) fn digest(trees: &[TreeEnd]) -> Option<&str> {
    trees.iter().find_map(|end| end.stored.as_deref())
}

fn one(end: &TreeEnd) -> Value {
    let at = report::text(end.at.as_path().as_os_str());
    let landed = end.landed.iter();
    let landed: Vec<Value> =
        landed.map(|it| json!({"name": it.name, "old": it.old, "new": it.new})).collect();
    let tip = end.captured.as_ref().map(|it| &it.tip);
    let is_made = end.captured.as_ref().is_some_and(|it| it.is_made);
    json!({
        "at": at,
        "commit": tip.filter(|_| end.kind == TreeKind::Git),
        "digest": tip.filter(|_| end.kind == TreeKind::Cas),
        "is_commit_made": end.kind == TreeKind::Git && is_made,
        "references": landed,
        "changed": end.captured.as_ref().map_or(0, |it| it.changed),
        "changes": end.captured.iter().flat_map(|it| &it.changes).map(changed).collect::<Vec<_>>(),
        "ignored": end.captured.iter().flat_map(|it| &it.ignored).map(|it| json_text::path(it)).collect::<Vec<_>>(),
        "refused": end.captured.iter().flat_map(|it| &it.refused).map(refused).collect::<Vec<_>>(),
        "error": end.error.as_ref().map(|error| in_one_line(error)),
    })
}

fn changed(ChangedPath { path, kind }: &ChangedPath) -> Value {
    json!({"path": json_text::path(path), "kind": kind})
}

fn refused(RefusedPath { path, why }: &RefusedPath) -> Value {
    json!({"path": json_text::path(path), "reason": why})
}
