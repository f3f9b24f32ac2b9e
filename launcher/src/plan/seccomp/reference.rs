//! `docs/reference/system-calls.md`, generated from the tables.

use std::fmt::Write as _;

use super::confined::ConfinedPlan;
use super::group::{Applies, Group};
use super::reaper::ReaperPlan;
use super::shared::Shared;
use super::table::CALLS;

const HEAD: &str = "\
# System calls

What a run's processes may ask of the kernel. Generated from `launcher/src/plan/seccomp`; a test
keeps it current. `endow why call:NAME` answers for one call.

Calls of another architecture and x32 calls kill the process. Numbers that no row below has are
answered `ENOSYS`, as an older kernel would.

";

const FOREIGN: &str = "
`foreign-arch` also lets calls of this machine's 32-bit programs (i386 on x86_64, 32-bit ARM on
aarch64) pass, ruled by the same groups. What can't be ruled is i386's `socketcall`: with this word
32-bit programs may make sockets of every family and protocol that the kernel has. x32 stays killed.

";

const OBSERVED: &str = "
What is refused and what is announced (`notify`) is seen by the supervisor, unless `--no-observe`: a
refused call gets the error of this table from it, and one that is announced goes on at once. Refusals of
`clone3`, `obsolete` and unknown numbers are not seen, for libraries try these all the time and go another
way; nor are calls of 32-bit programs.

";

const SHARED: &str = "\
A run at level `landlock` has no namespaces. What these keep apart, the filter refuses there,
whatever words are given:

| group | without network | with the host's network |
|---|---|---|
";

/// Renders the reference page.
pub(super) fn render() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("| group | without the word | lifted by | what it is |\n|---|---|---|---|\n");
    page.extend(Group::ALL.iter().map(|group| row(*group)));
    page.push_str(FOREIGN);
    page.push_str(OBSERVED);
    page.push_str(SHARED);
    page.extend(Group::ALL.iter().filter_map(|group| shared_row(*group)));
    page.push('\n');
    page.extend(Group::ALL.iter().map(|group| section(*group)));
    page.push_str(&reaper());
    page.push_str(&confined());
    page
}

fn row(group: Group) -> String {
    let rule = group.rule();
    let word = rule.lift.map_or("", |lift| lift.word.word());
    let when = match rule.applies {
        Applies::Always => "",
        Applies::StricterWithTcpRules(leaf) => &format!(" (when ports are ruled: {leaf})"),
        Applies::ByForeground { refused, announced } => {
            &format!(" (in a pipeline: {refused}; at a terminal: {announced})")
        }
        Applies::WithoutSignalScope => " (where Landlock has no signal scope)",
        Applies::WithTcpRules => " (when ports are ruled)",
        Applies::WhenObserved => " (unless `--no-observe`)",
        Applies::WhenConnecting => {
            " (unless `--no-observe`, and with rules for ranges or any port)"
        }
        Applies::WhenExplained => " (with `--explain`)",
        Applies::WhenBuffered => " (where changes are buffered, and with `--explain`)",
    };
    format!("| {} | {}{when} | {word} | {} |\n", group.name(), rule.default, rule.about)
}

fn shared_row(group: Group) -> Option<String> {
    let without = Shared::NoNetwork.leaf(group)?;
    let with = Shared::Network.leaf(group)?;
    Some(format!("| {} | {without} | {with} |\n", group.name()))
}

fn section(group: Group) -> String {
    let calls = CALLS.iter().filter(|call| call.group == group);
    let names: Vec<_> = calls.map(|call| format!("`{}`", call.name)).collect();
    format!("## {}\n\n{}\n\n", group.name(), wrapped(&names))
}

fn reaper() -> String {
    let names: Vec<_> = ReaperPlan::CALLS.iter().map(|name| format!("`{name}`")).collect();
    format!(
        "## pid 1\n\nThe reaper may only make these calls; others are answered `{}`.\n\n{}\n",
        ReaperPlan::OTHERS,
        wrapped(&names)
    )
}

fn confined() -> String {
    let names: Vec<_> = ConfinedPlan::refused().map(|call| format!("`{}`", call.name)).collect();
    format!(
        "\n## Confined processes\n\nWhat reads repositories and stores on the host may make none of these calls, which are \
         answered `{}`, nor what is refused above without a word.\n\n{}\n",
        ConfinedPlan::REFUSED,
        wrapped(&names)
    )
}

fn wrapped(words: &[String]) -> String {
    let mut text = String::new();
    let mut column = 0;
    for word in words {
        let separator = match column {
            0 => "",
            _ if column + word.len() > 98 => "\n",
            _ => " ",
        };
        column = if separator == "\n" { word.len() } else { column + word.len() + 1 };
        let _ = write!(text, "{separator}{word}");
    }
    text
}
