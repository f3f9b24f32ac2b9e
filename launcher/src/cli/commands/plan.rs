//! `endow plan`.

use std::process::ExitCode;

use crate::cli::args::PlanArgs;
use crate::cli::error::CommandError;
use crate::cli::output::Output;
use crate::cli::stages::{self, Request};
use crate::plan::seccomp::Observe;

/// Prints what a run would do; changes nothing.
pub(crate) fn run(args: &PlanArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let request =
        Request { argv: args.command.argv.clone(), observe: Observe::Calls, ..Request::default() };
    let planned = stages::plan(&args.policy, request)?;
    if output.is_json() {
        output.json(&planned.plan);
    } else {
        output.text(&planned.plan.to_string());
    }
    Ok(ExitCode::SUCCESS)
}
