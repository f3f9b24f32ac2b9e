//! Pid 1: the command can't trace it, and it remembers nothing.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::process::Stdio;

use super::alone::Attack;
use crate::harness::{Running, World, soon};

const PROCESS: &str = include_str!("../escape/probes/process.py");

/// Pid 1 and command share a Landlock domain, and the filter allows tracing for debuggers.
#[test]
fn not_dumpable_alone_keeps_pid_1_from_being_traced() {
    for attempt in ["mem-write", "ptrace-seize", "ptrace-attach", "pidfd_getfd", "root", "maps"] {
        let options = &["--workspace", "rw"];
        let attack = Attack { options, probe: PROCESS, about: &["1"], attempt, works: "ok" };
        attack.is_refused_by_each(&World::new(), &["not-dumpable"], &[]);
    }
}

/// The control is the supervisor, which is outside and has what it was called with.
#[test]
fn pid_1_remembers_nothing_of_the_callers_environment() {
    let canary = "canary-7c1e90".repeat(3);
    let world = World::new();
    let mut endow = world.endow(["run", "--test-without", "not-dumpable", "--workspace", "rw"]);
    endow.args(["--", "sh", "-c", "echo ready; read line"]).env("NOT_PASSED_ON", &canary);
    let mut running = Running::start(endow.stdin(Stdio::piped()));
    running.expect("ready");
    let holds = |pid: i32| {
        let memory = memory(pid);
        assert!(memory.len() > 4096, "something is read");
        memory.windows(canary.len()).any(|bytes| bytes == canary.as_bytes())
    };
    assert!(holds(running.pid()), "control");
    assert!(!holds(pid_1(running.pid())));
    running.say("end\n");
    assert_eq!(running.end(), 0);
}

/// The kernel's list of children may lack some while others end (proc_pid_task(5)).
fn pid_1(supervisor: i32) -> i32 {
    let children = format!("/proc/{supervisor}/task/{supervisor}/children");
    let name = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let mut found = None;
    soon("pid 1 is among the children", || {
        let children = fs::read_to_string(&children).expect("children");
        let mut pids = children.split_whitespace().filter_map(|pid| pid.parse().ok());
        found = pids.find(|pid| name(pid) == "endow-init\n");
        found.is_some()
    });
    found.expect("pid 1")
}

/// Everything that a process has written to, or could.
fn memory(pid: i32) -> Vec<u8> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("maps");
    let file = File::open(format!("/proc/{pid}/mem")).expect("memory");
    let mut all = Vec::new();
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (from, to) =
            line.split_once(' ').and_then(|(at, _)| at.split_once('-')).expect("a range");
        let number = |text| u64::from_str_radix(text, 16).expect("an address");
        let mut bytes = vec![0; usize::try_from(number(to) - number(from)).expect("a size")];
        file.read_exact_at(&mut bytes, number(from)).expect("read");
        all.append(&mut bytes);
    }
    all
}
