//! The arguments of `endow run`.

use std::ffi::OsString;

use clap::Args;

use super::{Amendment, PolicyArgs, Style};

/// `endow run`
#[derive(Args, Debug, Default)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Hand descriptor N to the command (0, 1 and 2 always are)
    #[arg(long = "keep-fd", value_name = "N", help_heading = "Process")]
    pub(crate) keep_fd: Vec<i32>,
    /// Call the run so: NAME stands for its id in other commands
    #[arg(long, value_name = "NAME", help_heading = "Process")]
    pub(crate) name: Option<String>,
    /// Begin with the changes of RUN, which wait for a word: RUN stays as it is
    #[arg(long, value_name = "RUN", help_heading = "Process")]
    pub(crate) from: Option<String>,
    /// End the run when the process that started endow ends
    #[arg(long, help_heading = "Process")]
    pub(crate) die_with_parent: bool,
    /// Write a report when the run has ended: a file, or fd:N
    #[arg(long, value_name = "FILE|fd:N", help_heading = "Report")]
    pub(crate) report: Vec<OsString>,
    /// Write events as JSON lines while it runs: a file, or fd:N
    #[arg(long, value_name = "FILE|fd:N", help_heading = "Report")]
    pub(crate) events: Option<OsString>,
    /// Also observe which files are asked for: the report then names those that are absent or refused
    /// inside and there outside; slower
    #[arg(long, conflicts_with = "no_observe", help_heading = "Report")]
    pub(crate) explain: bool,
    /// Observe nothing, not even refused calls, started programs and connections
    #[arg(long, help_heading = "Report")]
    pub(crate) no_observe: bool,
    /// Take a layer away, to test what the others hold
    #[cfg(feature = "test-switches")]
    #[arg(long = "test-without", value_name = "LAYER", help_heading = "Tests")]
    pub(crate) test_without: Vec<crate::plan::switches::Layer>,
    /// What only the command line of another sandbox can ask for.
    #[arg(skip)]
    pub(crate) amendment: Amendment,
    #[command(flatten)]
    pub(crate) command: CommandLine,
}

/// The command to run, after `--`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CommandLine {
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) argv: Vec<OsString>,
}
