//! `endow check`.

use std::process::ExitCode;

use crate::cli::args::CheckArgs;
use crate::cli::error::CommandError;
use crate::cli::output::Output;

/// Runs the command.
pub(crate) fn run(_args: &CheckArgs, _output: &Output) -> Result<ExitCode, CommandError> {
    Ok(ExitCode::SUCCESS)
}
