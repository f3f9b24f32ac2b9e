//! How a run ended.

use super::event::Counted;
use crate::apply::{StepFailure, Usage};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The command ended by itself with this code.
    Exited(i32),
    /// The command was ended by this signal.
    Signaled(i32),
    /// The time limit ended it.
    TimedOut,
    /// The limit of a layer ended it.
    LayerFull,
    /// The limit of memory ended it.
    OutOfMemory,
    /// It never started.
    SetupFailed(StepFailure),
    /// Pid 1 was killed from outside before the command ended.
    Lost,
    /// The supervisor ended it: it had no room for a descriptor that it needs.
    Short,
}

/// Outcome and what came with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// How it ended.
    pub(crate) outcome: Outcome,
    /// Processes that outlived the command and were ended.
    pub(crate) leftovers: u32,
    /// What all processes used; `None` when nobody was left to say.
    pub(crate) usage: Option<Usage>,
    /// A second signal asked to give the run up.
    pub(crate) given_up: bool,
    /// There was no session keyring to be had.
    pub(crate) no_keyring: bool,
    /// By what a layer was found to be full, when it was.
    pub(crate) counted: Counted,
}

impl Ended {
    /// Returns the end of a run whose group ran out of memory: the kernel kills all of it, pid 1 too.
    pub(crate) fn out_of_memory(self) -> Self {
        match self.outcome {
            Outcome::Lost | Outcome::Signaled(libc::SIGKILL) => {
                Self { outcome: Outcome::OutOfMemory, ..self }
            }
            _ => self,
        }
    }
}

impl Outcome {
    /// Returns its name in reports and records, with the exit code or the signal.
    pub(crate) fn told(self) -> (&'static str, Option<i32>, Option<i32>) {
        match self {
            Self::Exited(code) => ("exited", Some(code), None),
            Self::Signaled(signal) => ("signaled", None, Some(signal)),
            Self::TimedOut => ("timed_out", None, None),
            Self::LayerFull | Self::OutOfMemory => ("limit", None, None),
            Self::SetupFailed(_) => ("setup_failed", None, None),
            Self::Lost | Self::Short => ("signaled", None, Some(libc::SIGKILL)),
        }
    }

    /// Returns whether something else ended the command.
    pub(super) fn was_ended(self) -> bool {
        !matches!(self, Self::Exited(_) | Self::SetupFailed(_))
    }

    /// Reads a wait status.
    pub(super) fn of_status(status: i32) -> Self {
        if libc::WIFSIGNALED(status) {
            Self::Signaled(libc::WTERMSIG(status))
        } else {
            Self::Exited(libc::WEXITSTATUS(status))
        }
    }
}
