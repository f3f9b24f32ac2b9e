//! `endow profile`.

use std::process::ExitCode;

use crate::cli::args::ProfileArgs;
use crate::cli::error::CommandError;
use crate::cli::output::Output;

/// Runs the command.
pub(crate) fn run(_args: &ProfileArgs, _output: &Output) -> Result<ExitCode, CommandError> {
    Ok(ExitCode::SUCCESS)
}
