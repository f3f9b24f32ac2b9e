//! The command line of Bazel's `linux-sandbox`: the host read-only, some of it writable.

mod homes;
mod options;
mod roots;
mod server;
mod statistics;
mod view;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::Signal;
use rustix::stdio::{dup2_stderr, dup2_stdout};

use self::options::Options;
use crate::cli::args::Style;
use crate::cli::commands::run::{Purpose, supervised};
use crate::cli::error::{CommandError, Kind};
use crate::cli::exit;
use crate::cli::output::Output;
use crate::cli::run::descriptors;
use crate::cli::run::outcome;
use crate::supervise::Outcome;

/// What the program itself ends with, whatever is wrong.
const FAILURE: u8 = 1;

/// Runs a command as that program does.
pub(super) fn run(arguments: Vec<OsString>) -> ExitCode {
    let parsed = Options::parse(arguments);
    let is_debugging = parsed.as_ref().is_ok_and(|options| options.is_debugging);
    let style = Style { quiet: !is_debugging, verbose: is_debugging, ..Style::default() };
    let output = Output::new(&style);
    match parsed.and_then(|options| execute(&options, &output)) {
        Ok(code) => code,
        Err(error) => {
            let _ = output.failure(&error);
            ExitCode::from(FAILURE)
        }
    }
}

fn execute(options: &Options, output: &Output) -> Result<ExitCode, CommandError> {
    // A command may leave a link or a pipe where the next one's file is to be, or its own.
    let made = |path: &Option<PathBuf>| path.as_deref().map(made).transpose();
    if let Some(file) = made(&options.stdout)? {
        dup2_stdout(&file).map_err(io::Error::from).map_err(unwritten)?;
    }
    if let Some(file) = made(&options.stderr)? {
        dup2_stderr(&file).map_err(io::Error::from).map_err(unwritten)?;
    }
    drop(made(&options.events)?);
    let args = view::run_args(options)?;
    // All that is open and not named is closed.
    let passed = descriptors::take(&args, &[])?;
    let statistics = made(&options.statistics)?;
    let run = supervised(&args, output, (passed.events, Purpose::Run), None)?;
    if let Some(file) = statistics {
        statistics::write(file, run.ran.ended.usage).map_err(unwritten)?;
    }
    match run.ran.ended.outcome {
        Outcome::TimedOut => {
            // Whoever ends by TERM leaves somebody who says what was used.
            let signal = if run.ran.ended.usage.is_some() { Signal::TERM } else { Signal::KILL };
            Ok(ExitCode::from(exit::of_signal(signal)))
        }
        _ => outcome::tell(&run.planned, &run.ran.ended, output),
    }
}

/// Makes a file that is to be written, or empties one that is there: through no link.
fn made(path: &Path) -> Result<File, CommandError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
    let flags = flags | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = open(path, flags, Mode::from_raw_mode(0o666)).map(File::from);
    let file = opened.map_err(io::Error::from).and_then(|file| {
        let is_file = file.metadata()?.is_file();
        if is_file { Ok(file) } else { Err(io::Error::other("it is no file")) }
    });
    file.map_err(|error| unwritten(error).about(path.display().to_string()))
}

fn unwritten(error: io::Error) -> CommandError {
    CommandError::new(Kind::Setup, "can't write what was asked for").cause(error)
}
