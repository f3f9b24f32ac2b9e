//! The command line of BuildBox's `buildbox-run`: an action of the Remote Execution API, whose contents are on
//! a server and go back there.

mod action;
mod options;
mod platform;
mod streams;

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitCode;

use rustix::fs::{Mode, OFlags, open, openat};

use self::options::{Asked, Options};
use crate::cli::args::Style;
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::Output;
use crate::cli::run::descriptors;

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
    let place = options.action_result.as_deref().map(Place::of).transpose().map_err(unwritten)?;
    let result = action::execute(&message, partial.unwrap_or_default(), options, output)?;
    place.map_or(Ok(()), |place| place.write(&result)).map_err(unwritten)
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

/// Where a file is to be. The command may be able to write there: the directory is open before it starts, and no
/// link is followed in it.
struct Place {
    directory: OwnedFd,
    name: OsString,
}

impl Place {
    fn of(path: &Path) -> std::io::Result<Self> {
        let name = path.file_name().ok_or(std::io::ErrorKind::InvalidFilename)?.to_owned();
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = open(above.unwrap_or(Path::new(".")), flags, Mode::empty())?;
        Ok(Self { directory, name })
    }

    fn write(&self, bytes: &[u8]) -> std::io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
        let flags = flags | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        fs::File::from(openat(&self.directory, &self.name, flags, mode)?).write_all(bytes)
    }
}

fn unwritten(error: std::io::Error) -> CommandError {
    CommandError::new(Kind::Setup, "can't write what was asked for").cause(error)
}
