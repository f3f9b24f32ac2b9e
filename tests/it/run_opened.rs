//! Pid 1 is made before anything is read, on another processor: what a run needs and may use is as if it were not.

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

/// Those that nobody named would take the room of what pid 1 opens.
#[test]
fn descriptors_of_the_caller_take_no_room_from_a_run() {
    let world = World::new();
    let script = "ulimit -n 48; for n in $(seq 3 41); do eval \"exec $n</dev/null\"; done; \
                  exec \"$E\" -- echo there";
    let said = said(world.command("bash").args(["-c", script]).env("E", endow()));
    assert_eq!(said.ok(), "there\n");
}

/// A network namespace that was made for nothing would be freed late.
#[test]
fn runs_of_every_network_make_one_namespace_at_most() {
    let world = World::new();
    world.write(
        "policy.toml",
        "version = 1\n[network]\nmode = \"allow\"\nallow = [\"192.0.2.1:80\"]\n",
    );
    let policy = world.root().join("policy.toml").display().to_string();
    for options in [vec![], vec!["--publish", "0:8080"], vec!["--policy", &policy]] {
        let script = "echo 1 >/proc/sys/user/max_net_namespaces && exec \"$@\"";
        let mut command = world.command("unshare");
        command.args(["-Ur", "sh", "-c", script, "sh"]).arg(endow()).args(&options);
        assert_eq!(said(command.args(["--", "echo", "there"])).ok(), "there\n", "{options:?}");
    }
}
