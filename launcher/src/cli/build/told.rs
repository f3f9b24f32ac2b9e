//! What a build says of itself.

use std::os::fd::AsFd;

use endow_policy::Action;
use endow_vfs::action::ActionResult;
use endow_vfs::cas::{Digest, Store};
use serde_json::{Value, json};

use super::outcome::{Failure, listed};
use super::schedule::State;
use crate::cli::args::BuildArgs;
use crate::cli::error::{CommandError, failed, of_store};
use crate::cli::output::{Output, printable};
use crate::trees;

/// How a result came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was known.
    Cached,
    /// The command was executed.
    Executed,
}

/// What became of one action.
pub(super) struct Told {
    /// Its name.
    pub(super) name: String,
    /// What is known of it.
    pub(super) state: State,
    /// How its result came about.
    pub(super) origin: Option<Origin>,
    /// Its digest, once it was known.
    pub(super) digest: Option<Digest>,
    /// Its result.
    pub(super) result: Option<ActionResult>,
    /// Why there is none.
    pub(super) failure: Option<Failure>,
    /// What its first execution came to, when there are to be two.
    pub(super) first: Option<ActionResult>,
    /// Inputs that it never read, when that was looked at.
    pub(super) unread: Vec<String>,
    /// What it left besides its outputs.
    pub(super) dropped: Vec<String>,
    /// How long it took, in milliseconds.
    pub(super) took_ms: u64,
}

impl Told {
    /// Begins with what is known of an action before anything was done.
    pub(super) fn of(action: &Action) -> Self {
        Self {
            name: action.name.clone(),
            state: State::Unwanted,
            origin: None,
            digest: None,
            result: None,
            failure: None,
            first: None,
            unread: Vec::new(),
            dropped: Vec::new(),
            took_ms: 0,
        }
    }
}

/// Hands on what the command of an action wrote, byte for byte, as often as its result is used.
pub(super) fn streams(
    streams: [Digest; 2],
    store: &Store<'_>,
    output: &Output,
) -> Result<(), CommandError> {
    let [stdout, stderr] = streams;
    for (digest, is_error) in [(stdout, false), (stderr, true)] {
        if digest.size == 0 {
            continue;
        }
        let file = store.open_object(&digest).map_err(|error| of_store(&error))?;
        let told = trees::read_content(file.as_fd(), |bytes| {
            if is_error || output.is_json() {
                output.error_bytes(bytes);
            } else {
                output.bytes(bytes);
            }
            Ok(())
        });
        told.map_err(|error| failed("can't read what a command wrote", &error))?;
    }
    Ok(())
}

/// Says where a result comes from, and why not from the cache.
pub(super) fn succeeded(action: &Action, origin: Origin, args: &BuildArgs, output: &Output) {
    let how = match origin {
        Origin::Cached => "from the cache",
        Origin::Executed if args.no_cache => "executed (`--no-cache`)",
        Origin::Executed if args.check => "executed (`--check`)",
        Origin::Executed if !action.is_cached => "executed (`cache = false`)",
        Origin::Executed => "executed (no result was known of what it sees)",
    };
    output.detail(&format!("{}: {how}", action.name));
}

/// Says why an action failed.
pub(super) fn failure(name: &str, failure: &Failure, output: &Output) {
    output.warning(&format!("{name}: {}", failure.what));
    for hint in &failure.hints {
        output.hint(hint);
    }
}

/// Says which inputs an action never read.
pub(super) fn unread(name: &str, paths: &[String], output: &Output) {
    if !paths.is_empty() {
        output.remark(&format!("{name}: never read: {}", listed(paths)));
    }
}

/// Says what an action left that nobody gets.
pub(super) fn dropped(name: &str, paths: &[String], output: &Output) {
    if !paths.is_empty() {
        output.remark(&format!("{name}: not among its outputs, and dropped: {}", listed(paths)));
    }
}

/// Says what became of all.
pub(super) fn summary(all: &[Told], output: &Output) {
    if output.is_json() {
        let actions: Vec<Value> =
            all.iter().filter(|it| it.state != State::Unwanted).map(value).collect();
        return output.json(&json!({"version": 1, "actions": actions}));
    }
    let is = |origin: Origin| all.iter().filter(|it| it.origin == Some(origin)).count();
    let of = |state: State| all.iter().filter(|it| it.state == state).count();
    let counts = [
        (is(Origin::Executed), "executed"),
        (is(Origin::Cached), "from the cache"),
        (of(State::Failed), "failed"),
        (of(State::Skipped), "not tried"),
    ];
    let told = counts.iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told.map(|(count, what)| format!("{count} {what}")).collect();
    output.remark(&format!("actions: {}", told.join(", ")));
}

fn value(told: &Told) -> Value {
    let state = match (told.state, told.origin) {
        (State::Succeeded, Some(Origin::Cached)) => "cached",
        (State::Succeeded, _) => "executed",
        (State::Failed, _) => "failed",
        _ => "skipped",
    };
    let outputs = told.result.iter().flat_map(|it| &it.outputs);
    let outputs: Vec<&str> = outputs.map(|it| it.path.as_str()).collect();
    json!({
        "name": told.name,
        "state": state,
        "action": told.digest.map(|it| it.to_string()),
        "outputs": outputs,
        "dropped": told.dropped,
        "unread": told.unread,
        "failure": told.failure.as_ref().map(|it| printable(&it.what)),
        "hints": told.failure.as_ref().map(|it| &it.hints),
        "took_ms": told.took_ms,
    })
}
