//! What is left when one side of a connection, or endow itself, is gone: nothing.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use super::modes;
use super::streams::{probe, supervisor};
use super::world::NetWorld;
use crate::harness::{Running, mark, marked, said, send, soon};

const RULE: &str = "web.example.test:*";

/// Starts a command that holds a hundred connections, and a marked process; a line ends it.
fn held(world: &NetWorld, net: &str, mark: &str) -> Running {
    let mut command = probe(world, net, &["held", "100", mark]);
    let running = Running::start(command.stdin(Stdio::piped()));
    while running.line() != "waiting" {}
    running
}

/// Returns how many connections the server saw end that it had served whole.
fn ended(world: &NetWorld) -> usize {
    world.seen().iter().filter(|it| it["server"] == "rest").count()
}

#[test]
fn killed_supervisor_leaves_no_connection_and_no_process() {
    for net in ["host", RULE] {
        let Some(world) = NetWorld::start() else { return };
        let mark = mark();
        let mut running = held(&world, net, &mark);
        assert_eq!((ended(&world), marked(&mark).is_empty()), (0, false), "{net}");
        send(9, supervisor(&running).cast_signed());
        soon("no process is left", || marked(&mark).is_empty());
        soon("the server sees the end of all", || ended(&world) == 100);
        running.end();
    }
}

#[test]
fn ended_command_leaves_no_connection() {
    for net in ["host", RULE] {
        let Some(world) = NetWorld::start() else { return };
        let mark = mark();
        let mut running = held(&world, net, &mark);
        running.say("\n");
        assert_eq!(running.end(), 0, "{net}");
        assert!(marked(&mark).is_empty(), "{net}");
        soon("the server sees the end of all", || ended(&world) == 100);
    }
}

/// The server reads as fast as it can, and slowly: in the buffers of the kernel is more than once.
#[test]
fn what_an_ended_command_has_sent_arrives_whole() {
    for net in modes(RULE) {
        for (port, length) in [("8", 1_000_000), ("10", 1_000_000), ("8", 10_000_000), ("10", 1)] {
            let Some(world) = NetWorld::start() else { return };
            said(&mut probe(&world, net, &["gone", port, &length.to_string()])).ok();
            let counted = || world.seen().into_iter().find(|it| it["server"] == "counted");
            soon("the server sees the end", || counted().is_some());
            let counted = counted().expect("seen");
            assert_eq!(
                (&counted["bytes"], &counted["end"]),
                (&json!(length), &json!("end")),
                "{net} {port}"
            );
        }
    }
}

#[test]
fn server_that_is_not_there_is_told_in_time() {
    let Some(world) = NetWorld::start() else { return };
    // No host, and no server at the port; then what is there.
    let places = ["gone.example.test:7", "web.example.test:81"];
    let rules = places.into_iter().chain(["web.example.test:7"]).flat_map(|it| ["--net", it]);
    let mut command = world.endow(["run", "-v"].into_iter().chain(rules).chain(["--"]));
    command.args(super::streams::line(&["absent", places[0], places[1]]));
    let begun = Instant::now();
    let said = said(&mut command);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let found: Vec<&str> = said.ok().lines().collect();
    assert_eq!(found, ["gone.example.test:7 end", "web.example.test:81 end", "absent ok"]);
    for place in places {
        let told = |line: &str| {
            line.contains(&format!("refused {place} for python3"))
                && line.contains("it can't be reached")
        };
        assert!(said.stderr.lines().any(told), "{}", said.stderr);
    }
}
