//! Keeps the tables of options in `docs/reference/cli.md` as clap has them.

use std::fmt::Write;
use std::path::Path;

use clap::Args;

use super::{PolicyArgs, command};

/// The options that all commands with a policy have in common.
fn of_policies() -> clap::Command {
    PolicyArgs::augment_args(clap::Command::new("a policy"))
}

/// What the page has a table of: each command, and the options of a policy.
fn subjects() -> Vec<clap::Command> {
    command().get_subcommands().cloned().chain([of_policies()]).collect()
}

/// Every option of a command as a table, and those of its own commands behind their names; those of all
/// commands, and of a policy, left out. `None` where there is none.
fn table(command: &clap::Command) -> Option<String> {
    let mut rows = String::new();
    append(&mut rows, command, "");
    (!rows.is_empty()).then(|| format!("\n| option | meaning |\n|---|---|\n{}", rows.trim_end()))
}

fn append(rows: &mut String, command: &clap::Command, prefix: &str) {
    for option in own(command) {
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        let (name, help) = (name(option).replace('|', "\\|"), help.replace('|', "\\|"));
        writeln!(rows, "| `{prefix}{name}` | {help} |").expect("a string");
    }
    for sub in command.get_subcommands() {
        append(rows, sub, &format!("{prefix}{} ", sub.get_name()));
    }
}

fn own(command: &clap::Command) -> impl Iterator<Item = &clap::Arg> {
    const COMMON: [&str; 5] = ["json", "quiet", "verbose", "color", "help"];
    let policies = of_policies();
    let has_policy = command.get_name() != policies.get_name()
        && policies.get_arguments().all(|it| has(command, it));
    command.get_arguments().filter(move |option| {
        let is_common = COMMON.contains(&option.get_id().as_str());
        let is_of_policy = has_policy && has(&policies, option);
        !is_common && !is_of_policy
    })
}

fn has(command: &clap::Command, option: &clap::Arg) -> bool {
    command.get_arguments().any(|it| it.get_id() == option.get_id())
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

fn marker(command: &clap::Command) -> String {
    format!("<!-- options of {} -->\n", command.get_name())
}

/// Replaces what stands between the markers of each command.
fn current(page: &str) -> String {
    let mut page = page.to_owned();
    for command in subjects() {
        let (Some(table), begin) = (table(&command), marker(&command)) else { continue };
        let start = page.find(&begin).unwrap_or_else(|| panic!("no `{begin}`")) + begin.len();
        let length = page[start..].find("\n<!-- end -->").expect("an end marker");
        page.replace_range(start..start + length, &table);
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
        let has_table = page.contains(&marker(command));
        assert_eq!(has_table, table(command).is_some(), "the table of {}", command.get_name());
    }
}
