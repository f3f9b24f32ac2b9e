//! `endow verify`.

use std::process::ExitCode;

use serde::Serialize;

use crate::cli::args::VerifyArgs;
use crate::cli::error::CommandError;
use crate::cli::helper::trials::{self, Trials, Verified};
use crate::cli::output::Output;
use crate::cli::stages::{self, Own, Request};

/// What is printed.
#[derive(Debug, Serialize)]
struct Told<'a> {
    version: u32,
    #[serde(flatten)]
    verified: &'a Verified,
}

/// Runs the command.
pub(crate) fn run(args: &VerifyArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let argv = if args.command.is_empty() { vec!["true".into()] } else { args.command.clone() };
    let request = Request { argv, own: Own::Made, ..Request::default() };
    let planned = stages::plan(&args.policy, request)?;
    let trials = Trials::of(&planned);
    #[cfg(feature = "test-switches")]
    let planned = planned.without(&stages::taken_away(&args.test_without));
    let verified = trials.make(planned)?;
    if output.is_json() {
        output.json(&Told { version: 1, verified: &verified });
    } else {
        output.text(&trials::text(&verified, output));
    }
    Ok(trials::code(verified.holds))
}
