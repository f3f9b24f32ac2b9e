//! Signals and settings that reach processes by number, and questions whether one is there.

use super::attack::{Control::*, Group, PLAIN};

const GONE: &[&str] = &["ESRCH", "ENOENT"];

attacks! {
    Group {
        probe: include_str!("probes/signals.py"),
        about: |scene, _| scene.facts(&["pid", "parent"]),
        ..PLAIN
    };
    kill: "kill", Succeeds, GONE;
    kill_group: "kill of a process group", Succeeds, GONE;
    tgkill: "tgkill", Succeeds, GONE;
    sigqueue: "rt_sigqueueinfo", Succeeds, GONE;
    pidfd_open: "a descriptor of the process", Succeeds, GONE;
    pidfd_send_signal: "a signal by way of its directory in /proc", Succeeds, GONE;
    signal_on_input: "an owner of a socket's signals (F_SETOWN, SIGIO)", Succeeds, GONE;
    stop_the_supervisor: "stopping the parent of the sandbox", Succeeds, GONE;
    everybody: "kill of everybody, -1", Not("it would end every process of the user"), &["contained"];
    exists: "whether a process exists, by signal 0", Succeeds, GONE;
    exists_by_group: "the same by getpgid", Succeeds, GONE;
    exists_by_session: "the same by getsid", Succeeds, GONE;
    exists_by_scheduler: "the same by sched_getscheduler", Succeeds, GONE;
    exists_by_proc: "the same by /proc", Succeeds, GONE;
    priority: "setpriority", Succeeds, GONE;
    priority_of_all: "setpriority of all of the user's processes", Not("it would slow every process of the user"), &["contained"];
    affinity: "sched_setaffinity", Succeeds, GONE;
    scheduler: "sched_setscheduler", Succeeds, GONE;
    io_priority: "ioprio_set", Succeeds, GONE;
    limits: "prlimit", Succeeds, GONE;
    out_of_memory: "choosing it for the end when memory is short", Succeeds, GONE;
    move_pages: "moving its memory between nodes", WhereThere("EINVAL EPERM"), &["ESRCH", "EPERM"];
    robust_list: "reading its robust list", Succeeds, &["ESRCH", "EPERM"];
}
