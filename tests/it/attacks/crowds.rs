//! Processes without end, with a limit on. Where nothing could enforce it, nothing starts.

use super::attack::{Control::*, Group, NOT_STARTED, PLAIN, Together};
use super::kinds::RUNS;

const REFUSED: &[&str] = &["EAGAIN", NOT_STARTED];

attacks! {
    Group {
        probe: include_str!("probes/crowds.py"),
        options: &["--pids", "100"],
        kinds: RUNS,
        together: Together::Inside,
        ..PLAIN
    };
    processes: "processes", Succeeds, REFUSED;
    threads: "threads", Succeeds, REFUSED;
    processes_by_clone: "processes that share their memory", Succeeds, REFUSED;
    zombies: "processes that have ended and that nobody waits for", Succeeds, REFUSED;
}
