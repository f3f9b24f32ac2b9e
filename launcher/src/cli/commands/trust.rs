//! `endow trust`.

use std::process::ExitCode;

use crate::cli::args::TrustArgs;
use crate::cli::error::CommandError;
use crate::cli::output::Output;

/// Runs the command.
pub(crate) fn run(_args: &TrustArgs, _output: &Output) -> Result<ExitCode, CommandError> {
    Ok(ExitCode::SUCCESS)
}
