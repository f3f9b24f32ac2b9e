//! One action: its contents come from the server, it is executed in a sandbox that shows them and nothing
//! else, and what it left goes back.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use endow_vfs::action::{RequestedAction, RequestedCommand, RequestedEnd, RequestedResult};
use endow_vfs::cas::{Digest, Publishing, Store, closure};
use endow_vfs::fs::OsFs;

use super::options::Options;
use super::{platform, streams};
use crate::adapters::{Given, RemoteCache, remote_order};
use crate::cli::args::ActionPlace;
use crate::cli::build::{Allowance, Done, End, Order, Performer};
use crate::cli::cache;
use crate::cli::error::{CommandError, Kind, failed, of_store};
use crate::cli::exit;
use crate::cli::output::Output;
use crate::cli::sources::surroundings::{self, Surroundings};
use crate::trees;

/// The most bytes of a command: `execve(2)` takes less.
const COMMAND_MAX: u64 = 16 << 20;
/// How often it is looked whether the store is too large: that costs as much as there is in it.
const LOOKING: Duration = Duration::from_mins(10);
/// A file of the cache's directory that tells when that was.
const LOOKED: &str = "buildbox-run";

/// Executes an action; returns the bytes of its result.
pub(super) fn execute(
    message: &[u8],
    partial: Vec<u8>,
    options: &Options,
    output: &Output,
) -> Result<Vec<u8>, CommandError> {
    let action = RequestedAction::decode(message);
    let action = action.map_err(|error| failed("can't read the action", &error))?;
    let surroundings = surroundings::of_account()?;
    let place = trees::store(&surroundings.dirs.cache);
    let store = Store::open(&OsFs, &place).map_err(|error| of_store(&error))?;
    let server = connect(options)?;
    let publish = || store.publish().map_err(|error| of_store(&error));
    let publishing = publish()?;
    let command = command(&action, &server, &publishing)?;
    let setting = setting(&command, options)?;
    let fetched = server.fetch_all([], [action.input_root], &publishing);
    fetched.map_err(|error| failed("can't get the input root", &error))?;
    let root = command.root(&publishing, &action.input_root);
    let root = root.map_err(|error| failed("can't read the input root", &error))?;
    // While the command runs others may collect what nobody needs.
    let _lease = store.lease(&[root, action.input_root]).map_err(|error| of_store(&error))?;
    drop(publishing);
    let start = now();
    let streams = streams::open(options, &store)?;
    let order = order(&command, &root, action.timeout);
    let performer = Performer::at(setting, &surroundings.dirs);
    let done = performer.perform_one(&order, &store, streams);
    let done = done.or_else(|error| not_executed(error, &root, output))?;
    all_kept(&done, output)?;
    let publishing = publish()?;
    let end = end(&done, partial, [start, now()], options, &publishing)?;
    let tree: Digest = parsed(&done.tree)?;
    let result = command.result(&publishing, &tree, end);
    let result = result.map_err(|error| failed("can't read what the command left", &error))?;
    uploaded(&result, &server, &publishing)?;
    drop(publishing);
    keep_store(&store, &surroundings, output)?;
    Ok(result.message)
}

fn connect(options: &Options) -> Result<RemoteCache, CommandError> {
    let wrong = |error: &dyn std::error::Error| {
        failed("can't use the server", error).about(&options.remote.url.value)
    };
    let mut order =
        remote_order(&options.remote, Given::default()).map_err(|error| wrong(&error))?;
    order.retries = options.retries.unwrap_or(order.retries);
    let patience = options.patience.and_then(|it| u64::try_from(it.as_millis()).ok());
    order.patience_ms = patience.unwrap_or(order.patience_ms);
    RemoteCache::start(order, &[]).map_err(|error| wrong(&error))
}

fn command(
    action: &RequestedAction,
    server: &RemoteCache,
    publishing: &Publishing<'_>,
) -> Result<RequestedCommand, CommandError> {
    let fetched = server.fetch_all([action.command], [], publishing);
    fetched.map_err(|error| failed("can't get the command", &error))?;
    let message = publishing.read(&action.command, COMMAND_MAX);
    let command = action.command(&message.map_err(|error| of_store(&error))?);
    command.map_err(|error| failed("can't read the command", &error))
}

fn setting(command: &RequestedCommand, options: &Options) -> Result<ActionPlace, CommandError> {
    Ok(ActionPlace {
        place: "/".into(),
        directory: Path::new("/").join(&command.directory),
        is_foreign: true,
        ids: platform::ids(&command.platform)?,
        fixed: options.fixed.clone(),
        live: options.live.clone(),
        grace_s: Some(options.grace_s),
    })
}

fn order(command: &RequestedCommand, root: &Digest, timeout: Option<Duration>) -> Order {
    let timeout = timeout.filter(|timeout| !timeout.is_zero());
    Order {
        action: 0,
        tree: root.to_string(),
        layers: Vec::new(),
        command: command.arguments.clone(),
        environment: command.environment.clone(),
        timeout_ms: timeout.and_then(|it| u64::try_from(it.as_millis()).ok()),
        allowance: Allowance::default(),
        root: None,
        tools: Vec::new(),
        varied: None,
        outputs: command.outputs.iter().map(|it| it.path.clone()).collect(),
        project: None,
    }
}

/// A command that is not in its tree, or no program, has failed as in a shell.
fn not_executed(error: CommandError, root: &Digest, output: &Output) -> Result<Done, CommandError> {
    if !matches!(error.kind, Kind::NotFound | Kind::NotExecutable) {
        return Err(error);
    }
    let _ = output.failure(&error);
    Ok(Done {
        end: End::Exited(error.kind.code().into()),
        tree: root.to_string(),
        stdout: String::new(),
        stderr: String::new(),
        changed: Vec::new(),
        refused: Vec::new(),
        absent: Vec::new(),
        asked: None,
        no_keyring: false,
        took_ms: 0,
    })
}

/// Fails where something of the outputs can't be kept: the result would be taken for all that was left. A command that
/// failed has one all the same, of what there is.
fn all_kept(done: &Done, output: &Output) -> Result<(), CommandError> {
    let Some((path, why)) = done.refused.first() else { return Ok(()) };
    let mut error = CommandError::new(Kind::Setup, "can't keep an output").about(path).cause(why);
    if let Some(more) = done.refused.len().checked_sub(1).filter(|more| *more > 0) {
        error = error.hint(format!("nor can {more} more be kept"));
    }
    if matches!(done.end, End::Exited(0)) {
        return Err(error);
    }
    let _ = output.failure(&error);
    Ok(())
}

fn end(
    done: &Done,
    metadata: Vec<u8>,
    times: [Duration; 2],
    options: &Options,
    publishing: &Publishing<'_>,
) -> Result<RequestedEnd, CommandError> {
    let exit_code = match done.end {
        End::Exited(code) => code,
        End::Signaled(signal) => 128 + signal,
        End::TimedOut | End::LayerFull | End::OutOfMemory => exit::TIMED_OUT.into(),
    };
    let streams = if options.keeps_no_streams {
        None
    } else {
        Some([stream(&done.stdout, publishing)?, stream(&done.stderr, publishing)?])
    };
    Ok(RequestedEnd { exit_code, streams, metadata, times })
}

/// What was not written is empty.
fn stream(text: &str, publishing: &Publishing<'_>) -> Result<Digest, CommandError> {
    if text.is_empty() {
        let put = publishing.put_bytes(&[]).map_err(|error| of_store(&error))?;
        return Ok(put.digest);
    }
    parsed(text)
}

fn parsed(text: &str) -> Result<Digest, CommandError> {
    text.parse().map_err(|_| CommandError::new(Kind::Bug, "no digest came of an action"))
}

/// Puts all that a result names on the server.
fn uploaded(
    result: &RequestedResult,
    server: &RemoteCache,
    publishing: &Publishing<'_>,
) -> Result<(), CommandError> {
    let (contents, directories) = (result.contents.clone(), result.directories.clone());
    let mut all = closure(publishing, contents, directories).map_err(|error| of_store(&error))?;
    // Who reads the server's own files looks for what is empty, too.
    publishing.put_bytes(&[]).map_err(|error| of_store(&error))?;
    all.push(Digest::EMPTY);
    let put = server.put_all(&all, publishing);
    put.map_err(|error| failed("can't put the outputs on the server", &error))
}

/// Keeps the store from growing without an end, now and then.
fn keep_store(
    store: &Store<'_>,
    surroundings: &Surroundings,
    output: &Output,
) -> Result<(), CommandError> {
    let looked = surroundings.dirs.cache.join(LOOKED);
    let last = fs::metadata(&looked).and_then(|it| it.modified()).ok();
    let is_recent = |last: SystemTime| last.elapsed().is_ok_and(|since| since < LOOKING);
    if last.is_some_and(is_recent) {
        return Ok(());
    }
    if cache::keep_store(store, surroundings, output)? {
        // One that can't be noted is looked for again.
        drop(File::create(&looked));
    }
    Ok(())
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
