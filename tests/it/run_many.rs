//! Many runs: at once and one after the other, and nothing is left of them.

use std::fs;
use std::io::Read;
use std::process::{Child, Stdio};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::harness::World;

/// How many stand at once. Each is three processes, of which a user has some thousands.
const AT_ONCE: usize = 500;
/// How many are started before the first of them has to stand.
const STARTING: usize = 8;

/// Starts a run that lives until its stdin is closed.
fn start(world: &World) -> Child {
    let mut command = world.endow(["-v", "--", "sh", "-c", "echo ready; read line; exit 0"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("endow starts")
}

#[track_caller]
fn wait_until_ready(run: &mut Child) {
    let mut ready = [0; 6];
    let read = run.stdout.as_mut().expect("a pipe").read_exact(&mut ready);
    if read.is_err() || &ready != b"ready\n" {
        let mut said = String::new();
        run.stderr.as_mut().expect("a pipe").read_to_string(&mut said).expect("text");
        panic!("a run did not start: {said}");
    }
}

/// This process holds three pipes of each run; a user has 1,024 descriptors unless they ask.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    setrlimit(Resource::Nofile, raised).expect("up to the hard limit");
}

#[test]
fn five_hundred_stand_at_once() {
    raise_open_files();
    let world = World::new();
    let mut runs: Vec<Child> = Vec::new();
    for number in 0..AT_ONCE {
        runs.push(start(&world));
        if let Some(earlier) = number.checked_sub(STARTING) {
            wait_until_ready(&mut runs[earlier]);
        }
    }
    runs[AT_ONCE - STARTING..].iter_mut().for_each(wait_until_ready);
    for mut run in runs {
        drop(run.stdin.take());
        let mut said = String::new();
        run.stderr.as_mut().expect("a pipe").read_to_string(&mut said).expect("text");
        assert_eq!(run.wait().expect("a child").code(), Some(0), "{said}");
        let lines = said.lines().filter(|line| !is_expected(line));
        assert_eq!(lines.collect::<Vec<_>>(), Vec::<&str>::new());
    }
    world.assert_no_run_left();
}

/// What `-v` tells of a run in which nothing went wrong.
fn is_expected(line: &str) -> bool {
    let told = ["started", "session keyring", "ended", "level", "policy", "workspace"];
    told.iter().any(|word| line.contains(word))
}

#[test]
fn exhausted_keyring_quota_is_told_only_when_asked() {
    let world = World::new();
    let mut runs: Vec<Child> = (0..20).map(|_| start(&world)).collect();
    runs.iter_mut().for_each(wait_until_ready);
    assert_eq!(world.run(&[], "true").stderr, "");
    for run in &mut runs {
        drop(run.stdin.take());
    }
    for run in &mut runs {
        drop(run.wait());
    }
}

fn mounts() -> String {
    fs::read_to_string("/proc/self/mountinfo").expect("mounts")
}

#[test]
fn hundred_runs_leave_nothing() {
    let world = World::new();
    let before = mounts();
    for number in 0..100 {
        let said = world.run(&["run", "--tmp", "/x"], "echo x >/tmp/y; echo z >/x/z; exit 7");
        assert_eq!(said.code, 7, "run {number}: {}", said.stderr);
    }
    assert_eq!(mounts().lines().count(), before.lines().count());
    world.assert_no_run_left();
    let left: Vec<_> = fs::read_dir(world.home()).expect("home").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
