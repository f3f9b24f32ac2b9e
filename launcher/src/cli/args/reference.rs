//! Keeps the tables of options in `docs/reference/cli.md` as clap has them.

use std::fmt::Write;
use std::path::Path;

use super::command;

/// Every option of a command as a table, those of all commands left out.
fn table(command: &clap::Command) -> String {
    const COMMON: [&str; 5] = ["json", "quiet", "verbose", "color", "help"];
    let mut text = String::from("\n| option | meaning |\n|---|---|\n");
    let options = command.get_arguments().filter(|it| !COMMON.contains(&it.get_id().as_str()));
    for option in options {
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        let (name, help) = (name(option).replace('|', "\\|"), help.replace('|', "\\|"));
        writeln!(text, "| `{name}` | {help} |").expect("a string");
    }
    text
}

fn name(option: &clap::Arg) -> String {
    let value = option.get_value_names().unwrap_or_default().join(" ");
    let takes_value = option.get_action().takes_values();
    let long = option.get_long().map(|long| format!("--{long}"));
    let short = option.get_short().map(|short| format!("-{short}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    match (names.join(", "), takes_value) {
        (names, _) if names.is_empty() => value,
        (names, true) => format!("{names} {value}"),
        (names, false) => names,
    }
}

/// Replaces what stands between the markers of each command.
fn current(page: &str) -> String {
    let mut page = page.to_owned();
    for command in command().get_subcommands() {
        let begin = format!("<!-- options of {} -->\n", command.get_name());
        let Some(start) = page.find(&begin).map(|at| at + begin.len()) else { continue };
        let length = page[start..].find("\n<!-- end -->").expect("an end marker");
        page.replace_range(start..start + length, table(command).trim_end_matches('\n'));
    }
    page
}

/// `ENDOW_UPDATE=1` writes the tables anew.
#[test]
fn options_are_documented_as_they_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/cli.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let current = current(&page);
    if std::env::var_os("ENDOW_UPDATE").is_some() {
        std::fs::write(&path, &current).expect("written");
        return;
    }
    assert_eq!(page, current, "run with ENDOW_UPDATE=1");
}

#[test]
fn every_command_has_a_section() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/cli.md");
    let page = std::fs::read_to_string(path).expect("the page");
    for command in command().get_subcommands() {
        let heading = format!("## endow {}\n", command.get_name());
        assert!(page.contains(&heading), "no section for {}", command.get_name());
    }
}
