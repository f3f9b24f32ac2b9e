//! `endow build`: actions, each in a sandbox of its own that shows its inputs and nothing else of the
//! project, and results that are remembered.
//!
//! This process decides what is next, looks results up and puts outputs in place. Workers, processes of
//! its own, execute one action after the other.

mod actions;
mod check;
mod collect;
mod ended;
mod environment;
mod inputs;
mod missed;
mod order;
mod outcome;
mod output_log;
mod perform;
mod place;
mod platform;
mod remote;
mod results;
mod root;
mod rules;
mod schedule;
mod session;
mod settings;
mod standing;
mod times;
mod told;
mod varied;
mod verify;
mod workers;

pub(crate) use actions::check_stated;
pub(crate) use collect::collect;
pub(crate) use order::{Allowance, Done, End, Order};
pub(crate) use perform::{Performer, Streams, stream};

use std::process::ExitCode;

use super::args::BuildArgs;
use super::error::CommandError;
use super::output::Output;

/// Builds what is asked for, or tries the sandboxes that a build would have.
pub(crate) fn run(args: &BuildArgs, output: &Output) -> Result<ExitCode, CommandError> {
    if args.verify { verify::run(args, output) } else { session::run(args, output) }
}
