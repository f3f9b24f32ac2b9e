//! The arguments of the commands on runs that were kept.

use std::ffi::OsString;

use clap::{Args, Subcommand};

use super::Style;

/// `endow runs`
#[derive(Args, Debug)]
pub(crate) struct RunsArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    #[command(subcommand)]
    pub(crate) command: Option<RunsCommand>,
}

/// The commands of `endow runs`.
#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// Remove runs with all that could undo them; changes that wait must be discarded first
    Rm {
        /// Ids, unique prefixes or names
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
    },
}

/// `endow gc`
#[derive(Args, Debug)]
pub(crate) struct GcArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    /// Say what would be removed, and remove nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
}

/// `endow du`
#[derive(Args, Debug)]
pub(crate) struct DuArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    /// Ids, unique prefixes or names; left out, all runs
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
}

/// `endow discard`
#[derive(Args, Debug)]
pub(crate) struct DiscardArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    #[command(flatten)]
    pub(crate) chosen: Chosen,
}

/// A run, and paths of it.
#[derive(Args, Clone, Debug)]
pub(crate) struct Chosen {
    /// The run (an id, a unique prefix or a name; left out, this workspace's newest), then paths
    #[arg(value_name = "RUN|PATH")]
    pub(crate) words: Vec<OsString>,
    /// Paths only, after `--`
    #[arg(last = true, value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,
}
