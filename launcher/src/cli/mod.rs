//! The command line: the only part that prints, and the only one that joins stages.

mod args;
mod build;
mod cache;
mod commands;
mod diff;
mod error;
mod exit;
mod helper;
mod learn;
mod output;
mod report;
mod run;
mod runners;
mod runs;
mod sources;
mod stages;

use std::ffi::OsString;
use std::process::ExitCode;

use args::{Command, Invocation, Usage};
use error::{CommandError, Kind};
use output::Output;

use crate::apply::Begun;
use crate::sys;

/// Bytes of stack that every command has enough of (`endow run` needs between 128 and 192 KiB, measured).
const STACK: u64 = 512 << 10;

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    sys::heap::keep_freed();
    sys::start::outlive_file_limit();
    if let Some(error) = short_of_stack() {
        return Output::new(&args::Style::default()).failure(&error);
    }
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some(speak) = runners::of(arguments.first()) {
        return speak(arguments);
    }
    if args::asks_for_words(&arguments) {
        let output = Output::new(&args::Style::default());
        output.text(&output::words::allow_help());
        return output.ended(ExitCode::SUCCESS);
    }
    let opened = run::opening::open(&arguments);
    let invocation = match args::parse(arguments) {
        Ok(invocation) => invocation,
        Err(usage) => return refuse(&usage),
    };
    let output = Output::new(&invocation.style);
    let running = matches!(invocation.command, Command::Run(_));
    match dispatch(invocation, &output, opened) {
        // The command's own code stands, whatever becomes of a report.
        Ok(code) if running => code,
        Ok(code) => output.ended(code),
        // A command that `run` starts could end with 2 itself.
        Err(error) if error.kind == Kind::Usage && !running => {
            output.failure(&error);
            ExitCode::from(exit::USAGE)
        }
        Err(error) => output.failure(&error),
    }
}

/// Whoever has too small a stack is ended by the kernel, without a word.
fn short_of_stack() -> Option<CommandError> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Stack).current;
    limit.filter(|bytes| *bytes < STACK).map(|bytes| {
        CommandError::new(Kind::Setup, "the stack may not be large enough")
            .about(format!("{} KiB", bytes >> 10))
            .hint(format!("`ulimit -s {}` in the shell first", STACK >> 10))
    })
}

fn refuse(usage: &Usage) -> ExitCode {
    let output = Output::new(&usage.style);
    if let Some((code, printed)) = usage.help() {
        output.note(&printed);
        return output.ended(code);
    }
    let _ = output.failure(&usage.mistake());
    ExitCode::from(usage.code())
}

fn dispatch(
    invocation: Invocation,
    output: &Output,
    opened: Option<Begun>,
) -> Result<ExitCode, CommandError> {
    match invocation.command {
        Command::Run(run) => commands::run::run(&run, output, opened),
        Command::Build(args) => build::run(&args, output),
        Command::Plan(plan) => commands::plan::run(&plan, output),
        Command::Check(check) => commands::check::run(&check, output),
        Command::Why(why) => commands::why::run(&why, output),
        Command::Verify(verify) => commands::verify::run(&verify, output),
        Command::Doctor(doctor) => commands::doctor::run(&doctor, output),
        Command::Learn(learn) => commands::learn::run(&learn, output),
        Command::Init(init) => commands::init::run(&init, output),
        Command::Trust(trust) => commands::trust::run(&trust, output),
        Command::Diff(diff) => commands::diff::run(&diff, output),
        Command::Apply(apply) => commands::apply::run(&apply, output),
        Command::Undo(undo) => commands::undo::run(&undo, output),
        Command::Runs(runs) => commands::runs::run(&runs, output),
        Command::Discard(discard) => commands::discard::run(&discard, output),
        Command::Gc(gc) => commands::gc::run(&gc, output),
        Command::Du(du) => commands::du::run(&du, output),
        Command::Cas(cas) => commands::cas::run(&cas, output),
        Command::Profile(profile) => commands::profile::run(&profile, output),
        Command::Completions(shell) => Ok(commands::completions::run(&shell, output)),
        Command::Man => commands::man::run(output),
    }
}
