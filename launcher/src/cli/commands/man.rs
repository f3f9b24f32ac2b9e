//! `endow man`.

use std::process::ExitCode;

use crate::cli::args;
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::Output;

/// What stands at the foot of each section.
const SOURCE: &str = concat!("endow ", env!("CARGO_PKG_VERSION"));

/// Prints the manual page, one section for each command, those of `runs`, `cas` and `profile` too.
pub(crate) fn run(output: &Output) -> Result<ExitCode, CommandError> {
    let mut page = Vec::new();
    let mut command = args::command();
    // A command knows its whole name, and the options of all commands, once it is built.
    command.build();
    render(&command, &mut page)?;
    output.text(&String::from_utf8_lossy(&page));
    Ok(ExitCode::SUCCESS)
}

/// Renders a command, and those below it.
fn render(command: &clap::Command, page: &mut Vec<u8>) -> Result<(), CommandError> {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    let section = clap_mangen::Man::new(command.clone().override_usage(usage)).source(SOURCE);
    let rendered = section.render(page);
    rendered
        .map_err(|source| CommandError::new(Kind::Bug, "can't render the page").cause(source))?;
    command.get_subcommands().try_for_each(|sub| render(sub, page))
}
