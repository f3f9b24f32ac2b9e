//! Ports of the sandbox that the host can reach.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::harness::{Running, debian_program, project, said, soon};

/// Answers one connection after another with what came, in upper case, until its input ends.
const SERVER: &str = "
import socket, sys, threading
server = socket.socket(socket.AF_INET6 if sys.argv[1] == '6' else socket.AF_INET)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(('::1' if sys.argv[1] == '6' else '127.0.0.1', 3000))
server.listen()
def serve():
    while True:
        connection, _ = server.accept()
        connection.sendall(connection.recv(100).upper())
        connection.close()
threading.Thread(target=serve, daemon=True).start()
print('listens', flush=True)
sys.stdin.read()
";

/// Answers one connection after as much of its question as was asked for, and ends.
const ANSWERER: &str = "
import os, socket, sys
server = socket.create_server(('127.0.0.1', 3000))
print('listens', flush=True)
connection, _ = server.accept()
connection.recv(int(sys.argv[1]))
connection.sendall(bytes(int(sys.argv[2])))
connection.close()
os._exit(0)
";

/// Asks at a port of the host.
fn asked(port: u16) -> std::io::Result<String> {
    let mut connection = TcpStream::connect(("127.0.0.1", port))?;
    connection.write_all(b"hello")?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The port that was chosen, as the events tell it.
fn chosen(events: &std::path::Path) -> Option<u16> {
    let text = std::fs::read_to_string(events).ok()?;
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut published = lines.filter(|line| line["event"] == "published");
    let address = published.next()?["data"]["address"].as_str()?.to_owned();
    address.rsplit_once(':')?.1.parse().ok()
}

#[test]
fn port_inside_is_reached_from_the_host() {
    if debian_program("python3").is_none() {
        return;
    }
    for (version, net) in [("4", "none"), ("6", "none"), ("4", "example.test")] {
        let world = project();
        let events = world.root().join("events");
        let mut endow = world.endow(["run", "--net", net, "--publish", "0:3000", "--events"]);
        endow.arg(&events).args(["--", "python3", "-c", SERVER, version]).stdin(Stdio::piped());
        let mut running = Running::start(&mut endow);
        running.expect("listens");
        soon("the port is told", || chosen(&events).is_some());
        let port = chosen(&events).expect("told");
        for _ in 0..3 {
            assert_eq!(asked(port).expect("an answer"), "HELLO");
        }
        running.hush();
        assert_eq!(running.end(), 0);
        assert!(asked(port).is_err(), "the port outlived the run");
    }
}

#[test]
fn answer_of_an_ended_server_arrives_whole() {
    if debian_program("python3").is_none() {
        return;
    }
    for length in [1_000, 1_000_000] {
        let world = project();
        let events = world.root().join("events");
        let mut endow = world.endow(["run", "--publish", "0:3000", "--events"]);
        endow.arg(&events).args(["--", "python3", "-c", ANSWERER, "100", &length.to_string()]);
        let mut running = Running::start(&mut endow);
        running.expect("listens");
        soon("the port is told", || chosen(&events).is_some());
        let mut client =
            TcpStream::connect(("127.0.0.1", chosen(&events).expect("told"))).expect("a server");
        client.write_all(b"hello").expect("asked");
        assert_eq!(slowly(&mut client).expect("an end"), length);
        assert_eq!(running.end(), 0);
    }
}

/// Reads a little at a time, to the end. Returns how much it was.
fn slowly(from: &mut TcpStream) -> std::io::Result<usize> {
    let (mut length, mut buffer) = (0, [0; 4096]);
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(length),
            read => length += read,
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn port_where_nobody_listens_is_a_reset_and_no_harm() {
    let world = project();
    let events = world.root().join("events");
    let mut endow = world.endow(["run", "--publish", "0:3000", "--events"]);
    endow.arg(&events).args(["--", "sh", "-c", "read line; echo alive"]).stdin(Stdio::piped());
    let mut running = Running::start(&mut endow);
    soon("the port is told", || chosen(&events).is_some());
    let port = chosen(&events).expect("told");
    soon("the command runs", || asked(port).is_err());
    running.say("go\n");
    running.expect("alive");
    assert_eq!(running.end(), 0);
}

#[test]
fn port_that_is_taken_ends_the_run_before_it_starts() {
    let world = project();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let publish = format!("{port}:3000");
    let mut endow = world.endow(["run", "--publish", &publish, "--", "echo", "started"]);
    let said = said(&mut endow);
    let told = said.fails(125);
    assert!(told.contains(&format!("127.0.0.1:{port}")), "{told}");
    assert!(told.contains("in use") && told.contains("--publish 0:"), "{told}");
    assert!(!said.stdout.contains("started"));
    world.assert_no_run_left();
}

/// An address for documentation, which no interface has (RFC 5737).
#[test]
fn address_that_this_machine_does_not_have_publishes_nothing() {
    for publish in ["192.0.2.1:0:3000", "[2001:db8::1]:0:3000"] {
        let world = project();
        let mut endow = world.endow(["run", "--publish", publish, "--", "true"]);
        let told = said(&mut endow);
        assert!(told.fails(125).contains("assign requested address"), "{}", told.stderr);
    }
}

#[test]
fn port_is_reached_at_the_loopback_alone() {
    let world = project();
    let events = world.root().join("events");
    let mut endow = world.endow(["run", "--publish", "0:3000", "--events"]);
    endow.arg(&events).args(["--", "cat"]).stdin(Stdio::piped());
    let mut running = Running::start(&mut endow);
    soon("the port is told", || chosen(&events).is_some());
    let text = std::fs::read_to_string(&events).expect("events");
    assert!(text.contains("\"127.0.0.1:"), "{text}");
    running.hush();
    assert_eq!(running.end(), 0);
}
