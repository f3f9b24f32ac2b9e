//! What a connection carries, and how it ends: as it would without anything between.

use std::ffi::OsString;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::modes;
use super::world::NetWorld;
use crate::escape::prober::{Attempts, script};
use crate::harness::{Running, within};

const COMMON: &str = include_str!("probes/common.py");
const STREAMS: &str = include_str!("probes/streams.py");
const RULE: &str = "web.example.test:*";

/// Uses streams in a way of the probe, and asserts what came of it.
fn comes(about: &[&str], word: &str) {
    for net in modes(RULE) {
        let Some(world) = NetWorld::start() else { return };
        let attempts = Attempts::of(&mut probe(&world, net, about));
        assert_eq!(attempts.get(about[0]), word, "{net}");
    }
}

pub(super) fn probe(world: &NetWorld, net: &str, about: &[&str]) -> Command {
    let mut command = world.endow(["run", "--workspace", "rw", "--net", net, "--"]);
    command.args(line(about));
    command
}

/// Returns the command line of a use of streams.
pub(super) fn line(about: &[&str]) -> Vec<OsString> {
    script(&format!("{COMMON}\n{STREAMS}"), about)
}

#[test]
fn stream_arrives_after_its_sender_has_ended() {
    comes(&["up", "64"], "ok");
}

#[test]
fn stream_goes_on_when_the_server_has_ended() {
    for net in modes(RULE) {
        let Some(world) = NetWorld::start() else { return };
        let attempts = Attempts::of(&mut probe(&world, net, &["down", "64"]));
        attempts.all("ok");
        let rest = "after the end of the other side".len();
        within(Duration::from_secs(10), "the server has read the rest", || {
            world.seen().iter().any(|it| it["server"] == "rest" && it["bytes"] == rest)
        });
    }
}

#[test]
fn stream_goes_both_ways_at_once() {
    comes(&["both", "64"], "ok");
}

#[test]
fn stream_of_single_bytes_is_not_held_back() {
    comes(&["bytewise"], "ok");
}

#[test]
fn streams_by_the_thousand_one_after_another() {
    waits(&["quick", "3000"]);
}

/// What a guest doesn't read stays with the server; whatever is between takes a part at most.
#[test]
fn streams_that_the_guest_does_not_read_wait() {
    waits(&["unread", "16", "16"]);
}

/// Uses streams in a way that waits in its midst, and asserts that endow is small at that time.
fn waits(about: &[&str]) {
    for net in modes(RULE) {
        let Some(world) = NetWorld::start() else { return };
        let mut command = probe(&world, net, about);
        let mut running = Running::start(command.stdin(Stdio::piped()));
        while running.line() != "waiting" {}
        assert_small(supervisor(&running), net);
        running.say("\n");
        running.expect(&format!("{} ok", about[0]));
        assert_eq!(running.end(), 0);
    }
}

/// Returns the process of endow that outlives the command: the child of timeout(1).
pub(super) fn supervisor(running: &Running) -> u32 {
    let pid = running.pid();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("proc");
    children.trim().parse().expect("one child")
}

/// Asserts bounds of memory and of open files, far below what all those streams would take.
fn assert_small(pid: u32, net: &str) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("proc");
    let (kilobytes, files) = (number(&status, "VmHWM:"), number(&status, "FDSize:"));
    assert!(kilobytes < 64 << 10 && files <= 1024, "{net}: {kilobytes} KiB, {files} files");
}

fn number(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
    line.split_whitespace().next().and_then(|it| it.parse().ok()).expect("a number")
}

#[test]
fn streams_by_the_hundred_at_once() {
    comes(&["many", "500"], "ok");
}

#[test]
fn stream_that_the_server_never_reads_stops() {
    comes(&["not_read"], "ok");
}

#[test]
fn stream_that_the_server_resets_ends() {
    comes(&["dies"], "ECONNRESET");
}

#[test]
fn stream_that_the_guest_resets_is_no_harm() {
    comes(&["closed_early"], "ok");
}
