//! `endow doctor`, and hosts that refuse what a sandbox is made of.

use serde_json::Value;

use crate::harness::{Said, World, debian_program, endow, said};

const REFUSE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/filter/refuse.py");

#[test]
fn doctor_finds_a_host_where_everything_works() {
    let world = World::new();
    let said = self::said(&mut world.endow(["doctor", "--json"]));
    let diagnosis: Value = serde_json::from_str(said.ok()).expect("JSON");
    assert_eq!(diagnosis["level"], "full", "{}", said.stdout);
    let seen = &diagnosis["sandbox"];
    assert_eq!(seen["NoNewPrivs"], "1");
    assert_eq!(seen["Seccomp"], "2");
    assert_eq!(seen["Landlock"], "1");
    assert_eq!(seen["CapBnd"], "0000000000000000");
    world.assert_no_run_left();
    let text = self::said(&mut world.endow(["doctor"]));
    assert!(text.ok().starts_with("level full"), "{}", text.stdout);
}

/// Runs endow five times behind a filter; returns what it said and the codes and times.
fn refused(world: &World, variant: &str, arguments: &[&str]) -> Option<(Said, Vec<(i32, u64)>)> {
    let python = debian_program("python3")?;
    let mut command = world.command(python);
    command.arg("-S").arg(REFUSE).arg(variant).arg(endow()).args(arguments);
    let said = said(&mut command);
    let line = |line: &str| {
        let (code, time) = line.split_once(' ')?;
        Some((code.parse().ok()?, time.parse().ok()?))
    };
    let runs: Vec<_> = said.stdout.lines().filter_map(line).collect();
    assert_eq!(runs.len(), 5, "{}{}", said.stdout, said.stderr);
    Some((said, runs))
}

/// What a refusal may take at its best; a program built for debugging is several times slower.
const REFUSAL_US_MAX: u64 = if cfg!(debug_assertions) { 250_000 } else { 50_000 };

#[track_caller]
fn check(variant: &str) {
    let world = World::new();
    let Some((said, runs)) =
        refused(&world, variant, &["--workspace", "rw", "--", "touch", "marker"])
    else {
        return;
    };
    assert!(runs.iter().all(|(code, _)| *code == 122), "{runs:?}\n{}", said.stderr);
    let best = runs.iter().map(|(_, time)| *time).min();
    assert!(best < Some(REFUSAL_US_MAX), "{runs:?}");
    assert!(!world.project().join("marker").exists());
    world.assert_no_run_left();
    let hint = said.stderr.lines().find_map(|line| line.strip_prefix("hint: ")).expect("a hint");
    let (diagnosis, runs) = refused(&world, variant, &["doctor"]).expect("python is there");
    assert!(runs.iter().all(|(code, _)| *code == 122), "{runs:?}");
    assert!(diagnosis.stdout.contains(&format!("remedy: {hint}")), "{hint}\n{}", diagnosis.stdout);
}

#[test]
fn container_filter_ends_the_run_before_it_starts() {
    check("docker");
}

#[test]
fn namespaces_without_capabilities_end_the_run_before_it_starts() {
    check("ubuntu");
}

#[test]
fn mediated_mounts_end_the_run_before_it_starts() {
    check("ubuntu-mediated");
}
