//! From argument vector to what was typed.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser};

use super::foreign;
use super::{Cli, Command, Invocation, RunArgs, Style};
use crate::cli::error::{CommandError, Kind};
use crate::cli::exit;

/// Commands that are meant to come, and what does instead.
const NOT_BUILT: [(&str, &str); 3] = [
    ("stop", "`kill PID` ends a run, where PID is that of the endow that started it"),
    ("exec", "start what is needed together: `endow -- sh -c 'COMMAND & COMMAND'`"),
    ("set", "end the run, and start it again with other grants"),
];

/// What was typed is no call, or asks for help.
#[derive(Debug)]
pub(crate) struct Usage {
    error: clap::Error,
    running: bool,
    /// Whether `--` says where the command begins.
    has_dashes: bool,
    /// The name of the command that was meant.
    named: Option<String>,
    /// How the mistake is to be told, as far as that can be seen.
    pub(crate) style: Style,
}

impl Usage {
    /// Returns the exit code of a mistake.
    pub(crate) fn code(&self) -> u8 {
        if self.running { exit::SETUP_FAILED } else { exit::USAGE }
    }

    /// Prints help, when that was asked for; returns whether all of it was written.
    pub(crate) fn help(&self) -> Option<(ExitCode, io::Result<()>)> {
        let code = match self.error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => ExitCode::from(self.code()),
            _ => return None,
        };
        Some((code, self.error.print().and_then(|()| io::stdout().flush())))
    }

    /// Puts a mistake into the form of every other error.
    pub(crate) fn mistake(&self) -> CommandError {
        if let Some((name, instead)) = self.not_built() {
            return CommandError::new(Kind::Usage, "not built yet").about(name).hint(instead);
        }
        if let Some(hint) = self.elsewhere() {
            let word = self.word().unwrap_or_default();
            let error =
                CommandError::new(Kind::Usage, format!("unexpected argument '{word}' found"));
            return error.hint(hint).hint(self.last_hint());
        }
        let text = self.error.render().to_string();
        let mut paragraphs = text.split("\n\n");
        let first = paragraphs.next().unwrap_or_default();
        let (message, known) = first.split_once("\n  [").unwrap_or((first, ""));
        let words: Vec<&str> = message.split_whitespace().skip(1).collect();
        let error = CommandError::new(Kind::Usage, words.join(" "));
        let known = known.strip_suffix(']').map(str::to_owned);
        // What follows `--` is the command, and no value of an option.
        let is_apt = |hint: &String| !(self.running && hint.contains(" as a value, use '-- "));
        let hints = paragraphs.flat_map(str::lines).filter_map(hint).filter(is_apt);
        let hints = known.into_iter().chain(hints).chain([self.last_hint()]);
        let mut hints: Vec<String> = hints.collect();
        if self.may_be_program() {
            // It is a program more often than a mistyped command.
            hints.rotate_right(1);
        }
        hints.into_iter().fold(error, CommandError::hint)
    }

    fn not_built(&self) -> Option<(String, &'static str)> {
        let Some(ContextValue::String(name)) = self.error.get(ContextKind::InvalidSubcommand)
        else {
            return None;
        };
        let (_, instead) = NOT_BUILT.into_iter().find(|(known, _)| known == name)?;
        Some((format!("endow {name}"), instead))
    }

    /// The argument that nobody expected.
    fn word(&self) -> Option<&str> {
        let word = self
            .error
            .get(ContextKind::InvalidArg)
            .or(self.error.get(ContextKind::InvalidSubcommand));
        match word {
            Some(ContextValue::String(word)) => Some(word),
            _ => None,
        }
    }

    /// What says here what was said as elsewhere.
    fn elsewhere(&self) -> Option<String> {
        let word = self.word().filter(|_| self.error.kind() == ErrorKind::UnknownArgument)?;
        if let Some(hint) = foreign::hint(word).filter(|_| self.takes_policy()) {
            return Some(hint.to_owned());
        }
        let is_command = self.running && !self.has_dashes && !word.starts_with('-');
        is_command.then(|| format!("put `--` before the command: `-- {word}`"))
    }

    /// Whether options of sandboxes are asked for: what other commands do has nothing to do with those.
    fn takes_policy(&self) -> bool {
        self.running || self.named.as_ref().is_some_and(|it| OF_POLICIES.contains(&it.as_str()))
    }

    /// Whether a word stands where the name of a command would, and is none.
    fn may_be_program(&self) -> bool {
        self.error.kind() == ErrorKind::InvalidSubcommand && self.word() == self.named.as_deref()
    }

    fn last_hint(&self) -> String {
        match (self.may_be_program(), self.running, &self.named) {
            (true, _, Some(word)) => format!("`endow -- {word}` runs a command in a sandbox"),
            (_, true, _) => "`endow run --help` lists the options".to_owned(),
            (_, _, Some(name)) => format!("`endow {name} --help` lists the options"),
            _ => "`endow --help` lists the commands".to_owned(),
        }
    }
}

fn hint(line: &str) -> Option<String> {
    let line = line.trim();
    let hint = line.strip_prefix("tip: ").or_else(|| line.strip_prefix("Usage: "));
    hint.map(str::to_owned)
}

/// Returns the whole command line as clap has it.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// Understands the arguments of the process.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Invocation, Usage> {
    let asks_help = arguments.get(1).is_some_and(|first| first == "help");
    let arguments = with_help_as_option(arguments);
    let json = arguments.iter().take_while(|it| *it != "--").any(|it| it == "--json");
    let named = arguments.get(1).filter(|it| !asks_help && !is_option(it));
    let named = named.map(|it| it.to_string_lossy().into_owned());
    let has_dashes = arguments.iter().any(|it| it == "--");
    let usage = |running| {
        let style = Style { json, ..Style::default() };
        move |error| Usage { error, running, has_dashes, named, style }
    };
    let command = match arguments.get(1) {
        _ if is_prefix_form(&arguments) => run("endow", arguments).map_err(usage(true)),
        // The only command that is in a hurry: the others' arguments are not even built.
        Some(first) if first == "run" => {
            run("endow run", without_first(arguments)).map_err(usage(true))
        }
        _ => by_name(arguments).map_err(usage(false)),
    }?;
    let style = command.style();
    Ok(Invocation { command, style })
}

/// Turns `endow help COMMAND` into `endow COMMAND --help`.
fn with_help_as_option(mut arguments: Vec<OsString>) -> Vec<OsString> {
    if arguments.get(1).is_some_and(|first| first == "help") {
        arguments.remove(1);
        arguments.push("--help".into());
    }
    arguments
}

/// Returns whether a command is to be run.
pub(crate) fn is_run(arguments: &[OsString]) -> bool {
    is_prefix_form(arguments) || arguments.get(1).is_some_and(|first| first == "run")
}

/// Commands with options of a policy.
const OF_POLICIES: [&str; 5] = ["run", "plan", "why", "verify", "learn"];

/// Options that need no command to run, or that every command takes.
const OF_ALL: [&str; 9] =
    ["-h", "--help", "-V", "--version", "--json", "-q", "--quiet", "-v", "--color"];

/// Returns whether the words of `--allow` are asked for: that needs no command to run.
pub(crate) fn asks_for_words(arguments: &[OsString]) -> bool {
    let is_of_policies = |first: &OsString| OF_POLICIES.iter().any(|it| first == it);
    let has_policy = arguments.get(1).is_some_and(|it| is_option(it) || is_of_policies(it));
    let end = arguments.iter().position(|it| it == "--").unwrap_or(arguments.len());
    let own = arguments.get(..end).unwrap_or_default();
    has_policy
        && (own.iter().any(|it| it == "--allow=help")
            || own.windows(2).any(|two| two == ["--allow", "help"]))
}

/// Options or nothing before `--`: the command is to be run. Otherwise the first word is the name
/// of one of endow's own commands.
fn is_prefix_form(arguments: &[OsString]) -> bool {
    let Some(first) = arguments.get(1).filter(|it| is_option(it)) else { return false };
    // Where it is an option of `run`, what is missing is the `--`.
    arguments.iter().any(|it| it == "--") || !OF_ALL.iter().any(|it| first == it)
}

fn is_option(argument: &OsStr) -> bool {
    argument.as_encoded_bytes().starts_with(b"-")
}

fn without_first(mut arguments: Vec<OsString>) -> Vec<OsString> {
    arguments.remove(1);
    arguments
}

fn run(name: &'static str, arguments: Vec<OsString>) -> Result<Command, clap::Error> {
    let command = clap::Command::new("endow").bin_name(name).version(env!("CARGO_PKG_VERSION"));
    let matches = RunArgs::augment_args(command).try_get_matches_from(arguments)?;
    Ok(Command::Run(Box::new(RunArgs::from_arg_matches(&matches)?)))
}

fn by_name(arguments: Vec<OsString>) -> Result<Command, clap::Error> {
    Ok(Cli::try_parse_from(arguments)?.command)
}
