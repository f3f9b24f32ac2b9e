//! The arguments of `endow learn`.

use std::ffi::OsString;

use clap::Args;

use super::{CommandLine, PolicyArgs, RunArgs, Style};

/// `endow learn`
#[derive(Args, Clone, Debug)]
pub(crate) struct LearnArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Write the proposal into the policy file
    #[arg(long, help_heading = "Proposal")]
    pub(crate) write: bool,
    /// Forget what earlier runs of this project asked for, and run nothing
    #[arg(long, conflicts_with_all = ["write", "command"], help_heading = "Proposal")]
    pub(crate) forget: bool,
    /// The command and its arguments; left out, earlier runs alone count
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

impl LearnArgs {
    /// Returns the same for a process that has gone where `-C` leads.
    pub(crate) fn there(mut self) -> Self {
        self.policy.directory = None;
        self
    }

    /// Returns the same for `run`.
    pub(crate) fn run(&self) -> RunArgs {
        RunArgs {
            style: self.style.clone(),
            policy: self.policy.clone(),
            explain: true,
            command: CommandLine { argv: self.command.clone() },
            ..RunArgs::default()
        }
    }
}
