//! `endow diff`.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use endow_vfs::fs::{Kind, OsFs};
use endow_vfs::git_tree::Algorithm;
use endow_vfs::state::RunState;
use endow_vfs::sync::{self, Change, ChangeKind, Done};
use serde_json::{Value, json};

use crate::cli::args::DiffArgs;
use crate::cli::diff::change::{Shown, Side, pair};
use crate::cli::diff::trees::ShownTrees;
use crate::cli::diff::{Counted, Look, count, fold, is_git_s_own, patch, quoted, table};
use crate::cli::error::{CommandError, Kind as ErrorKind};
use crate::cli::exit;
use crate::cli::output::Output;
use crate::cli::output::json_text;
use crate::cli::report::write_back;
use crate::cli::runs::locked::{self, Picked};
use crate::cli::runs::{Act, Kept, Verb};
use crate::finish::{Gone, Looked, Selection, Target};
use crate::trees::Wanted;

/// The most entries of a list in JSON.
const LIST_MAX: usize = 10_000;

const DIFF: Verb = Verb {
    act: Act::Show,
    states: &[RunState::Waiting, RunState::Interrupted, RunState::Applied],
    fits: |_| true,
};

/// Shows what a run changed.
pub(crate) fn run(args: &DiffArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let kept = Kept::list()?;
    let mut picked = locked::pick(&kept, &args.chosen, DIFF, output)?;
    picked.capture_trees(output)?;
    let selection = picked.selection_beside_trees()?;
    let trees = ShownTrees::export(&picked, wanted(args, output))?;
    let is_applied = picked.record.state == RunState::Applied;
    let looked = if is_applied { Vec::new() } else { look(&picked)? };
    // What became of a live workspace waits for nobody, whatever else does.
    let mut shown = applied(&picked, &selection, is_applied)?;
    shown.extend(waiting(&picked, &looked, &selection));
    shown.sort_by(|one, other| one.place.cmp(&other.place));
    shown.extend(trees.shown());
    if is_applied {
        picked.must_show(&|path| shown.iter().any(|it| it.place.starts_with(path)))?;
    }
    let is_of_trees = selection.paths.as_ref().is_some_and(Vec::is_empty);
    let gone =
        if is_applied { picked.gone_applied(&selection)? } else { picked.gone_waiting(&selection) };
    if shown.is_empty()
        && gone.is_empty()
        && (is_of_trees || is_applied && selection.paths.is_some())
    {
        let what = if is_applied { "what was written back" } else { "what waits" };
        let error = CommandError::new(ErrorKind::Usage, format!("not among {what}"));
        return Err(error.about(picked.run.id()));
    }
    let code = all(&picked, (&shown, &trees, &gone), args, output);
    let is_short = locked::tell_gone(&gone, output);
    Ok(if is_short { ExitCode::from(exit::NOT_WRITTEN_BACK) } else { code })
}

/// Contents are read when they are shown or counted.
fn wanted(args: &DiffArgs, output: &Output) -> Wanted {
    let is_names = args.name_status || output.is_json();
    if is_names && !args.stat && !args.patch { Wanted::Kinds } else { Wanted::Contents }
}

/// Nothing was to be written back.
fn look(picked: &Picked) -> Result<Vec<Looked>, CommandError> {
    let ledger = picked.ledger()?;
    let is_live = |number, path: &Path| {
        picked.is_live(number) && ledger.applied(number).any(|(it, _)| it.starts_with(path))
    };
    picked.look_beside(&is_live).map_err(|error| match error.kind {
        ErrorKind::NotWrittenBack => CommandError { kind: ErrorKind::Setup, ..error },
        _ => error,
    })
}

fn all(
    picked: &Picked,
    (shown, trees, gone): (&[Shown<'_>], &ShownTrees<'_>, &[&Gone]),
    args: &DiffArgs,
    output: &Output,
) -> ExitCode {
    if output.is_json() {
        output.json(&value(picked, (shown, trees, gone), args));
    } else {
        let is_whole =
            output.is_detailed() || picked.paths.iter().any(|it| is_git_s_own(it.as_path()));
        let (lines, beside) =
            if is_whole { (Vec::new(), shown.iter().collect()) } else { fold(shown) };
        if args.name_status {
            output.text(&shown.iter().map(name_status).collect::<String>());
        }
        show(&beside, (&lines, &trees.beside()), args, output);
        tell(shown, picked.run.id().as_str(), output);
        if !lines.is_empty() && (args.stat || shows_patch(args)) {
            let id = picked.run.id();
            output.notice(&format!(
                "repositories are summed up (`endow diff -v {id}` shows each file)"
            ));
        }
        trees.tell(picked.run.id().as_str(), output);
    }
    ExitCode::from(u8::from(args.exit_code && !shown.is_empty()))
}

/// Returns the changes that are shown: not those of a directory's time, and no directory that is
/// shown by what is in it.
fn waiting<'a>(picked: &'a Picked, looked: &'a [Looked], selection: &Selection) -> Vec<Shown<'a>> {
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
        shown.extend(wanted.map(|change| waits(picked, target, change)));
    }
    shown
}

fn waits<'a>(picked: &Picked, target: &'a Target, change: &Change) -> Shown<'a> {
    let (root, path) = (target.root.as_fd(), &change.path);
    let upper = target.upper.as_ref().map_or(root, AsFd::as_fd);
    Shown {
        path: shown_as(picked, target, path),
        place: target.path.as_path().join(path),
        kind: change.kind,
        old: Side::itself(change.host, root, path.clone()),
        new: Side::itself(change.upper, upper, path.clone()),
        conflict: change.conflict,
        refused: change.refused,
        is_changed_since: false,
        is_held: target.is_held,
        algorithm: Algorithm::default(),
    }
}

/// Returns a path as it is shown: below the workspace, else without the leading slash.
fn shown_as(picked: &Picked, target: &Target, path: &Path) -> PathBuf {
    let whole = target.path.as_path().join(path);
    let workspace = picked.record.workspace.as_ref();
    let below = workspace.and_then(|it| whole.strip_prefix(it.as_path()).ok());
    below.or_else(|| whole.strip_prefix("/").ok()).unwrap_or(&whole).to_owned()
}

/// Returns what was written back, or became of a live workspace: what stood there before is undo
/// data, and what stands there now is the run's unless somebody changed it since. Where more of the
/// run waits, of the live workspace alone.
fn applied<'a>(
    picked: &'a Picked,
    selection: &Selection,
    all: bool,
) -> Result<Vec<Shown<'a>>, CommandError> {
    let ledger = picked.ledger()?;
    let mut shown = Vec::new();
    let targets = picked.targets.open.iter();
    for target in targets.filter(|target| all || picked.is_live(target.number)) {
        let done = sync::done(&OsFs, &ledger, target.number, target.root.as_fd());
        let made: BTreeSet<PathBuf> =
            done.iter().filter_map(|it| it.path.parent().map(Path::to_owned)).collect();
        let implied = |done: &Done| {
            let is_directory = done.new.or(done.old).is_some_and(|it| it.kind == Kind::Directory);
            let comes_or_goes = matches!(done.kind, ChangeKind::Created | ChangeKind::Deleted);
            is_directory && comes_or_goes && made.contains(&done.path)
        };
        let wanted = done.into_iter().filter(|it| selection.takes(target.number, &it.path));
        let wanted = wanted.filter(|it| !implied(it));
        shown.extend(wanted.map(|done| stands(picked, target, done)));
    }
    Ok(shown)
}

fn stands<'a>(picked: &'a Picked, target: &'a Target, done: Done) -> Shown<'a> {
    let (root, path) = (target.root.as_fd(), done.path);
    let old = match done.original {
        Some(original) => Side::itself(done.old, picked.run.as_fd(), original),
        // Only attributes changed: the content is the same.
        None => Side::itself(done.old, root, path.clone()),
    };
    Shown {
        path: shown_as(picked, target, &path),
        place: target.path.as_path().join(&path),
        kind: done.kind,
        old,
        new: Side::itself(done.new, root, path),
        conflict: None,
        refused: None,
        is_changed_since: done.is_changed_since,
        is_held: false,
        algorithm: Algorithm::default(),
    }
}

fn show(
    shown: &[&Shown<'_>],
    (repositories, more): (&[String], &str),
    args: &DiffArgs,
    output: &Output,
) {
    let (terminal, color) = output.data_look();
    let lines = |before: &str| -> String {
        repositories.iter().map(|line| format!("{before} {line}\n")).collect()
    };
    if args.stat {
        let rows: Vec<(PathBuf, Counted)> =
            shown.iter().map(|it| (it.path.clone(), count(&pair(it)))).collect();
        if !rows.is_empty() {
            output.text(&table(&rows, color));
        }
        output.text(&lines(""));
    }
    if shows_patch(args) {
        if args.stat && !shown.is_empty() {
            output.text("\n");
        }
        for it in shown {
            let (algorithm, remark) = (it.algorithm, is_git_s_own(&it.path));
            let look = Look { color, escaped: terminal, remark, algorithm };
            let mut bytes = beside(it).into_bytes();
            bytes.extend(patch(&it.path, &pair(it), look));
            if !output.bytes(&bytes) {
                return;
            }
        }
        output.text(&(lines("#") + more));
    }
}

/// Names alone are all listed; what stands for several is in a patch and in a table.
fn shows_patch(args: &DiffArgs) -> bool {
    args.patch || !(args.stat || args.name_status)
}

fn letter(shown: &Shown<'_>) -> char {
    let modes = [&shown.old, &shown.new].map(|side| side.seen.map(|seen| seen.mode));
    if shown.kind == ChangeKind::Attributes && modes[0] != modes[1] {
        return 'M';
    }
    word(shown.kind)
}

/// What kind of file the change leaves, or took away.
fn node(shown: &Shown<'_>) -> Kind {
    shown.new.seen.or(shown.old.seen).map_or(Kind::Other, |seen| seen.kind)
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
    let slash = if node(shown) == Kind::Directory { "/" } else { "" };
    let mut path = shown.path.clone().into_os_string();
    path.push(slash);
    format!("{}\t{}\n", letter(shown), quoted("", Path::new(&path)))
}

/// What git's format has no place for, as a line that it skips.
fn beside(shown: &Shown<'_>) -> String {
    let name = quoted("", &shown.path);
    if shown.is_changed_since {
        return format!("# {name}: {}, and changed since\n", done_to_it(shown.kind));
    }
    let mode = |side: &Side<'_>| side.seen.map(|seen| seen.mode);
    let what = match (node(shown), shown.kind, mode(&shown.old), mode(&shown.new)) {
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

fn done_to_it(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Created => "created",
        ChangeKind::Deleted => "deleted",
        ChangeKind::Modified | ChangeKind::Replaced(_) => "modified",
        ChangeKind::Attributes => "mode, time or attributes",
    }
}

fn tell(shown: &[Shown<'_>], id: &str, output: &Output) {
    let conflicts = shown.iter().filter(|it| it.conflict.is_some()).count();
    let refused = shown.iter().filter(|it| it.refused.is_some()).count();
    if conflicts > 0 {
        output.notice(&format!(
            "{conflicts} of these changed outside too (`endow diff {id} --json`)"
        ));
    }
    let held = shown.iter().filter(|it| it.is_held).count();
    if held > 0 && held < shown.len() {
        let names = shown.iter().filter(|it| it.is_held).map(|it| it.path.display().to_string());
        let names = write_back::some(&names.collect::<Vec<_>>());
        output
            .notice(&format!("{held} of these held for review: {names} (`endow apply {id} PATH`)"));
    }
    if refused > 0 {
        output.notice(&format!(
            "{refused} of these can't be written back (`endow diff {id} --json`)"
        ));
    }
}

fn value(
    picked: &Picked,
    (shown, trees, gone): (&[Shown<'_>], &ShownTrees<'_>, &[&Gone]),
    args: &DiffArgs,
) -> Value {
    let gone: Vec<Value> = gone.iter().map(|it| json_text::path(it.source.as_path())).collect();
    let changes: Vec<Value> = shown.iter().take(LIST_MAX).map(|it| of_change(it, args)).collect();
    json!({
        "version": 1, "run": picked.run.id().as_str(), "changes": changes,
        "truncated": shown.len() > LIST_MAX, "trees": trees.value(), "gone": gone,
    })
}

fn of_change(shown: &Shown<'_>, args: &DiffArgs) -> Value {
    let side = |side: &Side<'_>| {
        side.seen.map(|seen| {
            json!({"kind": kind(seen.kind), "mode": format!("{:04o}", seen.mode), "size": seen.size})
        })
    };
    let mut value = json!({
        "path": json_text::path(&shown.place),
        "shown_as": json_text::path(&shown.path),
        "status": letter(shown).to_string(),
        "old": side(&shown.old),
        "new": side(&shown.new),
        "conflict": shown.conflict.map(write_back::conflict),
        "refused": shown.refused.map(write_back::refusal),
        "changed_since": shown.is_changed_since,
        "held": shown.is_held,
    });
    if let (true, Some(object)) = (args.stat || args.patch, value.as_object_mut()) {
        let pair = pair(shown);
        if args.stat {
            object.insert("counted".to_owned(), counted(count(&pair)));
        }
        if args.patch {
            let look = Look { algorithm: shown.algorithm, ..Look::default() };
            let bytes = patch(&shown.path, &pair, look);
            object.insert("patch".to_owned(), json_text::text(&bytes));
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
