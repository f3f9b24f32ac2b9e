//! WebSockets.

use std::io::Read;
use std::net::Shutdown;

use endow_policy::BrokeredHost;

use crate::client::{Client, header};
use crate::process::{Broker, SECRET, host};
use crate::server::Server;

const REQUEST: &str = "GET /socket HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\n\
                       Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n";

fn read(client: &mut Client, length: usize) -> String {
    let mut bytes = vec![0; length];
    client.reader.read_exact(&mut bytes).expect("bytes");
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn web_socket_is_searched_one_way() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let mut client = broker.connect(&server);
    client.write(REQUEST);
    let head = client.head();
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert_eq!(header(&head, "upgrade"), Some("websocket"));
    assert_eq!(header(&server.heads()[0], "sec-websocket-extensions"), None);
    let stars = "*".repeat(SECRET.len());
    assert_eq!(read(&mut client, 5 + SECRET.len()), format!("key={stars};"));
    client.write("ping");
    assert_eq!(read(&mut client, 4), "ping");
    // What the server hears is the whole of it, and what it says is not.
    client.write(format!("<{SECRET}>"));
    assert_eq!(read(&mut client, 2 + SECRET.len()), format!("<{stars}>"));
    client.stream.shutdown(Shutdown::Write).expect("shut down");
    assert!(client.rest().is_empty());
}

/// Where it is not granted, nothing is asked of the server: its frames could hold the secret in pieces.
#[test]
fn web_socket_needs_a_word() {
    let server = Server::start();
    let broker = Broker::serving_all(vec![BrokeredHost { websocket: false, ..host("") }]);
    let mut client = broker.connect(&server);
    client.write(REQUEST);
    let head = client.head();
    assert!(head.starts_with("HTTP/1.1 403 "), "{head}");
    assert!(server.heads().is_empty());
}

#[test]
fn protocol_does_not_change_unasked() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let answer = broker.connect(&server).get("/socket");
    assert_eq!(answer.status, 502);
    assert!(answer.text().ends_with("it changes the protocol\n"), "{}", answer.text());
}
