//! `endow man`.

use std::process::ExitCode;

use crate::cli::args;
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::Output;

/// Prints the manual page, one section for each command.
pub(crate) fn run(output: &Output) -> Result<ExitCode, CommandError> {
    let mut page = Vec::new();
    let command = args::command();
    render(&command, &mut page)?;
    for sub in command.get_subcommands() {
        render(sub, &mut page)?;
    }
    output.text(&String::from_utf8_lossy(&page));
    Ok(ExitCode::SUCCESS)
}

fn render(command: &clap::Command, page: &mut Vec<u8>) -> Result<(), CommandError> {
    let rendered = clap_mangen::Man::new(command.clone()).render(page);
    rendered.map_err(|source| CommandError::new(Kind::Bug, "can't render the page").cause(source))
}
