//! `endow why`.

use std::process::ExitCode;

use crate::cli::args::WhyArgs;
use crate::cli::error::CommandError;
use crate::cli::output::Output;

/// Runs the command.
pub(crate) fn run(_args: &WhyArgs, _output: &Output) -> Result<ExitCode, CommandError> {
    Ok(ExitCode::SUCCESS)
}
