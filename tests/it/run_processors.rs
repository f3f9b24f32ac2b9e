//! Pid 1 is sent to another processor when it is made; the command may use all that the caller may.

use std::fs;

use crate::harness::{World, endow, said};

fn allowed(status: &str) -> &str {
    let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list"));
    line.and_then(|line| line.split_whitespace().nth(1)).expect("a list")
}

#[test]
fn command_has_the_processors_of_its_caller() {
    let world = World::new();
    let own = fs::read_to_string("/proc/self/status").expect("a status");
    for _ in 0..10 {
        let inside = world.run(&[], "cat /proc/self/status");
        assert_eq!(allowed(inside.ok()), allowed(&own));
    }
}

#[test]
fn processors_that_were_taken_away_stay_so() {
    let world = World::new();
    let own = fs::read_to_string("/proc/self/status").expect("a status");
    let last = allowed(&own).rsplit([',', '-']).next().expect("a processor").to_owned();
    let endow = endow();
    let said = said(world.command("taskset").args(["-c", &last]).arg(endow).args([
        "--",
        "cat",
        "/proc/self/status",
    ]));
    assert_eq!(allowed(said.ok()), last);
}
