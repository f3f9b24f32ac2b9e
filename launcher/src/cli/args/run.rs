//! The arguments of `endow run`.

use std::ffi::OsString;

use clap::Args;

use super::{Amendment, PolicyArgs, Style};

/// What `run` is good for, line by line.
const EXAMPLES: &str = "\
Examples:
  endow -- make                      its changes are written back at the end
  endow run --sync review -- make    they wait for endow diff and endow apply
  endow run --workspace ro -- ls     the project can be read, not changed
  endow run --net example.org -- curl https://example.org
  endow -- claude                    a coding agent; endow undo takes back

`endow plan` tells what a run would do, `endow why PATH` why a path is there or not.";

/// Run a command in a sandbox
///
/// It sees the files, variables, sockets and hosts that the policy names, and nothing else. What it
/// changes in the workspace is written back when it has ended, unless `--workspace` or `--sync` says
/// otherwise. endow ends as the command does; 120 to 127 are exit codes of its own.
#[derive(Args, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Hand descriptor N to the command (0, 1 and 2 always are)
    #[arg(long = "keep-fd", value_name = "N", help_heading = "Process")]
    pub(crate) keep_fd: Vec<i32>,
    /// Give the run a name, which stands for its id in other commands (`endow diff NAME`)
    #[arg(long, value_name = "NAME", help_heading = "Process")]
    pub(crate) name: Option<String>,
    /// Begin with the changes of RUN, an earlier run whose changes wait: that stays as it is
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
    /// Also observe files: those that the command asked for and that are there outside, but absent or
    /// refused inside, are told in the report and at the end, without a terminal too; slower
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
