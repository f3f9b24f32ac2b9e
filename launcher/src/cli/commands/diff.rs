//! `endow diff`.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use endow_vfs::fs::Kind;
use endow_vfs::state::RunState;
use endow_vfs::sync::{Change, ChangeKind};
use serde_json::{Value, json};

use crate::cli::args::DiffArgs;
use crate::cli::diff::{Counted, Look, Pair, count, patch, quoted, read, table};
use crate::cli::error::{CommandError, Kind as ErrorKind};
use crate::cli::kept::{Kept, Verb};
use crate::cli::output::Output;
use crate::cli::picked::{self, Picked};
use crate::cli::{json, synced};
use crate::finish::{Looked, Selection, Target};

/// The most entries of a list in JSON.
const LIST_MAX: usize = 10_000;

const DIFF: Verb = Verb {
    word: "show",
    states: &[RunState::Waiting, RunState::Interrupted, RunState::Applied],
    fits: |_| true,
};

/// One change that is shown.
struct Shown<'a> {
    /// Below the workspace, else without the leading slash: as `git apply` wants it.
    path: PathBuf,
    change: &'a Change,
    target: &'a Target,
}

/// Shows what a run changed.
pub(crate) fn run(args: &DiffArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let kept = Kept::list()?;
    let picked = picked::pick(&kept, &args.chosen, DIFF)?;
    let selection = picked.selection()?;
    if picked.record.state == RunState::Applied {
        return applied(&picked, &selection, args, output);
    }
    // Nothing was to be written back.
    let failed = |error| CommandError { kind: ErrorKind::Setup, ..error };
    let looked = picked.look().map_err(|error| match error.kind {
        ErrorKind::NotWrittenBack => failed(error),
        _ => error,
    })?;
    let shown = shown(&picked, &looked, &selection);
    if output.is_json() {
        output.json(&value(&picked, &shown, args));
    } else {
        show(&shown, args, output);
        tell(&shown, picked.run.id().as_str(), output);
    }
    Ok(ExitCode::from(u8::from(args.exit_code && !shown.is_empty())))
}

/// Returns the changes that are shown: not those of a directory's time, and no directory that is
/// shown by what is in it.
fn shown<'a>(picked: &'a Picked, looked: &'a [Looked], selection: &Selection) -> Vec<Shown<'a>> {
    let mut shown = Vec::new();
    for mount in looked {
        let Some(target) = picked.target(mount.number) else { continue };
        let changes = &mount.changes.changes;
        let above: BTreeSet<&Path> = changes.iter().filter_map(|it| it.path.parent()).collect();
        let implied = |change: &Change| {
            change.node() == Kind::Directory
                && matches!(change.kind, ChangeKind::Created | ChangeKind::Deleted)
                && above.contains(change.path.as_path())
        };
        let wanted = changes.iter().filter(|it| !it.is_trace() && !implied(it));
        let wanted = wanted.filter(|it| selection.takes(mount.number, &it.path));
        shown.extend(wanted.map(|change| {
            let path = shown_as(picked, target, &change.path);
            Shown { path, change, target }
        }));
    }
    shown
}

/// Returns a path as it is shown: below the workspace, else without the leading slash.
fn shown_as(picked: &Picked, target: &Target, path: &Path) -> PathBuf {
    let whole = target.path.as_path().join(path);
    let workspace = picked.record.workspace.as_ref();
    let below = workspace.and_then(|it| whole.strip_prefix(it.as_path()).ok());
    below.or_else(|| whole.strip_prefix("/").ok()).unwrap_or(&whole).to_owned()
}

/// Names what was written back. What stood there before is undo data, and the host goes on: there
/// are not two sides to compare.
fn applied(
    picked: &Picked,
    selection: &Selection,
    args: &DiffArgs,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let id = picked.run.id().as_str();
    if args.patch || args.stat {
        return Err(CommandError::new(
            ErrorKind::Usage,
            "only names are known of what was written back",
        )
        .about(id)
        .hint(format!("`endow diff --name-status {id}` shows them"))
        .hint("`--sync review` lets changes wait, to be looked at first"));
    }
    let ledger = picked.ledger()?;
    let mut names = Vec::new();
    for target in &picked.targets {
        let applied = ledger.applied(target.number);
        let wanted = applied.filter(|(path, _)| selection.takes(target.number, path));
        names.extend(wanted.map(|(path, kind)| (target, path.to_owned(), kind)));
    }
    names.sort_by(|(_, one, _), (_, other, _)| one.cmp(other));
    if names.is_empty() && selection.paths.is_some() {
        return Err(
            CommandError::new(ErrorKind::Usage, "not among what was written back").about(id)
        );
    }
    if output.is_json() {
        output.json(&applied_value(picked, &names));
    } else {
        let line = |(target, path, kind): &(&Target, PathBuf, ChangeKind)| {
            let path = shown_as(picked, target, path);
            format!("{}\t{}\n", word(*kind), quoted("", &path))
        };
        output.text(&names.iter().map(line).collect::<String>());
    }
    Ok(ExitCode::from(u8::from(args.exit_code && !names.is_empty())))
}

fn applied_value(picked: &Picked, names: &[(&Target, PathBuf, ChangeKind)]) -> Value {
    let one = |(target, path, kind): &(&Target, PathBuf, ChangeKind)| {
        json!({
            "path": json::path(&target.path.as_path().join(path)),
            "shown_as": json::path(&shown_as(picked, target, path)),
            "status": word(*kind).to_string(),
            "old": null, "new": null, "conflict": null, "refused": null,
        })
    };
    let changes: Vec<Value> = names.iter().take(LIST_MAX).map(one).collect();
    json!({
        "version": 1, "run": picked.run.id().as_str(), "changes": changes,
        "truncated": names.len() > LIST_MAX,
    })
}

/// Reads both sides of a change.
fn pair(shown: &Shown<'_>) -> Pair {
    let Shown { change, target, .. } = shown;
    let upper = target.upper.as_ref().map_or(target.root.as_fd(), AsFd::as_fd);
    Pair {
        old: read(target.root.as_fd(), &change.path, change.host.as_ref()),
        new: read(upper, &change.path, change.upper.as_ref()),
    }
}

fn show(shown: &[Shown<'_>], args: &DiffArgs, output: &Output) {
    let (terminal, color) = output.data_look();
    if args.name_status {
        output.text(&shown.iter().map(name_status).collect::<String>());
    }
    if args.stat {
        let rows: Vec<(PathBuf, Counted)> =
            shown.iter().map(|it| (it.path.clone(), count(&pair(it)))).collect();
        if !rows.is_empty() {
            output.text(&table(&rows, color));
        }
    }
    if args.patch || !(args.stat || args.name_status) {
        if args.stat && !shown.is_empty() {
            output.text("\n");
        }
        let look = Look { color, escaped: terminal };
        for it in shown {
            let mut bytes = beside(it).into_bytes();
            bytes.extend(patch(&it.path, &pair(it), look));
            if !output.bytes(&bytes) {
                return;
            }
        }
    }
}

fn letter(change: &Change) -> char {
    if change.differs.mode && change.kind == ChangeKind::Attributes {
        return 'M';
    }
    word(change.kind)
}

fn word(kind: ChangeKind) -> char {
    match kind {
        ChangeKind::Created => 'A',
        ChangeKind::Deleted => 'D',
        ChangeKind::Modified => 'M',
        ChangeKind::Replaced(_) => 'T',
        ChangeKind::Attributes => 'P',
    }
}

fn name_status(shown: &Shown<'_>) -> String {
    let slash = if shown.change.node() == Kind::Directory { "/" } else { "" };
    let mut path = shown.path.clone().into_os_string();
    path.push(slash);
    format!("{}\t{}\n", letter(shown.change), quoted("", Path::new(&path)))
}

/// What git's format has no place for, as a line that it skips.
fn beside(shown: &Shown<'_>) -> String {
    let change = shown.change;
    let name = quoted("", &shown.path);
    let mode = |seen: Option<endow_vfs::sync::Seen>| seen.map(|seen| seen.mode);
    let what = match (change.node(), change.kind, mode(change.host), mode(change.upper)) {
        (Kind::Directory, ChangeKind::Created, ..) => "directory made".to_owned(),
        (Kind::Directory, ChangeKind::Deleted, ..) => "directory removed".to_owned(),
        (Kind::Directory, ChangeKind::Replaced(_), ..) => "directory in its place".to_owned(),
        (_, ChangeKind::Attributes, Some(old), Some(new)) if old != new => {
            format!("mode {old:04o} -> {new:04o}")
        }
        (_, ChangeKind::Attributes, ..) => "time or attributes only".to_owned(),
        (Kind::Other, ..) => "no file, directory or link".to_owned(),
        _ => return String::new(),
    };
    format!("# {name}: {what}\n")
}

fn tell(shown: &[Shown<'_>], id: &str, output: &Output) {
    let conflicts = shown.iter().filter(|it| it.change.conflict.is_some()).count();
    let refused = shown.iter().filter(|it| it.change.refused.is_some()).count();
    if conflicts > 0 {
        output.notice(&format!(
            "{conflicts} of these changed outside too (`endow diff {id} --json`)"
        ));
    }
    if refused > 0 {
        output.notice(&format!(
            "{refused} of these can't be written back (`endow diff {id} --json`)"
        ));
    }
}

fn value(picked: &Picked, shown: &[Shown<'_>], args: &DiffArgs) -> Value {
    let changes: Vec<Value> = shown.iter().take(LIST_MAX).map(|it| of_change(it, args)).collect();
    json!({
        "version": 1, "run": picked.run.id().as_str(), "changes": changes,
        "truncated": shown.len() > LIST_MAX,
    })
}

fn of_change(shown: &Shown<'_>, args: &DiffArgs) -> Value {
    let change = shown.change;
    let side = |seen: Option<endow_vfs::sync::Seen>| {
        seen.map(|seen| {
            json!({"kind": kind(seen.kind), "mode": format!("{:04o}", seen.mode), "size": seen.size})
        })
    };
    let place = shown.target.path.as_path().join(&change.path);
    let mut value = json!({
        "path": json::path(&place),
        "shown_as": json::path(&shown.path),
        "status": letter(change).to_string(),
        "old": side(change.host),
        "new": side(change.upper),
        "conflict": change.conflict.map(synced::conflict),
        "refused": change.refused.map(synced::refusal),
    });
    if let (true, Some(object)) = (args.stat || args.patch, value.as_object_mut()) {
        let pair = pair(shown);
        if args.stat {
            object.insert("counted".to_owned(), counted(count(&pair)));
        }
        if args.patch {
            let bytes = patch(&shown.path, &pair, Look::default());
            object.insert("patch".to_owned(), json::text(&bytes));
        }
    }
    value
}

fn counted(counted: Counted) -> Value {
    match counted {
        Counted::Lines { added, removed } => json!({"added": added, "removed": removed}),
        Counted::Bytes { old, new } => json!({"old_bytes": old, "new_bytes": new}),
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Directory => "directory",
        Kind::Symlink => "symlink",
        Kind::Other => "other",
    }
}
