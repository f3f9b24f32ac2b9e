//! The command line of Bazel's `linux-sandbox`: the host read-only, some of it writable.

mod options;
mod roots;
mod statistics;
mod view;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use rustix::process::Signal;
use rustix::stdio::{dup2_stderr, dup2_stdout};

use self::options::Options;
use crate::cli::args::Style;
use crate::cli::commands::run::{Purpose, supervised};
use crate::cli::descriptors;
use crate::cli::ending;
use crate::cli::error::{CommandError, Kind};
use crate::cli::exit;
use crate::cli::output::Output;
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
    options.stdout.iter().try_for_each(|path| redirect(path, |file| dup2_stdout(file)))?;
    options.stderr.iter().try_for_each(|path| redirect(path, |file| dup2_stderr(file)))?;
    let args = view::run_args(options)?;
    let passed = descriptors::take(&args)?;
    let run = supervised(&args, output, (passed.events, Purpose::Run))?;
    if let Some(path) = &options.statistics {
        statistics::write(path, run.ended.usage)?;
    }
    match run.ended.outcome {
        Outcome::TimedOut => {
            // Whoever ends by TERM leaves somebody who says what was used.
            let signal = if run.ended.usage.is_some() { Signal::TERM } else { Signal::KILL };
            Ok(ExitCode::from(exit::of_signal(signal)))
        }
        _ => ending::tell(&run.planned, &run.ended, output),
    }
}

fn redirect(
    path: &Path,
    put: impl Fn(&File) -> rustix::io::Result<()>,
) -> Result<(), CommandError> {
    let opened = File::create(path).and_then(|file| put(&file).map_err(io::Error::from));
    opened.map_err(|error| {
        let path = path.display().to_string();
        CommandError::new(Kind::Setup, "can't write what the command says").about(path).cause(error)
    })
}
