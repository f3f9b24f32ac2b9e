//! `endow doctor`.

use std::process::ExitCode;

use crate::cli::args::DoctorArgs;
use crate::cli::error::CommandError;
use crate::cli::output::Output;

/// Runs the command.
pub(crate) fn run(_args: &DoctorArgs, _output: &Output) -> Result<ExitCode, CommandError> {
    Ok(ExitCode::SUCCESS)
}
