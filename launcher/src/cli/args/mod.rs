//! What was typed, exactly: clap types, not understood any further.

mod build;
mod cas;
mod foreign;
mod kept;
mod learn;
mod other;
mod parse;
mod policy;
#[cfg(test)]
mod reference;
mod run;

pub(crate) use build::BuildArgs;
pub(crate) use cas::{CasArgs, CasCommand};
pub(crate) use kept::{
    ApplyArgs, Chosen, DiffArgs, DiscardArgs, DuArgs, GcArgs, RunsArgs, RunsCommand, UndoArgs,
};
pub(crate) use learn::LearnArgs;
pub(crate) use other::{ActionPlace, Amendment, OtherSandbox};
pub(crate) use parse::{Usage, asks_for_words, command, is_run, parse};
pub(crate) use policy::PolicyArgs;
pub(crate) use run::{CommandLine, RunArgs};

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// One call of the program.
#[derive(Debug)]
pub(crate) struct Invocation {
    /// What is to be done.
    pub(crate) command: Command,
    /// How to speak.
    pub(crate) style: Style,
}

/// Both forms: what is parsed as `run` knows no command of endow's.
const USAGE: &str = "endow [OPTIONS] -- COMMAND [ARG...]\n       endow <COMMAND> ...";

/// Give a process the files it was endowed with, and nothing else.
///
/// `endow [OPTIONS] -- COMMAND [ARG...]` is the same as `endow run`.
#[derive(Debug, Parser)]
#[command(name = "endow", version, disable_help_subcommand = true, override_usage = USAGE)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    // What it says of itself stands where its options do: `run` is parsed by itself.
    Run(Box<RunArgs>),
    /// Execute actions with declared inputs and outputs, or take their results from the cache
    Build(Box<BuildArgs>),
    /// Print what `run` would do, step by step; change nothing
    Plan(Box<PlanArgs>),
    /// Validate policy files; show shadowed mounts and rules that nothing can enforce
    Check(CheckArgs),
    /// Say why a path, call or connection is allowed or refused, from the same plan
    Why(Box<WhyArgs>),
    /// Try every rule in exactly this sandbox, and say what the kernel answers; COMMAND is not started
    Verify(Box<VerifyArgs>),
    /// Say what this host can enforce, what is missing, and the exact remedy
    Doctor(DoctorArgs),
    /// Write a commented policy file for the project at hand
    Init(InitArgs),
    /// Run a command without effect, and propose a policy by what it asked for
    Learn(Box<LearnArgs>),
    /// Accept a project's policy file as it is now
    Trust(TrustArgs),
    /// Show what a run changed, as git does
    Diff(DiffArgs),
    /// Write a waiting run's changes back
    Apply(ApplyArgs),
    /// Drop a waiting run's changes
    Discard(DiscardArgs),
    /// Take applied changes back
    Undo(UndoArgs),
    /// List kept runs, or remove some
    Runs(RunsArgs),
    /// Remove what is kept of runs and in the cache beyond the bounds of the policy
    Gc(GcArgs),
    /// Say how much disk each run takes
    Du(DuArgs),
    /// Use the content-addressed store
    Cas(CasArgs),
    /// List or show profiles
    Profile(ProfileArgs),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Print the manual page
    Man,
}

impl Command {
    /// Returns how the command is asked to speak.
    pub(crate) fn style(&self) -> Style {
        match self {
            Self::Run(args) => args.style.clone(),
            Self::Build(args) => args.style.clone(),
            Self::Plan(args) => args.style.clone(),
            Self::Check(args) => args.style.clone(),
            Self::Why(args) => args.style.clone(),
            Self::Verify(args) => args.style.clone(),
            Self::Doctor(args) => args.style.clone(),
            Self::Init(args) => args.style.clone(),
            Self::Learn(args) => args.style.clone(),
            Self::Trust(args) => args.style.clone(),
            Self::Diff(args) => args.style.clone(),
            Self::Apply(args) => args.style.clone(),
            Self::Undo(args) => args.style.clone(),
            Self::Runs(args) => args.style.clone(),
            Self::Discard(args) => args.style.clone(),
            Self::Gc(args) => args.style.clone(),
            Self::Du(args) => args.style.clone(),
            Self::Cas(args) => args.style.clone(),
            Self::Profile(args) => args.style.clone(),
            Self::Completions(_) | Self::Man => Style::default(),
        }
    }
}

/// How to speak.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Style {
    /// Print one JSON object on stdout
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print nothing but errors, reasons of exit codes of endow's own and what was asked for
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Tell everything
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// Use colour
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Color,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Also into files and pipes
    Always,
    /// Not at all
    Never,
}

/// `endow plan`
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    #[command(flatten)]
    pub(crate) command: CommandLine,
}

/// `endow check`
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    /// Also walk the trees for owners, sockets and planted attributes
    #[arg(long)]
    pub(crate) deep: bool,
    /// Policy files; left out, those that a run here would read
    pub(crate) files: Vec<PathBuf>,
}

/// `endow why`
#[derive(Args, Debug)]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// A path of the sandbox, HOST:PORT, or call:NAME; `-` reads `OPERATION PATH` lines from stdin
    #[arg(value_name = "PATH|HOST:PORT|call:NAME")]
    pub(crate) subject: OsString,
    /// What is to be done with it; left out, read for a path and connect for HOST:PORT
    #[arg(long, value_enum, value_name = "OPERATION")]
    pub(crate) to: Option<Operation>,
    /// Ask the kernel as well, about paths: try them in exactly this sandbox, without starting COMMAND
    #[arg(long)]
    pub(crate) verify: bool,
    /// The command whose sandbox is meant
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// `endow verify`
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Take a layer away, to test that its rules are named
    #[cfg(feature = "test-switches")]
    #[arg(long = "test-without", value_name = "LAYER", help_heading = "Tests")]
    pub(crate) test_without: Vec<crate::plan::switches::Layer>,
    /// The command whose sandbox is meant
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Operation {
    /// Open for reading, or list
    Read,
    /// Open for writing, or make
    Write,
    /// Execute
    Execute,
    /// Connect
    Connect,
}

/// `endow doctor`
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) style: Style,
}

/// `endow init`
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    /// Print the file, and write nothing
    #[arg(long)]
    pub(crate) print: bool,
}

/// `endow trust`
#[derive(Args, Debug)]
pub(crate) struct TrustArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    /// An `endow.toml`; left out, the nearest one
    pub(crate) file: Option<PathBuf>,
    /// Accept without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// `endow profile`
#[derive(Args, Debug)]
pub(crate) struct ProfileArgs {
    #[command(flatten)]
    pub(crate) style: Style,
    #[command(subcommand)]
    pub(crate) command: ProfileCommand,
}

/// The commands of `endow profile`.
#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// List built-in profiles and the user's own
    List,
    /// Show a profile, each path with its reason
    Show {
        /// The profile's name
        name: String,
    },
    /// Name grants that no observed run of this project used; change nothing
    Trim {
        /// The profile's name; left out, the project's policy is meant
        name: Option<String>,
    },
}

/// `endow completions`
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}
