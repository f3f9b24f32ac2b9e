//! Command lines of other sandboxes: endow speaks the one under whose name it is started.

mod buildbox_run;
mod linux_sandbox;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

/// Whoever speaks a command line, from its arguments to an exit code.
pub(crate) type Runner = fn(Vec<OsString>) -> ExitCode;

/// Returns who speaks the command line of a program; `None` when it is endow's own.
pub(crate) fn of(program: Option<&OsString>) -> Option<Runner> {
    let name = program.and_then(|path| Path::new(path).file_name()).and_then(OsStr::to_str)?;
    match name {
        "buildbox-run" => Some(buildbox_run::run),
        "linux-sandbox" => Some(linux_sandbox::run),
        _ => None,
    }
}
