//! The options of `buildbox-run` 1.4.25.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use endow_policy::{HostPath, Origin, Remote, RemoteMode, RemoteUrl, SecretSource, Stated};

use crate::cli::error::{CommandError, Kind};

/// Options of the server of assets, which no action here asks.
const ASSETS: [&str; 9] = [
    "ra-remote",
    "ra-instance",
    "ra-server-cert",
    "ra-client-key",
    "ra-client-cert",
    "ra-access-token",
    "ra-retry-limit",
    "ra-retry-delay",
    "ra-request-timeout",
];
/// What has a value and changes nothing of what an action sees and leaves: where that program keeps its logs and
/// its copies, and how it speaks with a server.
const IGNORED: [&str; 10] = [
    "log-level",
    "log-directory",
    "workspace-path",
    "staging-mode",
    "keepalive-time",
    "min-throughput",
    "load-balancing-policy",
    "token-reload-interval",
    "ra-keepalive-time",
    "ra-token-reload-interval",
];
/// Flags without a value that change nothing of what an action sees and leaves.
const IGNORED_FLAGS: [&str; 2] = ["disable-localcas", "output-bypass-local-cache"];

/// What a command line asks for.
#[derive(Debug)]
pub(super) enum Asked {
    /// What can be asked for.
    Capabilities,
    /// Whether the rest of the line is understood, which it is.
    Validation,
    /// An action.
    Run(Box<Options>),
}

/// An action, and where its contents are.
#[derive(Debug)]
pub(super) struct Options {
    /// The file with the action.
    pub(super) action: PathBuf,
    /// The file for its result.
    pub(super) action_result: Option<PathBuf>,
    /// The server with its contents.
    pub(super) remote: Remote,
    /// How often a call is tried once more.
    pub(super) retries: Option<u32>,
    /// How long a call may take.
    pub(super) patience: Option<Duration>,
    /// Files for what the command writes.
    pub(super) stdout: Option<PathBuf>,
    pub(super) stderr: Option<PathBuf>,
    /// What the command writes is no part of its result.
    pub(super) keeps_no_streams: bool,
    /// What of the host is shown, live and read-only: source and place.
    pub(super) live: Vec<(PathBuf, PathBuf)>,
    pub(super) fixed: Vec<(PathBuf, PathBuf)>,
    /// The file with a part of the result's metadata.
    pub(super) partial_metadata: Option<PathBuf>,
    /// Seconds between TERM and KILL.
    pub(super) grace_s: u32,
    /// Details are told.
    pub(super) verbose: bool,
}

impl Asked {
    /// Understands the arguments of the process.
    pub(super) fn parse(arguments: Vec<OsString>) -> Result<Self, CommandError> {
        let matches = command().try_get_matches_from(arguments).map_err(|error| {
            let text = error.render().to_string();
            let said = text.lines().next().unwrap_or_default();
            wrong(said.strip_prefix("error: ").unwrap_or(said))
        })?;
        if matches.get_flag("capabilities") {
            return Ok(Self::Capabilities);
        }
        let options = Options::of(&matches)?;
        if matches.get_flag("validate-parameters") {
            return Ok(Self::Validation);
        }
        Ok(Self::Run(Box::new(options)))
    }
}

/// What clap knows of the command line. Unknown options are refused: each may be a promise.
fn command() -> Command {
    let value = |name: &'static str| Arg::new(name).long(name).action(ArgAction::Set);
    let typed = |name, parser: ValueParser| value(name).value_parser(parser);
    // Others write an option without a value for none.
    let path = |name| typed(name, value_parser!(OsString));
    let number = |name| typed(name, value_parser!(u32).into());
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    let many = |name| value(name).action(ArgAction::Append);
    Command::new("buildbox-run")
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args_override_self(true)
        .args(["action", "action-result", "stdout-file", "stderr-file"].map(path))
        .args(["partial-execution-metadata-file", "access-token"].map(path))
        .args(["server-cert", "client-key", "client-cert"].map(path))
        .args(["remote", "instance", "digest-function", "protocol"].map(value))
        .args(["retry-limit", "retry-delay", "request-timeout"].map(number))
        .arg(number("graceful-shutdown-seconds"))
        .args(["bind-mount", "ro-bind-mount"].map(many))
        .args(["capabilities", "validate-parameters", "no-logs-capture", "verbose"].map(flag))
        .args(ASSETS.map(value))
        .args(IGNORED.map(value))
        .args(IGNORED_FLAGS.map(flag))
}

impl Options {
    fn of(matches: &ArgMatches) -> Result<Self, CommandError> {
        let path = |name: &str| path(matches, name);
        let number = |name: &str| matches.get_one::<u32>(name).copied();
        only(matches, "digest-function", "SHA256")?;
        only(matches, "protocol", "grpc")?;
        let seconds = number("request-timeout").filter(|seconds| *seconds > 0);
        Ok(Self {
            action: path("action").ok_or_else(|| wrong("--action=PATH is needed"))?,
            action_result: path("action-result"),
            remote: remote(matches)?,
            retries: number("retry-limit"),
            patience: seconds.map(|seconds| Duration::from_secs(seconds.into())),
            stdout: path("stdout-file"),
            stderr: path("stderr-file"),
            keeps_no_streams: matches.get_flag("no-logs-capture"),
            live: mounts(matches, "bind-mount")?,
            fixed: mounts(matches, "ro-bind-mount")?,
            partial_metadata: path("partial-execution-metadata-file"),
            grace_s: number("graceful-shutdown-seconds").unwrap_or(0),
            verbose: matches.get_flag("verbose"),
        })
    }
}

/// Refuses any other value than the one that is understood.
fn only(matches: &ArgMatches, name: &str, known: &str) -> Result<(), CommandError> {
    match matches.get_one::<String>(name) {
        Some(value) if !value.eq_ignore_ascii_case(known) => {
            Err(wrong(&format!("--{name} can be {known} alone")).about(value))
        }
        _ => Ok(()),
    }
}

fn remote(matches: &ArgMatches) -> Result<Remote, CommandError> {
    let Some(text) = matches.get_one::<String>("remote") else {
        return Err(wrong("--remote=URL is needed"));
    };
    // That program writes the schemes of HTTP for gRPC.
    let url = match text.split_once("://") {
        Some(("http", rest)) => format!("grpc://{rest}"),
        Some(("https", rest)) => format!("grpcs://{rest}"),
        _ => text.clone(),
    };
    let url =
        RemoteUrl::parse(&url).map_err(|error| wrong("no server").about(text).cause(error))?;
    let origin = Origin::Flag(format!("--remote={text}").into());
    let file = |name: &str| {
        let path = path(matches, name).map(|path| whole(&path)).transpose()?;
        path.map(|path| HostPath::new(path).map_err(|error| wrong(&error.to_string()))).transpose()
    };
    let token =
        file("access-token")?.map(|path| Stated::new(SecretSource::File(path), origin.clone()));
    Ok(Remote {
        instance: matches.get_one::<String>("instance").cloned().unwrap_or_default(),
        // The results of actions are not this program's to put there.
        mode: RemoteMode::Read,
        token,
        ca: file("server-cert")?,
        cert: file("client-cert")?,
        key: file("client-key")?,
        ..Remote::at(Stated::new(url, origin))
    })
}

fn path(matches: &ArgMatches, name: &str) -> Option<PathBuf> {
    let text = matches.get_one::<OsString>(name).filter(|text| !text.is_empty());
    text.map(PathBuf::from)
}

fn whole(path: &Path) -> Result<PathBuf, CommandError> {
    std::path::absolute(path).map_err(|error| wrong("no path").about(path.display()).cause(error))
}

/// Reads `HOST:PLACE`. A condition in front of it is refused: it would be dropped otherwise.
fn mounts(matches: &ArgMatches, name: &str) -> Result<Vec<(PathBuf, PathBuf)>, CommandError> {
    let texts = matches.get_many::<String>(name).into_iter().flatten();
    let read = |text: &String| {
        let wrong = |why: &str| wrong(&format!("--{name} takes HOST:PLACE")).about(text).cause(why);
        let (host, place) = text.split_once(':').ok_or_else(|| wrong("there is no `:`"))?;
        if place.contains(':') {
            return Err(wrong("a mount with a condition is not understood"));
        }
        if !host.starts_with('/') || !place.starts_with('/') {
            return Err(wrong("both must be whole paths"));
        }
        if OWN.iter().any(|own| Path::new(place).starts_with(own)) {
            return Err(wrong("devices and files of the kernel are the sandbox's own"));
        }
        Ok((PathBuf::from(host), PathBuf::from(place)))
    };
    texts.map(read).collect()
}

/// What is the sandbox's own, whoever asks.
const OWN: [&str; 3] = ["/dev", "/proc", "/sys"];

fn wrong(what: &str) -> CommandError {
    CommandError::new(Kind::Usage, what)
}

#[cfg(test)]
mod tests;
