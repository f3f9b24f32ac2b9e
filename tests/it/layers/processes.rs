//! Pid 1: the command can't trace it.

use super::alone::Attack;
use crate::harness::World;

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
