//! The arguments of `endow build`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::Style;

/// `endow build`
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    /// Actions of the policy file, by name; left out, all of them
    #[arg(value_name = "NAME", conflicts_with = "command")]
    pub(crate) names: Vec<String>,
    /// COMMAND sees this file, directory or pattern of files
    #[arg(
        long,
        value_name = "PATTERN",
        requires = "command",
        conflicts_with = "names",
        help_heading = "One action"
    )]
    pub(crate) input: Vec<String>,
    /// COMMAND leaves this file; with a `/` at its end, this directory
    #[arg(
        long,
        value_name = "PATH",
        requires = "command",
        conflicts_with = "names",
        help_heading = "One action"
    )]
    pub(crate) output: Vec<String>,
    /// COMMAND has this tree of the store at `/`, and no program of the host
    #[arg(
        long,
        value_name = "DIGEST",
        requires = "command",
        conflicts_with = "names",
        help_heading = "One action"
    )]
    pub(crate) root: Option<String>,
    /// COMMAND sees this file or directory of the host, at its own path
    #[arg(
        long,
        value_name = "PATH",
        requires = "command",
        conflicts_with = "names",
        help_heading = "One action"
    )]
    pub(crate) tool: Vec<OsString>,
    /// COMMAND has this variable
    #[arg(
        long,
        value_name = "NAME=VALUE",
        requires = "command",
        conflicts_with = "names",
        help_heading = "One action"
    )]
    pub(crate) env: Vec<String>,
    /// End COMMAND after this time
    #[arg(
        long,
        value_name = "TIME",
        requires = "command",
        conflicts_with = "names",
        help_heading = "One action"
    )]
    pub(crate) timeout: Option<String>,
    /// Execute everything, and remember nothing
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Execute each action twice, under other conditions, and compare; name the inputs that it never reads
    #[arg(long)]
    pub(crate) check: bool,
    /// Try every rule of the sandboxes of the actions, and execute none
    #[arg(long, conflicts_with_all = ["check", "force", "no_cache", "keep_going", "remote", "jobs"])]
    pub(crate) verify: bool,
    /// Say of each action whether it would be executed; execute nothing, and put nothing in place
    #[arg(short = 'n', long, conflicts_with_all = ["check", "verify"])]
    pub(crate) dry_run: bool,
    /// Go on with what needs nothing of an action that failed
    #[arg(short, long)]
    pub(crate) keep_going: bool,
    /// Share results with other builds by this cache: `grpcs://HOST`, `grpc://HOST:PORT`, `unix:PATH`, or `file:DIR`, as Bazel's --disk_cache
    #[arg(long, value_name = "URL")]
    pub(crate) remote: Option<String>,
    /// How many actions are executed at a time, 1 or more; left out, as many as there are processors
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Replace what stands at the place of an output, whoever made it
    #[arg(long)]
    pub(crate) force: bool,
    /// Do as if endow had been started in DIR
    #[arg(short = 'C', value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Use the actions of this policy file instead of the project's
    #[arg(short, long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// The command, when there is one action
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

fn jobs(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "1 is the least, and whole numbers are taken")
}
