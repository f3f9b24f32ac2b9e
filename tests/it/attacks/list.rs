//! The list of all attacks, and the page that is written from it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;

use super::attack::{Attack, Control};

/// Every table, by the name of its file.
const TABLES: &[(&str, &[Attack])] = &[
    ("absent", super::absent::ATTACKS),
    ("calls", super::calls::ATTACKS),
    ("control_files", super::control_files::ATTACKS),
    ("credentials", super::credentials::ATTACKS),
    ("crowds", super::crowds::ATTACKS),
    ("descriptors", super::descriptors::ATTACKS),
    #[cfg(target_arch = "x86_64")]
    ("doors", super::doors::ATTACKS),
    ("families", super::families::ATTACKS),
    ("hidden", super::hidden::ATTACKS),
    ("in_namespaces", super::in_namespaces::ATTACKS),
    ("keys", super::keys::ATTACKS),
    ("lifecycle", super::lifecycle::ATTACKS),
    ("links", super::links::ATTACKS),
    ("loopback", super::loopback::ATTACKS),
    ("pid_1", super::pid_1::ATTACKS),
    ("privilege", super::privilege::ATTACKS),
    ("protected", super::protected::ATTACKS),
    ("read_only", super::read_only::ATTACKS),
    ("resources", super::resources::ATTACKS),
    ("shared", super::shared::ATTACKS),
    ("signals", super::signals::ATTACKS),
    ("sockets", super::sockets::ATTACKS),
    ("terminal", super::terminal::ATTACKS),
    ("victim", super::victim::ATTACKS),
    ("words", super::words::ATTACKS),
    ("write_back", super::write_back::ATTACKS),
];

/// Attacks that are tests of their own: something is prepared, happens meanwhile, or is found later.
/// The last word says what becomes of each without the rule or the sandbox.
const OTHERS: &[(&str, &str, &str)] = &[
    (
        "escape::descriptors::escape_by_a_directory_as_a_standard_stream",
        "a directory as a standard stream",
        "works",
    ),
    (
        "escape::files::escape_by_links_in_the_workspace",
        "links that are there before the start",
        "works",
    ),
    (
        "escape::granted_sockets::socket_that_is_made_again_is_closed_again",
        "a service that starts again",
        "none: that it is open at first is a matter of time",
    ),
    (
        "escape::hidden::escape_to_a_denied_name_that_the_host_replaces",
        "a hidden name that the host replaces meanwhile",
        "none here; `hidden` has those of the name",
    ),
    (
        "escape::hidden::escape_by_writing_a_policy_for_the_next_run",
        "a policy in the home",
        "works",
    ),
    (
        "escape::links::escape_by_a_link_in_the_place_of_a_grant",
        "a link where the next run has a grant",
        "works where nothing is writable",
    ),
    (
        "escape::links::escape_by_a_link_in_the_place_of_a_program_directory",
        "a link where the base shows programs",
        "works where the home is not live",
    ),
    (
        "escape::policies::escape_by_a_policy_file_that_is_rewritten",
        "the policy file of the next run",
        "works",
    ),
    (
        "escape::policies::replaced_policy_file_is_held_again",
        "one that the host replaces meanwhile",
        "none: that it is open at first is a matter of time",
    ),
    (
        "escape::processes::escape_by_signals_to_everybody_and_to_the_callers_group",
        "signals to the caller's group",
        "works",
    ),
    (
        "escape::processes::escape_by_killing_pid_1",
        "ending the first process",
        "none: outside it is the machine's",
    ),
    (
        "escape::races::escape_by_swapping_a_source_during_the_start",
        "a race: the source of a grant and a link",
        "none; that both were met is asserted",
    ),
    (
        "escape::races::escape_by_swapping_a_mount_point_during_the_start",
        "a race: the place of a mount and a link",
        "none",
    ),
    (
        "escape::stops::escape_from_the_time_limit_by_stopping",
        "stopping itself to outlive a limit",
        "none: `timeout` ends one too",
    ),
    (
        "escape::stops::escape_from_the_watch_over_denied_names_by_stopping",
        "stopping itself while a hidden name is replaced",
        "none",
    ),
    (
        "escape::words::escape_of_words_through_proc",
        "words of paths and flags below /proc",
        "works",
    ),
    (
        "in_place::nested::killed_inner_supervisor_leaves_nothing",
        "a supervisor in a sandbox, killed",
        "none",
    ),
    (
        "network::escape::datagrams::escape_by_datagrams",
        "datagrams, and data before a connection",
        "works with the host's network",
    ),
    (
        "network::escape::families::escape_by_families_that_anybody_may_use",
        "MPTCP, pings, io_uring",
        "works",
    ),
    (
        "network::escape::names::escape_by_names_like_the_allowed_one",
        "names like an allowed one",
        "works with the host's network",
    ),
    (
        "network::escape::names::escape_by_names_that_are_bound_anew",
        "a name that gets another address",
        "works with the host's network",
    ),
    (
        "network::escape::names::escape_by_questions",
        "data in questions for names",
        "works with the host's network",
    ),
    (
        "network::escape::places::escape_by_ports_of_another_rule",
        "ports of another rule",
        "works with the host's network",
    ),
    (
        "network::escape::places::escape_by_spellings_of_an_address",
        "spellings of an address",
        "works with the host's network",
    ),
    (
        "network::escape::settings::escape_by_settings_of_the_network",
        "routes and addresses of its own",
        "works: namespaces",
    ),
    (
        "sync_races::nothing_outside_changes",
        "a race: directories and links during the write-back",
        "works with a naive write-back",
    ),
    (
        "awaited::attacks::root_that_was_replaced_gets_nothing",
        "a place that is replaced before it is made",
        "none",
    ),
];

#[test]
fn names_are_used_once() {
    for (table, attacks) in TABLES {
        let names: BTreeSet<_> = attacks.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), attacks.len(), "{table}");
    }
    let all: usize = TABLES.iter().map(|(_, attacks)| attacks.len()).sum();
    assert!(all >= 150, "{all} attacks");
}

#[test]
fn other_attacks_are_tests() {
    let mut command = Command::new(std::env::current_exe().expect("the program"));
    let said = crate::harness::said(command.args(["--list", "--format", "terse"]));
    let names: BTreeSet<&str> = said.ok().lines().collect();
    for (name, ..) in OTHERS {
        assert!(names.contains(&*format!("{name}: test")), "{name}");
    }
}

/// `ENDOW_UPDATE=1` writes it.
#[test]
fn page_is_current() {
    if !cfg!(target_arch = "x86_64") {
        return crate::harness::elsewhere("the page has the attacks of x86-64");
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/attacks.md");
    let page = page();
    if std::env::var_os("ENDOW_UPDATE").is_some() {
        std::fs::write(path, &page).expect("written");
    }
    assert_eq!(std::fs::read_to_string(path).expect("a page"), page);
}

const HEAD: &str = "# Attacks

What is tried on every build, by `cargo ci test attacks::`, as an ordinary user and as root. This page is
written from the tables in `tests/it/attacks`, each of whose lines is a test of the same name.

Each attack is made without a sandbox first: that control shows that it works. Then it is made in four kinds of sandbox:
what `endow -- COMMAND` makes without options; the profile of an agent in a live project; copies that are
written back; and an action of `endow build`. What an action has nothing of, changes that are written back and limits but that of time, is
tried in the first three. Afterwards the files outside, a process of the same user and its services must be as they were, and nobody
may have reached them. The answers in the last column are the only ones that count as contained. \"Namespaces\"
in a control is the root of a user namespace of its own: what any user can be where a sandbox does not forbid it.

";

fn page() -> String {
    let all: usize = TABLES.iter().map(|(_, attacks)| attacks.len()).sum();
    let mut page = format!("{HEAD}{all} attacks in {} tables.\n", TABLES.len());
    for (table, attacks) in TABLES {
        let head = "| attack | what is tried | without a sandbox | in one |\n|---|---|---|---|";
        write!(page, "\n## {}\n\n{head}\n", table.replace('_', " ")).expect("text");
        for it in *attacks {
            page += &row(it);
        }
    }
    page += "\n## Tests of their own\n\n| test | what is tried | control |\n|---|---|---|\n";
    for (name, what, control) in OTHERS {
        writeln!(page, "| `{name}` | {what} | {control} |").expect("text");
    }
    page
}

fn row(attack: &Attack) -> String {
    let refused: Vec<String> = attack.refused.iter().map(|it| format!("`{it}`")).collect();
    let (name, what, control) = (attack.name, attack.what, control(attack.control));
    format!("| `{name}` | {what} | {control} | {} |\n", refused.join(" "))
}

fn control(control: Control) -> String {
    match control {
        Control::Succeeds => "works".to_owned(),
        Control::AsRootOfNamespaces => "works: namespaces".to_owned(),
        Control::AsRoot => "works as root".to_owned(),
        Control::WhereThere(absent) => {
            let absent: Vec<String> = absent.split(' ').map(|it| format!("`{it}`")).collect();
            format!("works where there is one; else {}", absent.join(" "))
        }
        Control::Not(why) => format!("not made: {why}"),
    }
}
