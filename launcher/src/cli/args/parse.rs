//! From argument vector to what was typed.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser};

use super::{Cli, Command, Invocation, RunArgs};
use crate::cli::exit;

/// What was typed is no call, or asks for help.
#[derive(Debug)]
pub(crate) struct Usage {
    error: clap::Error,
    running: bool,
}

impl Usage {
    /// Prints help to stdout and mistakes to stderr; returns the code for either.
    pub(crate) fn print(&self) -> ExitCode {
        // A closed stream can't be told that it is closed.
        drop(self.error.print());
        match self.error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
            _ if self.running => ExitCode::from(exit::SETUP_FAILED),
            _ => ExitCode::from(exit::USAGE),
        }
    }
}

/// Returns the whole command line as clap has it.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// Understands the arguments of the process.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Invocation, Usage> {
    let command = match arguments.get(1) {
        _ if is_prefix_form(&arguments) => run("endow", arguments),
        // The only command that is in a hurry: the others' arguments are not even built.
        Some(first) if first == "run" => run("endow run", without_first(arguments)),
        _ => named(arguments),
    }?;
    let style = command.style();
    Ok(Invocation { command, style })
}

/// Options or nothing before `--`: the command is to be run. Otherwise the first word is the name
/// of one of endow's own commands.
fn is_prefix_form(arguments: &[OsString]) -> bool {
    let first = arguments.get(1).map(OsString::as_os_str);
    let starts_with_option = first.is_some_and(|it| it.as_encoded_bytes().starts_with(b"-"));
    starts_with_option && arguments.iter().any(|it| it == OsStr::new("--"))
}

fn without_first(mut arguments: Vec<OsString>) -> Vec<OsString> {
    arguments.remove(1);
    arguments
}

fn run(name: &'static str, arguments: Vec<OsString>) -> Result<Command, Usage> {
    let usage = |error| Usage { error, running: true };
    let command = clap::Command::new("endow").bin_name(name).version(env!("CARGO_PKG_VERSION"));
    let matches = RunArgs::augment_args(command).try_get_matches_from(arguments).map_err(usage)?;
    let run = RunArgs::from_arg_matches(&matches).map_err(usage)?;
    Ok(Command::Run(Box::new(run)))
}

fn named(arguments: Vec<OsString>) -> Result<Command, Usage> {
    let cli = Cli::try_parse_from(arguments).map_err(|error| Usage { error, running: false })?;
    Ok(cli.command)
}
