//! Clients that don't keep to the protocol, or are many.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::harness::{World, ask};

/// The clients that are served at once.
const CLIENTS_MAX: usize = 64;

/// Whether the filter has closed the connection.
fn is_closed(client: &mut UnixStream) -> bool {
    // What was sent and not read makes it a reset.
    !matches!(client.read(&mut [0]), Ok(1..))
}

#[test]
fn lengths_that_no_message_has_end_the_connection() {
    let world = World::with(&["work"]);
    let _filter = world.filter(&["work"]);
    for bytes in [[0, 0, 0, 0], [0, 4, 0, 1], [255; 4], *b"GET "] {
        let mut client = world.client();
        client.write_all(&bytes).expect("sent");
        assert!(is_closed(&mut client), "{bytes:?}");
    }
    assert_eq!(ask(&mut world.client(), &[11]).expect("answered")[0], 12);
}

#[test]
fn half_messages_keep_nobody_else_waiting() {
    let world = World::with(&["work"]);
    let _filter = world.filter(&["work"]);
    let mut halves = Vec::new();
    for half in [&[][..], &[0], &[0, 0, 0, 1], &[0, 4, 0, 0, 11], &[0, 0, 0, 9, 13]] {
        let mut client = world.client();
        client.write_all(half).expect("sent");
        halves.push(client);
    }
    assert_eq!(ask(&mut world.client(), &[11]).expect("answered")[0], 12);
    for mut client in halves {
        client.shutdown(std::net::Shutdown::Write).expect("shut down");
        assert!(is_closed(&mut client));
    }
}

#[test]
fn random_bytes_do_no_harm() {
    let world = World::with(&["work"]);
    let _filter = world.filter(&["work"]);
    let mut random = std::fs::File::open("/dev/urandom").expect("opened");
    let mut client = world.client();
    for round in 0..500 {
        let mut message = [0; 100];
        random.read_exact(&mut message).expect("read");
        message[0] = [11, 13, 27][round % 3];
        let answer = ask(&mut client, &message[..=round % 100]).expect("answered");
        let listed = message[0] == 11 && round % 100 == 0;
        assert_eq!(answer[0], if listed { 12 } else { 5 }, "{message:?}");
    }
}

#[test]
fn longest_message_is_answered() {
    let world = World::with(&["work"]);
    let _filter = world.filter(&["work"]);
    let mut message = vec![0; 256 * 1024];
    message[0] = 13;
    assert_eq!(ask(&mut world.client(), &message).expect("answered"), [5]);
}

#[test]
fn more_clients_than_places_wait() {
    let world = World::with(&["work"]);
    let _filter = world.filter(&["work"]);
    let mut held: Vec<UnixStream> = (0..CLIENTS_MAX).map(|_| world.client()).collect();
    for client in &mut held {
        assert_eq!(ask(client, &[11]).expect("answered")[0], 12);
    }
    let mut late = world.client();
    late.set_read_timeout(Some(Duration::from_millis(300))).expect("set");
    late.write_all(&[0, 0, 0, 1, 11]).expect("sent");
    assert!(late.read(&mut [0]).is_err(), "nobody serves it");
    drop(held.pop());
    late.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    assert_eq!(late.read(&mut [0]).expect("served"), 1);
}

#[test]
fn many_clients_come_and_go() {
    let world = World::with(&["work"]);
    let _filter = world.filter(&["work"]);
    for _ in 0..500 {
        let mut client = world.client();
        client.write_all(&[0, 0, 0, 1, 11]).expect("sent");
    }
    assert_eq!(ask(&mut world.client(), &[11]).expect("answered")[0], 12);
}
