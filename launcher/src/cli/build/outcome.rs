//! From what a worker says to a result.

use std::path::Path;

use endow_policy::Action;
use endow_vfs::action::{ActionResult, Left, LeftNode, left_at};
use endow_vfs::cas::{Digest, Publishing};
use rustix::process::Signal;

use super::inputs::digest;
use super::order::{Done, End};
use crate::cli::error::{CommandError, failed};

/// Why the kernel ends a command with SIGSYS.
const FOREIGN: &str = "SIGSYS: the sandbox of an action runs no 32-bit program, and no system call of another architecture";

/// What an action came to.
pub(super) enum Came {
    /// It left its outputs.
    Result(ActionResult),
    /// It ended so, or left other things than it should.
    Failure(Failure),
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// One line.
    pub(super) what: String,
    /// What would help.
    pub(super) hints: Vec<String>,
    /// What the command wrote: standard output and error.
    pub(super) streams: Option<[Digest; 2]>,
}

impl Failure {
    /// Takes an error for one.
    pub(super) fn of(error: &CommandError) -> Self {
        let object = error.object.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
        let causes = error.causes.iter().cloned();
        let hints = causes.chain(error.hints.iter().map(|hint| of_builds(hint))).collect();
        Self { what: format!("{}{object}", error.message), hints, streams: None }
    }
}

/// A build has no options for losses: its policy accepts them.
fn of_builds(hint: &str) -> String {
    let word = hint.strip_prefix("`--best-effort ").and_then(|it| it.split_once('`'));
    word.map_or_else(
        || hint.to_owned(),
        |(word, rest)| format!("`best_effort = [\"{word}\"]` under `[require]`{rest}"),
    )
}

/// Judges what a command left.
pub(super) fn judge(
    action: &Action,
    done: &Done,
    publishing: &Publishing<'_>,
) -> Result<Came, CommandError> {
    let streams = [digest(&done.stdout)?, digest(&done.stderr)?];
    let failure =
        |what: String, hints| Came::Failure(Failure { what, hints, streams: Some(streams) });
    if let Some((what, hints)) = ended(done.end) {
        return Ok(failure(what, hints));
    }
    if let Some((path, why)) = done.refused.first() {
        let what = format!("{path} can't be kept: {why}");
        let more = done.refused.len().checked_sub(1).filter(|more| *more > 0);
        let hints = more.map(|more| format!("nor can {more} more of its outputs"));
        return Ok(failure(what, hints.into_iter().collect()));
    }
    let tree = digest(&done.tree)?;
    let mut outputs = Vec::new();
    for output in action.outputs.iter().map(|it| &it.value) {
        let path = output.path.as_str();
        let node = left_at(publishing, &tree, path);
        let node = node.map_err(|error| failed("can't read what the command left", &error))?;
        let is_directory = matches!(node, Some(LeftNode::Directory { .. }));
        match node {
            None => {
                let hint = match done.changed.as_slice() {
                    [] => "it made nothing".to_owned(),
                    changed => format!("it made {}", listed(changed)),
                };
                return Ok(failure(format!("it did not make {path}"), vec![hint]));
            }
            Some(_) if is_directory != output.is_directory => {
                let (is, hint) = if output.is_directory {
                    ("no directory", format!("write `{path}`, without the `/`"))
                } else {
                    ("a directory", format!("write `{path}/`"))
                };
                return Ok(failure(format!("{path} is {is}"), vec![hint]));
            }
            Some(node) => outputs.push(Left { path: path.to_owned(), node }),
        }
    }
    outputs.sort_unstable();
    let [stdout, stderr] = streams;
    Ok(Came::Result(ActionResult { exit_code: 0, stdout, stderr, outputs }))
}

/// Says how a command failed, and what would help; `None` when it did not.
fn ended(end: End) -> Option<(String, Vec<String>)> {
    let (what, hint) = match end {
        End::Exited(0) => return None,
        End::Exited(code) => (format!("exit code {code}"), None),
        End::Signaled(signal) => {
            let is_refused = signal == Signal::SYS.as_raw();
            (format!("signal {signal}"), is_refused.then_some(FOREIGN))
        }
        End::TimedOut => ("its time was over".to_owned(), None),
        End::LayerFull => ("it left more than `[limits]` lets a layer hold".to_owned(), None),
        End::OutOfMemory => ("it had more memory than `[limits]` allows".to_owned(), None),
    };
    Some((what, hint.into_iter().map(str::to_owned).collect()))
}

/// Returns whether a result has the outputs of an action, each of its kind, and no others: it may be anybody's.
pub(super) fn is_of(action: &Action, result: &ActionResult) -> bool {
    let mut outputs: Vec<(&str, bool)> =
        action.outputs.iter().map(|it| (it.value.path.as_str(), it.value.is_directory)).collect();
    outputs.sort_unstable();
    outputs.dedup();
    let left = result.outputs.iter();
    let left = left.map(|it| (it.path.as_str(), matches!(it.node, LeftNode::Directory { .. })));
    result.exit_code == 0 && left.eq(outputs)
}

/// Returns what an action left besides its outputs, which is dropped.
pub(super) fn dropped(action: &Action, changed: &[String]) -> Vec<String> {
    let is_output = |path: &String| {
        let path = Path::new(path);
        let mut outputs = action.outputs.iter().map(|it| Path::new(it.value.path.as_str()));
        // A directory that leads to an output is no more than that.
        outputs.any(|output| path.starts_with(output) || output.starts_with(path))
    };
    changed.iter().filter(|path| !is_output(path)).cloned().collect()
}

/// Names a few.
pub(super) fn listed(paths: &[String]) -> String {
    const MOST: usize = 5;
    let named = paths.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    match paths.len().checked_sub(MOST) {
        None | Some(0) => named,
        Some(more) => format!("{named} and {more} more"),
    }
}
