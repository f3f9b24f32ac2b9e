//! The command line of BuildBox's `buildbox-run`: an action of the Remote Execution API, whose contents are on
//! a server and go back there.

mod action;
mod options;
mod platform;
mod streams;

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

use self::options::{Asked, Options};
use crate::cli::args::Style;
use crate::cli::descriptors;
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::Output;

/// What the program itself ends with, whatever is wrong. A command that fails is no failure of it.
const FAILURE: u8 = 1;
/// The most bytes of an action.
const ACTION_MAX: u64 = 4 << 20;

/// Runs an action as that program does.
pub(super) fn run(arguments: Vec<OsString>) -> ExitCode {
    let asked = Asked::parse(arguments);
    let verbose = matches!(&asked, Ok(Asked::Run(options)) if options.verbose);
    let style = Style { quiet: !verbose, verbose, ..Style::default() };
    let output = Output::new(&style);
    let done = asked.and_then(|asked| match asked {
        Asked::Capabilities => {
            output.text(&platform::capabilities());
            Ok(())
        }
        Asked::Validation => Ok(()),
        Asked::Run(options) => execute(&options, &output),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = output.failure(&error);
            ExitCode::from(FAILURE)
        }
    }
}

fn execute(options: &Options, output: &Output) -> Result<(), CommandError> {
    descriptors::keep_streams()?;
    let message = read(&options.action)?;
    let partial = options.partial_metadata.as_deref().map(read).transpose()?;
    let result = action::execute(&message, partial.unwrap_or_default(), options, output)?;
    match &options.action_result {
        Some(path) => written(path, &result),
        None => Ok(()),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path);
    let read = file.and_then(|file| file.take(ACTION_MAX + 1).read_to_end(&mut bytes));
    let error = CommandError::new(Kind::Setup, "can't read a message").about(path.display());
    match read {
        Ok(_) if bytes.len() as u64 <= ACTION_MAX => Ok(bytes),
        Ok(_) => Err(error.cause(format!("it has more than {ACTION_MAX} bytes"))),
        Err(cause) => Err(error.cause(cause)),
    }
}

/// Writes a result into the file that is to have it.
fn written(path: &Path, result: &[u8]) -> Result<(), CommandError> {
    let file = fs::OpenOptions::new().write(true).create(true).truncate(true).open(path);
    let written = file.and_then(|mut file| file.write_all(result));
    written.map_err(|error| unwritten(error).about(path.display()))
}

fn unwritten(error: std::io::Error) -> CommandError {
    CommandError::new(Kind::Setup, "can't write what was asked for").cause(error)
}
