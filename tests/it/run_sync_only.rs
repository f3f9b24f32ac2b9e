//! `--sync-only`: what matches is written back, all else is dropped, and nothing is lost by that.

use std::fs;

use serde_json::Value;

use crate::harness::{Said, World, project, said};

fn run(world: &World, options: &[&str], script: &str) -> Said {
    world.run(&[&["run"], options].concat(), script)
}

#[test]
fn only_what_matches_is_written_back() {
    let world = project();
    let script = "echo guest >file; echo guest >dir/inner; mkdir -p out/sub; echo x >out/sub/made";
    let path = world.root().join("report.json").display().to_string();
    run(&world, &["--sync-only", "out/**", "--report", &path], script).ok();
    let report: Value =
        serde_json::from_str(&fs::read_to_string(path).expect("a report")).expect("json");
    assert_eq!((world.read("file"), world.read("dir/inner")), ("host\n".into(), "inner\n".into()));
    assert_eq!(world.read("out/sub/made"), "x\n");
    assert_eq!(report["sync"]["left_out"].as_array().expect("a list").len(), 2);
    assert_eq!(
        (&report["sync"]["dropped"], world.states().join(" ")),
        (&2.into(), "applied".into())
    );
}

/// Nothing is kept of a run that changed nothing else, and of one that waited no more than that when it is applied.
#[test]
fn what_does_not_match_is_dropped() {
    let world = project();
    run(&world, &["--sync-only", "out/**"], "echo guest >file").ok();
    assert_eq!(world.states().join(" "), "");
    run(&world, &["--sync-only", "out/**", "--sync", "review"], "echo guest >file").ok();
    assert_eq!(world.states().join(" "), "waiting");
    said(&mut world.endow(["apply"])).ok();
    assert_eq!(world.states().join(" "), "discarded");
    assert_eq!(world.read("file"), "host\n");
}

/// What was taken out of a live workspace waits, and what was moved to where nothing is written back stays.
#[test]
fn nothing_is_lost_by_what_alone_is_written_back() {
    let world = project();
    let script = "mkdir .vscode; echo x >.vscode/tasks.json; sleep 0.3";
    run(&world, &["--workspace", "rw", "--sync-only", "out/**"], script).ok();
    assert_eq!(world.states().join(" "), "waiting");
    let world = project();
    run(&world, &["--sync-only", "dir/**"], "mkdir lib; mv dir/inner lib/inner").fails(121);
    assert_eq!(
        (world.read("dir/inner"), world.states().join(" ")),
        ("inner\n".into(), "waiting".into())
    );
}
