//! How the command of an action ended.

use super::order::End;
use crate::apply::SpawnError;
use crate::cli::error::{CommandError, Kind};
use crate::cli::stages::Planned;
use crate::supervise::{Ended, Outcome};

/// What helps where a program is not there.
const NOT_SEEN: &str = "an action sees the programs of its root, its inputs and its tools alone: another one needs `--tool PATH`, or `tools` in its table";

/// Returns how it ended, for whoever ordered it.
pub(super) fn end(planned: &Planned, ended: &Ended) -> Result<End, CommandError> {
    match ended.outcome {
        Outcome::Exited(code) => Ok(End::Exited(code)),
        Outcome::Signaled(signal) => Ok(End::Signaled(signal)),
        Outcome::TimedOut => Ok(End::TimedOut),
        Outcome::SetupFailed(failure) => {
            Err(not_started(SpawnError::of_step(&failure, &planned.plan), planned))
        }
        Outcome::Short => Err(SpawnError::Descriptors.into()),
        Outcome::LayerFull => Ok(End::LayerFull),
        Outcome::OutOfMemory => Ok(End::OutOfMemory),
        Outcome::Lost => Err(CommandError::new(Kind::Setup, "the action was ended from outside")),
    }
}

/// Names the command where it is what was not to be had.
fn not_started(error: SpawnError, planned: &Planned) -> CommandError {
    let error = CommandError::from(error);
    match error.kind {
        Kind::NotFound => error.about(planned.plan.command_name().to_string_lossy()).hint(NOT_SEEN),
        Kind::NotExecutable => error.about(planned.plan.command_name().to_string_lossy()),
        _ => error,
    }
}
