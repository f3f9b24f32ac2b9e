//! Requests that must not reach the server, and what is no request.

use std::net::{Shutdown, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::client::Client;
use crate::process::{Broker, SECRET};
use crate::server::Server;

#[test]
fn refused_requests_never_reach_the_server() {
    let (broker, server) = (Broker::serving("/v1"), Server::start());
    for (line, status) in [
        ("TRACE /v1", 405),
        ("CONNECT other.example:443", 405),
        ("GET http://other.example/v1", 400),
        ("GET https://api.example.com/v1", 400),
        ("OPTIONS *", 400),
        ("GET /", 403),
        ("GET /v10", 403),
        ("GET /v1/../admin", 403),
        ("GET /v1/%2e%2E/admin", 403),
        ("GET /v1/..%2fadmin", 403),
        ("GET /v1/..\\admin", 403),
        ("GET /v1/%252e%252e/admin", 403),
    ] {
        let answer =
            broker.connect(&server).ask(&format!("{line} HTTP/1.1\r\nHost: inside\r\n\r\n"));
        assert_eq!(answer.status, status, "{line}");
        assert!(answer.text().starts_with("endow: "), "{}", answer.text());
        assert!(!answer.text().contains(SECRET));
    }
    assert_eq!(server.heads(), Vec::<String>::new());
    assert_eq!(broker.connect(&server).get("/v1/models?x=..").status, 200, "the control");
}

#[test]
fn refused_request_leaves_the_connection_usable() {
    let (broker, server) = (Broker::serving("/v1"), Server::start());
    let mut client = broker.connect(&server);
    assert_eq!(client.get("/v2").status, 403);
    assert_eq!(client.get("/v1").status, 200);
}

#[test]
fn garbage_ends_only_its_own_connection() {
    let (broker, server) = (Broker::serving(""), Server::start());
    for garbage in ["\0\0\0\0", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\x16\x03\x01\x02\x00\x01"]
    {
        let mut client = broker.connect(&server);
        client.write(garbage);
        client.stream.shutdown(Shutdown::Write).expect("shut down");
        let rest = client.rest();
        assert!(!String::from_utf8_lossy(&rest).contains("200"), "{garbage:?}");
    }
    assert_eq!(server.heads(), Vec::<String>::new());
    assert_eq!(broker.connect(&server).get("/").status, 200);
}

#[test]
fn endless_headers_are_refused() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let mut client = broker.connect(&server);
    client.write("GET / HTTP/1.1\r\nX-Long: ");
    client.write("x".repeat(100 << 10));
    assert_eq!(client.answer().status, 431);
    let mut client = broker.connect(&server);
    client.write("GET / HTTP/1.1\r\n");
    client.write("X-Many: 1\r\n".repeat(300));
    client.write("\r\n");
    assert_eq!(client.answer().status, 431);
    assert_eq!(server.heads(), Vec::<String>::new());
}

#[test]
fn two_lengths_are_no_request() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let answer = broker
        .connect(&server)
        .ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 40\r\n\r\nbody");
    assert_eq!(answer.status, 400);
    assert_eq!(server.heads(), Vec::<String>::new());
}

#[test]
fn half_requests_reach_nobody() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let mut client = broker.connect(&server);
    client.write("GET / HTTP/1.1\r\nHost: x\r\nX-Ha");
    client.stream.shutdown(Shutdown::Write).expect("shut down");
    assert!(client.rest().is_empty());
    drop(broker.connect(&server));
    assert_eq!(broker.connect(&server).get("/").status, 200);
    assert_eq!(server.heads().len(), 1);
}

#[test]
fn malformed_messages_are_dropped() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let null = std::fs::File::open("/dev/null").expect("opened");
    let null = null.as_fd();
    let (near, far) = std::os::unix::net::UnixStream::pair().expect("a pair");
    let stream = std::net::TcpStream::connect(server.address).expect("connected");
    let (number, sockets) = (0_u32.to_ne_bytes(), [far.as_fd(), stream.as_fd()]);
    broker.tell(&number, &[null, null]);
    broker.tell(&number, &[sockets[0]]);
    broker.tell(&number, &[sockets[0], sockets[1], null]);
    broker.tell(&number, &[null; 8]);
    broker.tell(&1_u32.to_ne_bytes(), &sockets);
    broker.tell(b"123", &sockets);
    broker.tell(&[0; 64], &sockets);
    drop((stream, far));
    // All copies are closed, so the near side has ended.
    let mut client = crate::client::Client::new(near);
    assert!(client.rest().is_empty());
    assert_eq!(broker.connect(&server).get("/").status, 200);
}

/// Servers behind others take such headers for what was asked for.
#[test]
fn header_that_names_another_place_never_reaches_the_server() {
    let (broker, server) = (Broker::serving("/v1"), Server::start());
    let mut client = broker.connect(&server);
    let mut status = |header: &str| {
        client.ask(&format!("GET /v1/a HTTP/1.1\r\nHost: x\r\n{header}\r\n\r\n")).status
    };
    for header in [
        "X-Original-URI: /admin",
        "X_Original_URI: /admin",
        "Forwarded: host=b",
        "X-Forwarded-Prefix: /b",
        "X-Amz-Copy-Source: /b/admin",
    ] {
        assert_eq!(status(header), 403, "{header}");
    }
    assert_eq!(status("X-HTTP-Method-Override: TRACE"), 405);
    assert_eq!(status("X_HTTP_Method_Override: TRACE"), 405);
    assert_eq!(server.heads(), Vec::<String>::new());
    assert_eq!(status("X-HTTP-Method-Override: PATCH"), 200, "the control");
}

#[test]
fn one_connection_too_many_is_told_so() {
    let (broker, silent, others) = (Broker::serving(""), silent(8), silent(1));
    let waiting = connections(&broker, &silent, 512);
    let further = || connections(&broker, &others, 1).remove(0);
    let answer = Client::new(further()).get("/");
    assert_eq!((answer.status, waiting.len()), (503, 512), "{}", answer.text());
    // Those that ask for nothing for a while are too many as well, and then there is no answer.
    let unanswered: Vec<_> = (0..64).map(|_| further()).collect();
    assert!(Client::new(further()).rest().is_empty());
    drop((waiting, unanswered));
}

#[test]
fn connections_that_are_turned_away_take_no_place() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let (silent, ending) = (silent(7), silent(1));
    let waiting = connections(&broker, &silent, 480);
    let places = (connections(&broker, &ending, 32), ending);
    let unanswered = connections(&broker, &silent, 60);
    drop(places);
    // That the other side is gone is noticed soon.
    let is_served = |_| {
        std::thread::sleep(Duration::from_millis(50));
        broker.connect(&server).get("/").status == 200
    };
    assert!((0..20).any(is_served));
    drop((waiting, unanswered));
}

/// Who only listens has no descriptor for a connection, and keeps the broker waiting.
fn silent(count: usize) -> Vec<TcpListener> {
    (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("bound")).collect()
}

fn connections(broker: &Broker, to: &[TcpListener], count: usize) -> Vec<UnixStream> {
    let addresses = to.iter().map(|it| it.local_addr().expect("an address")).cycle();
    addresses.take(count).map(|address| broker.connect_to(address)).collect()
}
