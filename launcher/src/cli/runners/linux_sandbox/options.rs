//! The options of Bazel's `linux-sandbox`: those of Bazel 4.2.3, and `-n` and `-D FILE` of later ones.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use endow_policy::Ids;

use crate::cli::error::{CommandError, Kind};

/// How often a file of arguments may name another.
const FILES: usize = 16;

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag as it was typed")]
pub(super) struct Options {
    /// Where the command starts, which it can change.
    pub(super) directory: Option<PathBuf>,
    /// What else it can change.
    pub(super) writable: Vec<PathBuf>,
    /// Directories that are empty, in memory.
    pub(super) memory: Vec<PathBuf>,
    /// What stands where: source and target.
    pub(super) mounts: Vec<(PathBuf, PathBuf)>,
    /// Seconds until the command is ended.
    pub(super) timeout: Option<u32>,
    /// Seconds that it has then.
    pub(super) grace: Option<u32>,
    /// What an interrupt does is what TERM does.
    pub(super) interrupt_ends: bool,
    /// Files for what the command writes.
    pub(super) stdout: Option<PathBuf>,
    pub(super) stderr: Option<PathBuf>,
    /// Where it is written what the command used.
    pub(super) statistics: Option<PathBuf>,
    /// The host is called `localhost`.
    pub(super) hides_hostname: bool,
    /// No network but a loopback of its own.
    pub(super) is_offline: bool,
    /// Which numbers user and group have.
    pub(super) ids: Option<Ids>,
    /// Details are told.
    pub(super) is_debugging: bool,
    /// The file in which events are told.
    pub(super) events: Option<PathBuf>,
    /// The command and its arguments.
    pub(super) command: Vec<OsString>,
}

impl Options {
    /// Understands the arguments of the process.
    pub(super) fn parse(arguments: Vec<OsString>) -> Result<Self, CommandError> {
        let expanded = expand(arguments)?;
        let matches = command().try_get_matches_from(expanded).map_err(|error| {
            let text = error.render().to_string();
            // What is missing stands below, one a line.
            let said: Vec<_> =
                text.lines().map(str::trim).take_while(|it| !it.is_empty()).collect();
            let said = said.join(" ");
            wrong(said.strip_prefix("error: ").unwrap_or(&said))
        })?;
        let options = Self {
            directory: path(&matches, "W")?,
            writable: paths(&matches, "w")?,
            memory: paths(&matches, "e")?,
            mounts: mounts(&matches)?,
            timeout: matches.get_one("T").copied(),
            grace: matches.get_one("t").copied(),
            interrupt_ends: matches.get_flag("i"),
            stdout: matches.get_one("l").cloned(),
            stderr: matches.get_one("L").cloned(),
            statistics: path(&matches, "S")?,
            hides_hostname: matches.get_flag("H"),
            is_offline: matches.get_flag("N") || matches.get_flag("n"),
            ids: ids(&matches),
            is_debugging: matches.contains_id("D"),
            events: path(&matches, "D")?,
            command: matches.get_many("COMMAND").into_iter().flatten().cloned().collect(),
        };
        Ok(options)
    }
}

/// What clap knows of the command line. Unknown options are refused: each may be a promise.
fn command() -> Command {
    let value = |name: &'static str| Arg::new(name).short(letter(name)).allow_hyphen_values(true);
    let path = |name| value(name).value_parser(value_parser!(PathBuf));
    let seconds = |name| value(name).value_parser(value_parser!(u32));
    let flag = |name: &'static str| Arg::new(name).short(letter(name)).action(ArgAction::SetTrue);
    let many = |name| path(name).action(ArgAction::Append);
    let command = Arg::new("COMMAND").last(true).required(true).num_args(1..);
    Command::new("linux-sandbox")
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args(["W", "l", "L", "S"].map(path))
        .args(["w", "e", "M", "m"].map(many))
        .args(["T", "t"].map(seconds))
        .args(["i", "H", "N", "n", "R", "U"].map(flag))
        .arg(path("D").num_args(0..=1).allow_hyphen_values(false))
        .arg(command.value_parser(value_parser!(OsString)))
}

fn letter(name: &str) -> char {
    name.chars().next().unwrap_or('?')
}

/// Puts the lines of files that are named as `@FILE` in their place, up to the command.
fn expand(arguments: Vec<OsString>) -> Result<Vec<OsString>, CommandError> {
    let mut expanded = Vec::new();
    // What is left, the next at the end, and in how many files it stood.
    let mut left: Vec<(OsString, usize)> = arguments.into_iter().map(|it| (it, 0)).collect();
    left.reverse();
    while let Some((argument, depth)) = left.pop() {
        if argument == "--" {
            expanded.push(argument);
            break;
        }
        match argument.as_bytes().strip_prefix(b"@") {
            Some(_) if depth == FILES => {
                return Err(wrong("files of arguments name one another").about(shown(&argument)));
            }
            Some(file) => {
                let lines = lines(OsStr::from_bytes(file))?;
                left.extend(lines.into_iter().rev().map(|line| (line, depth + 1)));
            }
            None => expanded.push(argument),
        }
    }
    expanded.extend(left.into_iter().rev().map(|(argument, _)| argument));
    Ok(expanded)
}

fn lines(file: &OsStr) -> Result<Vec<OsString>, CommandError> {
    let text = fs::read(file)
        .map_err(|error| wrong("can't read arguments").about(shown(file)).cause(error))?;
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    Ok(lines.map(|line| OsString::from_vec(line.to_vec())).collect())
}

fn paths(matches: &ArgMatches, name: &str) -> Result<Vec<PathBuf>, CommandError> {
    let paths = matches.get_many::<PathBuf>(name).into_iter().flatten();
    paths.map(|path| absolute(path, name)).collect()
}

fn path(matches: &ArgMatches, name: &str) -> Result<Option<PathBuf>, CommandError> {
    matches.get_one::<PathBuf>(name).map(|path| absolute(path, name)).transpose()
}

fn absolute(path: &Path, name: &str) -> Result<PathBuf, CommandError> {
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    Err(wrong(&format!("-{name} takes an absolute path")).about(shown(path.as_os_str())))
}

/// Pairs sources with the targets that directly follow them; a source without one is its own.
fn mounts(matches: &ArgMatches) -> Result<Vec<(PathBuf, PathBuf)>, CommandError> {
    let places = |name| matches.indices_of(name).into_iter().flatten();
    let mut targets: Vec<(usize, PathBuf)> = places("m").zip(paths(matches, "m")?).collect();
    let mut mounts = Vec::new();
    for (place, source) in places("M").zip(paths(matches, "M")?) {
        // Each option and each value counts as one.
        let own = targets.iter().position(|(at, _)| *at == place + 2);
        let target = own.map_or_else(|| source.clone(), |own| targets.remove(own).1);
        mounts.push((source, target));
    }
    match targets.first() {
        Some((_, target)) => {
            Err(wrong("-m must directly follow -M").about(shown(target.as_os_str())))
        }
        None => Ok(mounts),
    }
}

fn ids(matches: &ArgMatches) -> Option<Ids> {
    let number = match () {
        () if matches.get_flag("R") => 0,
        () if matches.get_flag("U") => Ids::NOBODY,
        () => return None,
    };
    Some(Ids { uid: number, gid: number })
}

fn shown(text: &OsStr) -> String {
    text.to_string_lossy().into_owned()
}

fn wrong(what: &str) -> CommandError {
    let hint = "the options that are known: docs/guide/builds.md, \"In the place of Bazel's linux-sandbox\"";
    CommandError::new(Kind::Usage, what).hint(hint)
}

#[cfg(test)]
mod tests;
