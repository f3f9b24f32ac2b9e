//! Times that tell less than they seem to. A clock that was set back since a run began: the edits of the user
//! look older than the run, and stay all the same (the record is made to say so, as no test may set the
//! clock). Edits that keep size and time of modification.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{World, said};

/// A run that waits, of which the record tells a start an hour from now, and a clock since boot by
/// which `passed` more seconds went by than the clock says; the host's edits follow.
fn waiting(passed: i64) -> World {
    let world = World::new();
    world.bare("echo old >edited; echo old >gone; echo old >read").ok();
    let script = "echo run >edited; rm gone; echo run >made; cat read";
    world.run(&["run", "--sync", "review"], script).ok();
    let run = fs::read_dir(world.state().join("runs")).expect("runs").flatten().next();
    let place = run.expect("a run").path().join("record.json");
    let text = fs::read(&place).expect("a record");
    let mut record: Value = serde_json::from_slice(&text).expect("JSON");
    let add = |value: &mut Value, seconds: i64| {
        *value = json!(value.as_i64().expect("a number") + seconds);
    };
    add(&mut record["mounts"][0]["stamp"]["seconds"], 3600);
    add(&mut record["clocks"]["boot"]["seconds"], -passed);
    fs::write(&place, record.to_string()).expect("written");
    world.bare("echo host >edited; echo host >gone; echo host >read").ok();
    world
}

#[test]
fn edits_that_look_older_than_the_run_stay() {
    let control = waiting(0);
    said(&mut control.endow(["apply"])).ok();
    assert_eq!([control.read("edited"), control.read("gone")], ["run\n", "absent"]);
    for by in [2, 3600] {
        let world = waiting(by);
        let told = said(&mut world.endow(["apply"]));
        assert!(told.fails(121).contains("the clock was set back"), "{}", told.stderr);
        let read = ["edited", "gone", "read", "made"].map(|name| world.read(name));
        assert_eq!(read, ["host\n", "host\n", "host\n", "run\n"]);
        said(&mut world.endow(["apply", "--on-conflict", "guest"])).ok();
        assert_eq!([world.read("edited"), world.read("gone")], ["run\n", "absent"]);
    }
}

#[test]
fn nothing_goes_on_from_such_a_run() {
    let world = waiting(3600);
    let id = said(&mut world.endow(["runs", "--json"]));
    let listed: Value = serde_json::from_str(id.ok()).expect("JSON");
    let id = listed["runs"][0]["id"].as_str().expect("an id");
    let told = world.run(&["run", "--from", id], "true");
    assert!(told.fails(125).contains("the clock was set back"), "{}", told.stderr);
}

/// At the end of a run and by `endow apply`, whole and in parts: from then on the time of change tells.
#[test]
fn undo_leaves_edits_that_keep_size_and_time_of_modification() {
    let ways: [(&[&str], &[&[&str]]); 3] = [
        (&["run"], &[]),
        (&["run", "--sync", "review"], &[&["apply"]]),
        (&["run", "--sync", "review"], &[&["apply", "edited"], &["apply"]]),
    ];
    for (options, applied) in ways {
        let world = World::new();
        world.bare("echo old >edited; echo old >other").ok();
        world.run(options, "echo run >edited; echo run >other; echo run >made").ok();
        for words in applied {
            said(&mut world.endow(*words)).ok();
        }
        assert_eq!(["edited", "other", "made"].map(|name| world.read(name)), ["run\n"; 3]);
        let edit = "touch -r $f time; echo mee >$f; touch -r time $f";
        world.bare(&format!("for f in edited made; do {edit}; done; rm time")).ok();
        let told = said(&mut world.endow(["undo"]));
        let read = ["edited", "made", "other"].map(|name| world.read(name));
        assert_eq!(read, ["mee\n", "mee\n", "old\n"], "{options:?} {applied:?}");
        assert!(told.fails(121).contains("changed since it was written back"), "{}", told.stderr);
    }
}
