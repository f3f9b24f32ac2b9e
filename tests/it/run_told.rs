//! What the end of a run says to scripts, whose standard error is no terminal.

use crate::harness::{Said, World, said};

fn run(world: &World, options: &[&str], script: &str) -> Said {
    let words = [&["run"], options, &["--", "sh", "-c", script]].concat();
    said(world.endow(words).current_dir(world.project()))
}

/// Options, and a script that makes a protected name beside another.
const HELD: &[&[&str]] = &[
    &[],
    &["--workspace", "rw"],
    &["--workspace", "rw", "--sync", "review"],
    &["--workspace", "rw", "--sync", "discard"],
];

#[test]
fn what_is_held_is_named_in_one_line() {
    for options in HELD {
        let world = World::new();
        let held = run(&world, options, "echo x >Jenkinsfile; echo x >plain");
        held.ok();
        let told: Vec<&str> = held.stderr.lines().collect();
        assert_eq!(told.len(), 1, "{options:?}: {told:?}");
        assert!(told[0].contains("1 held for review: "), "{options:?}: {told:?}");
        assert!(told[0].contains("Jenkinsfile (endow apply "), "{options:?}: {told:?}");
    }
}

#[test]
fn quiet_is_quiet_and_nothing_held_is_nothing_said() {
    for options in HELD {
        let world = World::new();
        let quiet = [options, &["-q"][..]].concat();
        let held = run(&world, &quiet, "echo x >Jenkinsfile");
        assert_eq!((held.code, held.stderr.as_str()), (0, ""), "{quiet:?}");
        let world = World::new();
        let plain = run(&world, options, "echo x >plain");
        assert_eq!((plain.code, plain.stderr.as_str()), (0, ""), "{options:?}");
    }
}

#[test]
fn strict_makes_it_an_error() {
    let world = World::new();
    let held = run(&world, &["--strict"], "echo x >Jenkinsfile");
    assert!(held.fails(121).contains("held for review"), "{}", held.stderr);
}
