//! Data that can't be printed: whoever has a part of it is told, by a message and by the exit code.

use std::fs::OpenOptions;
use std::process::Command;

use crate::harness::{Said, World, said};
use crate::kept_changes::Changed;

/// What stands where nothing more can be written.
const FULL: &str = "/dev/full";

fn into_full(command: &mut Command) -> Said {
    let full = OpenOptions::new().write(true).open(FULL).expect("a device");
    said(command.stdout(full))
}

fn is_told(said: &Said, code: i32, what: &str) {
    assert_eq!(said.code, code, "{what}: {}", said.stderr);
    let told = said.stderr.matches("not all that was asked for could be written").count();
    assert_eq!(told, 1, "{what}: {}", said.stderr);
}

#[test]
fn lost_output_is_told_and_no_success() {
    let changed = Changed::new();
    let stored = said(&mut changed.world.endow(["cas", "put", "edited"]));
    let digest = stored.ok().split_whitespace().next().expect("a digest");
    let commands: &[&[&str]] = &[
        &["diff"],
        &["diff", "-q"],
        &["diff", "--stat"],
        &["diff", "--exit-code"],
        &["diff", "--json"],
        &["cas", "cat", digest],
        &["plan", "--", "true"],
        &["runs"],
        &["why", "/nothing"],
        &["profile", "show", "base"],
        &["completions", "bash"],
        &["man"],
        &["--help"],
    ];
    for words in commands {
        is_told(&into_full(&mut changed.world.endow(*words)), 125, &words.join(" "));
    }
}

/// A closed standard output takes nothing.
#[test]
fn output_that_goes_nowhere_is_no_success() {
    let changed = Changed::new();
    for words in ["diff", "runs", "plan -- true"] {
        let line = format!("\"$0\" {words} >&-");
        let mut shell = changed.world.command("bash");
        is_told(&said(shell.args(["-c", &line]).arg(crate::harness::endow())), 125, words);
    }
}

#[test]
fn patch_that_is_cut_short_is_no_success() {
    let changed = Changed::new();
    std::fs::write(changed.world.project().join("edited"), "x\n".repeat(9000)).expect("written");
    let script = "trap '' XFSZ; ulimit -f 2; exec \"$0\" diff >part";
    let said =
        said(changed.world.command("bash").args(["-c", script]).arg(crate::harness::endow()));
    is_told(&said, 125, "a limit of file sizes");
    let part = std::fs::metadata(changed.world.project().join("part")).expect("a part");
    assert_eq!(part.len(), 2048);
}

#[test]
fn reader_that_has_gone_had_what_it_wanted() {
    let changed = Changed::new();
    let script = "\"$0\" diff | true; echo \"${PIPESTATUS[0]}\"";
    let said =
        said(changed.world.command("bash").args(["-c", script]).arg(crate::harness::endow()));
    assert_eq!((said.ok(), &*said.stderr), ("0\n", ""));
}

#[test]
fn code_of_a_run_is_the_command_s_whatever_becomes_of_its_report() {
    let changed = Changed::new();
    for code in [0, 3] {
        let script = format!("exit {code}");
        let mut run = changed.world.endow(["run", "--json", "--", "sh", "-c", &script]);
        is_told(&into_full(&mut run), code, "run --json");
    }
}

/// A name may hold line ends, and what moves a terminal's cursor.
#[test]
fn names_forge_no_line_of_a_plan() {
    let world = World::new();
    world.write("home/project/q\u{1b}[2J\nlevel   full\nmount   nothing (forged)/.env", "secret");
    let plan = said(&mut world.endow(["plan", "--", "true"]));
    let forged = plan.ok().lines().filter(|line| line.contains("forged)")).collect::<Vec<_>>();
    assert!(!forged.is_empty(), "the control: {}", plan.stdout);
    assert!(
        forged.iter().all(|line| !line.starts_with("mount") && line.contains("\\n")),
        "{forged:?}"
    );
    assert!(!plan.stdout.contains('\u{1b}'));
}
