//! The arguments of the commands on runs that were kept.

use std::ffi::OsString;

use clap::{Args, Subcommand, ValueEnum};
use endow_policy::OnConflict;

use super::Style;

/// `endow runs`
#[derive(Args, Debug)]
pub(crate) struct RunsArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    /// List those of this workspace alone
    #[arg(long)]
    pub(crate) here: bool,
    /// List the newest N
    #[arg(short = 'n', long, value_name = "N", value_parser = newest)]
    pub(crate) last: Option<usize>,
    #[command(subcommand)]
    pub(crate) command: Option<RunsCommand>,
}

fn newest(text: &str) -> Result<usize, &'static str> {
    text.parse().map_err(|_| "whole numbers are taken")
}

/// The commands of `endow runs`.
#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// Remove runs with all that could undo them; changes that wait must be discarded first
    Rm {
        /// Ids, unique prefixes or names
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
        /// Also with changes that wait, a write-back that was begun and can't be finished, or a record that can't be used
        #[arg(long)]
        force: bool,
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
    /// Give up a write-back that can't be finished, too: what it did can still be undone
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) chosen: Chosen,
}

/// `endow apply`
#[derive(Args, Debug)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    /// Who wins where both sides changed a path; left out, as the run was started with
    #[arg(long, value_enum, value_name = "CHOICE")]
    pub(crate) on_conflict: Option<Winner>,
    #[command(flatten)]
    pub(crate) chosen: Chosen,
}

/// `endow undo`
#[derive(Args, Debug)]
pub(crate) struct UndoArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    #[command(flatten)]
    pub(crate) chosen: Chosen,
}

/// `endow diff`
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag as it was typed")]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    /// Show how much changed in each file
    #[arg(long)]
    pub(crate) stat: bool,
    /// Show a patch for `git apply`: what is shown when nothing else is asked for
    #[arg(short = 'p', long)]
    pub(crate) patch: bool,
    /// Show names only, each with a letter for what was done
    #[arg(long)]
    pub(crate) name_status: bool,
    /// Exit with 1 when there are changes
    #[arg(long)]
    pub(crate) exit_code: bool,
    #[command(flatten)]
    pub(crate) chosen: Chosen,
}

/// Who wins where both sides changed a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Winner {
    /// The host's stays, the run's is kept
    Host,
    /// The run's; undo takes it back
    Guest,
    /// Texts that git knows are merged, else as `host`
    Merge,
    /// Nobody: one conflict, and nothing is applied
    Abort,
}

impl From<Winner> for OnConflict {
    fn from(winner: Winner) -> Self {
        match winner {
            Winner::Host => Self::Host,
            Winner::Guest => Self::Guest,
            Winner::Merge => Self::Merge,
            Winner::Abort => Self::Abort,
        }
    }
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
