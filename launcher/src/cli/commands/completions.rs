//! `endow completions`.

use std::process::ExitCode;

use crate::cli::args::{self, CompletionsArgs};
use crate::cli::output::Output;

/// Prints the completions of a shell.
pub(crate) fn run(args: &CompletionsArgs, output: &Output) -> ExitCode {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut args::command(), "endow", &mut text);
    output.text(&String::from_utf8_lossy(&text));
    ExitCode::SUCCESS
}
