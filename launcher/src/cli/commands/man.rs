//! `endow man`.

use std::process::ExitCode;

use clap::builder::{Resettable, StyledStr};

use crate::cli::args;
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::Output;

/// What stands at the foot of each section.
const SOURCE: &str = concat!("endow ", env!("CARGO_PKG_VERSION"));

/// What holds for all commands, as a name and what it means.
const LAST: [(&str, &[(&str, &str)]); 3] = [
    (
        "EXIT STATUS",
        &[
            ("the command's own", "it ran; 128 + N where signal N ended it"),
            ("1", "an answer is no, or an action of a build failed"),
            ("2", "wrong usage of a command other than run"),
            ("70", "a bug in endow"),
            ("120", "a policy file is invalid, or not trusted"),
            ("121", "something was not written back, or not taken back; it is named"),
            ("122", "this host can't enforce what was asked"),
            ("124", "a limit ended the command"),
            ("125", "the sandbox could not be set up, or run was used wrongly"),
            ("126, 127", "the command can't be executed, or is not in the view"),
        ],
    ),
    (
        "FILES",
        &[
            ("endow.toml", "the policy of a project, once it is trusted"),
            ("~/.config/endow/policy.toml", "your own policy"),
            ("~/.config/endow/profiles/NAME.toml", "profiles of your own"),
            ("~/.local/state/endow", "kept runs, with all that undoes them"),
            ("~/.cache/endow", "trees, contents and results; may be deleted at any time"),
        ],
    ),
    (
        "ENVIRONMENT",
        &[
            (
                "ENDOW_CONFIG_DIR, ENDOW_STATE_DIR, ENDOW_CACHE_DIR",
                "other places of these directories",
            ),
            (
                "XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME",
                "what they are in where those are not set",
            ),
            ("NO_COLOR", "no colours, unless --color says otherwise"),
            ("ENDOW_RUN", "set inside: the id of the run"),
        ],
    ),
];

/// Prints the manual page, one section for each command, those of `runs`, `cas` and `profile` too.
pub(crate) fn run(output: &Output) -> Result<ExitCode, CommandError> {
    output.text(&page()?);
    Ok(ExitCode::SUCCESS)
}

fn page() -> Result<String, CommandError> {
    let mut page = Vec::new();
    let mut command = args::command();
    // A command knows its whole name, and the options of all commands, once it is built.
    command.build();
    render(&command, &mut page)?;
    let page = String::from_utf8_lossy(&page);
    let page: String = page.lines().map(|line| here(line) + "\n").collect();
    Ok(page + &LAST.iter().map(last).collect::<String>())
}

/// Renders a command, and those below it.
fn render(command: &clap::Command, page: &mut Vec<u8>) -> Result<(), CommandError> {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    // Its section would be called EXTRA, and its lines be filled.
    let alone = command.clone().override_usage(usage).after_help(Resettable::<StyledStr>::Reset);
    let section = clap_mangen::Man::new(alone).source(SOURCE);
    let rendered = section.render(page);
    rendered
        .map_err(|source| CommandError::new(Kind::Bug, "can't render the page").cause(source))?;
    if let Some(more) = command.get_after_help() {
        page.extend(examples(&more.to_string()).into_bytes());
    }
    command.get_subcommands().try_for_each(|sub| render(sub, page))
}

fn examples(text: &str) -> String {
    let lines = text.lines().filter(|line| *line != "Examples:").map(|line| verbatim(line) + "\n");
    format!(".SH EXAMPLES\n.nf\n{}.fi\n", lines.collect::<String>())
}

/// A line that troff prints as it is.
fn verbatim(line: &str) -> String {
    let escaped = line.replace('\\', "\\e").replace('-', "\\-");
    if escaped.starts_with(['.', '\'']) { format!("\\&{escaped}") } else { escaped }
}

/// All commands stand in this page: there is no other one.
fn here(line: &str) -> String {
    match line.strip_suffix("(1)").filter(|it| it.starts_with("endow\\-")) {
        Some(name) => name.replace("\\-", " "),
        None => line.to_owned(),
    }
}

fn last((heading, rows): &(&str, &[(&str, &str)])) -> String {
    let row = |(name, meaning): &(&str, &str)| {
        format!(".TP\n\\fB{}\\fR\n{}\n", verbatim(name), verbatim(meaning))
    };
    format!(".SH \"{heading}\"\n{}", rows.iter().map(row).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_stands_alone_and_says_what_manuals_say() {
        let page = page().expect("a page");
        assert!(page.contains("\\fBendow\\fR [OPTIONS] \\-\\- COMMAND [ARG...]\n"), "{page}");
        let examples = ".SH EXAMPLES\n.nf\n  endow \\-\\- make  ";
        for part in [examples, ".SH \"EXIT STATUS\"", ".SH \"FILES\"", ".SH \"ENVIRONMENT\""] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("(1)") && !page.contains("EXTRA"), "{page}");
    }

    #[test]
    fn line_is_no_request() {
        assert_eq!(verbatim(".a \\- b"), "\\&.a \\e\\- b");
        assert_eq!(here("endow\\-run(1)"), "endow run");
        assert_eq!(here("see make(1)"), "see make(1)");
    }
}
