//! A run that is killed together with what guards its live mounts, as by a loss of power: the next one tells what may be
//! left there.

use std::fs;
use std::os::unix::process::CommandExt;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::harness::{Running, World, mark, marked, said, soon};

const TOLD: &str = "new at protected names since: sub/a/.vscode, sub/n/.envrc\n";

/// Kills all processes of a run at once.
fn kill_all(mark: &str) {
    let all = || marked(mark);
    for signal in [Signal::STOP, Signal::KILL] {
        for pid in all().into_iter().filter_map(Pid::from_raw) {
            // One may have ended with another.
            let _ = kill_process(pid, signal);
        }
    }
    soon("all are gone", || all().is_empty());
}

/// A live mount that has such a name, and a run in it that makes more where nobody looks meanwhile.
fn killed(world: &World, script: &str) {
    let mark = mark();
    fs::create_dir_all(world.project().join("sub/a/b")).expect("a directory");
    fs::write(world.project().join("sub/a/.envrc"), "mine").expect("a file");
    let script = format!(
        "mkdir -p sub/n sub/a/.vscode; echo x >sub/n/.envrc; {script}
        echo x >sub/a/.vscode/tasks.json; echo go; exec sleep 100"
    );
    let mut run = Running::start(&mut world.endow([
        "run",
        "--workspace",
        "rw",
        "--",
        "sh",
        "-c",
        &script,
        &mark,
    ]));
    run.expect("go");
    kill_all(&mark);
    run.end();
}

#[test]
fn names_that_nobody_looked_for_are_told_once() {
    let world = World::new();
    killed(&world, "");
    let next = world.run(&["run"], "true");
    assert!(next.stderr.contains(TOLD), "{}", next.stderr);
    assert!(next.stderr.contains("before a program of the host does"), "{}", next.stderr);
    let next = world.run(&["run"], "true");
    assert_eq!(next.stderr, "");
}

/// A killed run that is kept, as something of it waits, is told once as well.
#[test]
fn run_that_holds_something_is_told_once() {
    let world = World::new();
    killed(&world, "echo x >Jenkinsfile; while test -e Jenkinsfile; do sleep 0.01; done");
    let collected = said(&mut world.endow(["gc"]));
    assert!(collected.stderr.contains(TOLD), "{}", collected.stderr);
    let next = world.run(&["run"], "true");
    assert!(!next.stderr.contains("protected names"), "{}", next.stderr);
    assert!(said(&mut world.endow(["runs"])).stdout.contains("interrupted"));
}

#[test]
fn nothing_is_told_of_what_was_there() {
    let world = World::new();
    killed(&world, "");
    fs::remove_dir_all(world.project().join("sub/n")).expect("removed");
    fs::remove_dir_all(world.project().join("sub/a/.vscode")).expect("removed");
    let next = world.run(&["run"], "true");
    assert_eq!(next.stderr, "");
}

/// As `timeout -s KILL` does: what guards the run is none of its group, and does its work.
#[test]
fn kill_of_the_group_leaves_the_guard_and_the_recorder() {
    for options in [&[][..], &["--checkpoint"]] {
        let world = World::new();
        fs::create_dir_all(world.project().join("sub")).expect("a directory");
        let file = world.write("home/project/file", "host\n");
        let script =
            "echo in; read go; echo x >sub/.envrc; echo guest >file; echo done; exec sleep 100";
        let words = [&["run", "--workspace", "rw"], options, &["--", "sh", "-c", script]].concat();
        let mut command = world.endow(words);
        let mut run = Running::start(command.process_group(0).stdin(std::process::Stdio::piped()));
        run.expect("in");
        let is_recorded = || {
            let list = "cat state/runs/*/checkpoint/list 2>/dev/null";
            let list = said(world.command("sh").current_dir(world.root()).args(["-c", list]));
            options.is_empty() || list.stdout.contains("\"listed\"")
        };
        soon("the record", is_recorded);
        run.say("\n");
        run.expect("done");
        let group = Pid::from_raw(run.pid()).expect("a process");
        kill_process_group(group, Signal::KILL).expect("killed");
        assert_eq!(run.end(), 137);
        soon("the name is taken away", || !world.project().join("sub/.envrc").exists());
        if !options.is_empty() {
            soon("the end is noted", || said(&mut world.endow(["undo"])).code == 0);
            assert_eq!(fs::read_to_string(&file).expect("there"), "host\n");
        }
    }
}
