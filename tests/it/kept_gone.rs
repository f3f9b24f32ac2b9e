//! Runs of several mounts, of which the directory of one is gone: the others are shown, written back, taken back and
//! dropped as ever.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::harness::{Running, Said, World, endow, mark, said};

/// A project with a file, and another directory beside it with one.
fn beside() -> (World, PathBuf) {
    let world = World::new();
    world.write("home/project/f", "top\n");
    world.write("elsewhere/t/f", "x\n");
    let at = world.root().join("elsewhere/t");
    (world, at)
}

/// Changes both, and takes the other one away then.
fn changed(world: &World, (mount, mode): (&Path, &str), gone: &Path) {
    let script = format!("echo 2 >f; echo 3 >{}/elsewhere/t/f", world.root().display());
    let mount = mount.to_str().expect("a text");
    world.run(&["run", "--sync", mode, "--name", "it", "--cow", mount], &script).ok();
    fs::remove_dir_all(gone).expect("removed");
}

fn told(world: &World, words: &[&str]) -> Said {
    said(&mut world.endow(words))
}

/// Fails with the exit code of what was not written back, and names a path.
#[track_caller]
fn names(said: &Said, path: &Path) {
    let path = path.display().to_string();
    assert!(said.fails(121).contains(&path), "{path}: {}", said.stderr);
}

#[test]
fn others_are_taken_back() {
    for is_file in [false, true] {
        let (world, at) = beside();
        let mount = if is_file { at.join("f") } else { at.clone() };
        changed(&world, (&mount, "apply"), &at);
        let shown = told(&world, &["diff", "it"]);
        names(&shown, &mount);
        assert!(shown.stdout.contains("-top\n+2\n"), "{}", shown.stdout);
        assert!(told(&world, &["diff", "it", "f"]).ok().contains("-top\n+2\n"));
        names(&told(&world, &["undo", "it"]), &mount);
        assert_eq!(
            (world.read("f").as_str(), world.states()),
            ("top\n", vec!["applied".to_owned()])
        );
        // Another directory holds nothing of the run.
        world.write("elsewhere/t/f", "other\n");
        names(&told(&world, &["undo", "it"]), &at);
        assert_eq!(fs::read_to_string(at.join("f")).expect("there"), "other\n");
        assert_eq!(world.states(), ["applied"], "it can be taken back yet");
    }
}

#[test]
fn one_that_comes_back_is_taken_back() {
    let (world, at) = beside();
    let script = format!("echo 2 >f; echo 3 >{}/f", at.display());
    world.run(&["run", "--name", "it", "--cow", at.to_str().expect("a text")], &script).ok();
    let away = world.root().join("away");
    fs::rename(&at, &away).expect("renamed");
    assert!(told(&world, &["undo", "it", "f"]).ok().is_empty());
    assert_eq!(world.read("f"), "top\n");
    let undone = told(&world, &["undo", "--json", "it"]);
    assert_eq!(undone.code, 121, "{}", undone.stderr);
    let json: Value = serde_json::from_str(&undone.stdout).expect("json");
    assert_eq!(json["gone"], serde_json::json!([at]));
    fs::rename(&away, &at).expect("renamed");
    told(&world, &["undo", "it"]).ok();
    assert_eq!(fs::read_to_string(at.join("f")).expect("there"), "x\n");
    assert_eq!(world.states(), ["undone"]);
}

#[test]
fn others_are_shown_and_written_back_after_a_review() {
    let (world, at) = beside();
    changed(&world, (&at, "review"), &at);
    let shown = told(&world, &["diff", "it"]);
    names(&shown, &at);
    assert!(shown.stdout.contains("-top\n+2\n"), "{}", shown.stdout);
    let aborted = told(&world, &["apply", "--on-conflict", "abort", "it"]);
    names(&aborted, &at);
    assert_eq!(world.read("f"), "top\n", "all or nothing was asked for");
    told(&world, &["apply", "it", "f"]).ok();
    assert_eq!((world.read("f").as_str(), world.states()), ("2\n", vec!["waiting".to_owned()]));
    names(&told(&world, &["apply", "it"]), &at);
    let inside = at.join("f");
    let dropped = told(&world, &["discard", "it", inside.to_str().expect("a text")]);
    names(&dropped, &at);
    assert_eq!(world.states(), ["waiting"]);
    told(&world, &["discard", "it"]).ok();
    assert_eq!(world.states(), ["applied"], "what was written back of it stays");
    told(&world, &["undo", "it"]).ok();
    assert_eq!((world.read("f").as_str(), world.states()), ("top\n", vec!["undone".to_owned()]));
}

#[test]
fn one_that_goes_while_the_command_runs_waits_alone() {
    let (world, at) = beside();
    let script = format!("echo 2 >f; echo 3 >{0}/f; echo ready; read go", at.display());
    let options = ["run", "--name", "it", "--cow", at.to_str().expect("a text"), "--", "sh", "-c"];
    let mut command = world.endow(options);
    command.arg(script).stdin(std::process::Stdio::piped());
    let mut running = crate::harness::Running::start(&mut command);
    running.expect("ready");
    fs::rename(&at, world.root().join("away")).expect("renamed");
    running.say("\n");
    assert_eq!(running.end(), 121);
    assert_eq!((world.read("f").as_str(), world.states()), ("2\n", vec!["waiting".to_owned()]));
    fs::rename(world.root().join("away"), &at).expect("renamed");
    told(&world, &["apply", "it"]).ok();
    assert_eq!(fs::read_to_string(at.join("f")).expect("there"), "3\n");
}

#[test]
fn discard_needs_no_directory() {
    let (world, at) = beside();
    changed(&world, (&at, "review"), &world.project());
    fs::remove_dir_all(&at).expect("removed");
    let discard = |world: &World| said(world.endow(["discard", "it"]).current_dir(world.root()));
    discard(&world).ok();
    let gone = said(world.endow(["runs", "rm", "it"]).current_dir(world.root()));
    gone.ok();
    world.assert_no_run_left();
    // A file in its place, or one that can't be entered, is no better.
    let (world, at) = beside();
    changed(&world, (&at, "review"), &at);
    fs::write(&at, "a file").expect("written");
    discard(&world).ok();
    assert_eq!(world.states(), ["discarded"]);
}

#[test]
fn directory_that_the_command_renamed_comes_back_with_the_mount_in_it() {
    for inner in ["y/f", "y/d"] {
        let world = World::new();
        world.write("home/project/y/f", "yf\n");
        world.write("home/project/y/g", "yg\n");
        world.write("home/project/y/d/e", "ye\n");
        world.write("home/project/f", "top\n");
        let mount = world.project().join(inner);
        let options = ["run", "--name", "it", "--cow", mount.to_str().expect("a text")];
        let moved = world.run(&options, "echo 3 >y/f; echo 2 >y/d/e; mv y y2; echo 2 >f");
        assert!([0, 121].contains(&moved.code), "{inner}: {}", moved.stderr);
        assert_eq!((world.read("f").as_str(), world.read("y2/g").as_str()), ("2\n", "yg\n"));
        told(&world, &["undo", "it"]);
        for (name, content) in [("f", "top\n"), ("y/f", "yf\n"), ("y/g", "yg\n"), ("y/d/e", "ye\n")]
        {
            assert_eq!(world.read(name), content, "{inner}: {name}");
        }
        assert!(!world.project().join("y2").exists(), "{inner}");
    }
}

/// What is recorded of a live workspace is all there is of what it was: it waits for the directory.
#[test]
fn record_of_a_live_workspace_waits_for_its_directory() {
    let (world, at) = beside();
    let mount = at.to_str().expect("a text");
    let mark = mark();
    // Not before it is recorded.
    let script =
        format!("sleep 1; echo live >f; echo 3 >{mount}/f; sleep {mark} & echo ready; read line");
    let options = ["run", "--name", "it", "--workspace", "rw", "--checkpoint", "--cow", mount];
    let mut endow = world.endow(options.into_iter().chain(["--", "sh", "-c", &script]));
    let mut running = Running::start(endow.stdin(Stdio::piped()));
    running.expect("ready");
    let away = world.root().join("away");
    fs::rename(world.project(), &away).expect("renamed");
    running.say("go on\n");
    running.hush();
    running.end();
    let endow = |words: &[&str]| said(world.endow(words).current_dir(world.root()));
    for word in ["undo", "apply", "undo"] {
        endow(&[word, "it"]).fails(121);
        assert_eq!(world.states(), ["interrupted"], "{word}");
    }
    assert_eq!(fs::read_to_string(at.join("f")).expect("there"), "x\n", "taken back");
    fs::rename(&away, world.project()).expect("renamed");
    assert_eq!(world.read("f"), "live\n", "control");
    endow(&["undo", "it"]).ok();
    assert_eq!(world.read("f"), "top\n");
}

/// Writes both back, which fails at a call, if there are so many; returns whether it was begun and not finished.
fn begun(world: &World, at: &Path, from: usize) -> bool {
    let mount = at.to_str().expect("a text");
    let script = format!("echo 2 >f; echo 3 >{mount}/f");
    world.run(&["run", "--sync", "review", "--name", "it", "--cow", mount], &script).ok();
    let mut command = world.command("strace");
    command.args(["-f", "-q", "-o", "/dev/null", "-e", "signal=none"]);
    command.args(["-e", &format!("inject=renameat2:error=EIO:when={from}+")]);
    drop(said(command.arg(endow()).args(["apply", "it"])));
    let runs = fs::read_dir(world.state().join("runs")).expect("runs");
    runs.flatten().any(|run| run.path().join("journal").exists())
}

#[test]
fn write_back_that_was_begun_ends_without_its_directory() {
    // The first calls are the trial; then one step after another fails.
    let mut count = 0;
    for from in 3..=8 {
        let (world, at) = beside();
        if !begun(&world, &at, from) {
            continue;
        }
        count += 1;
        let away = world.root().join("away");
        fs::rename(&at, &away).expect("renamed");
        let refused = told(&world, &["apply", "it"]);
        assert!(refused.stderr.contains("endow discard --force"), "{from}: {}", refused.stderr);
        told(&world, &["discard", "--force", "it"]).ok();
        fs::rename(&away, &at).expect("renamed");
        if world.states() == ["applied"] {
            // What was not done there is not taken back.
            drop(told(&world, &["undo", "it"]));
        }
        let other = fs::read_to_string(at.join("f")).expect("there");
        assert_eq!((world.read("f").as_str(), other.as_str()), ("top\n", "x\n"), "{from}");
    }
    assert!(count > 0);
}
