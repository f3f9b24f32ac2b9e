//! Bodies in both directions.

use std::io::Write;

use crate::client::header;
use crate::process::Broker;
use crate::server::{LARGE, Server, large, sum};

#[test]
fn events_arrive_at_once() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let mut client = broker.connect(&server);
    client.write("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(header(&client.head(), "content-type"), Some("text/event-stream"));
    assert_eq!(client.chunk().expect("an event"), b"data: one\n\n");
    // The server sends no other before the first one has arrived.
    server.release();
    assert_eq!(client.chunk().expect("an event"), b"data: two\n\n");
    assert_eq!(client.chunk(), None);
}

#[test]
fn large_download_arrives_whole() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let answer = broker.connect(&server).get("/download");
    assert_eq!(header(&answer.head, "content-length"), Some(LARGE.to_string().as_str()));
    assert!(answer.body == large());
}

#[test]
fn large_upload_arrives_whole() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let mut client = broker.connect(&server);
    let body = large();
    client.write(format!("PUT /upload HTTP/1.1\r\nHost: x\r\nContent-Length: {LARGE}\r\n\r\n"));
    client.write(&body);
    assert_eq!(client.answer().text(), format!("{LARGE} {}", sum(&body)));
}

#[test]
fn upload_in_chunks_arrives_whole() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let mut client = broker.connect(&server);
    client.write("POST /upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.write("5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\n\r\n");
    assert_eq!(client.answer().text(), format!("11 {}", sum(b"hello world")));
    assert_eq!(header(&server.heads()[0], "content-length"), None);
}

/// As searches are asked for, by some.
#[test]
fn body_of_a_get_in_chunks_arrives() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let mut client = broker.connect(&server);
    client.write("GET /upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.write("5\r\nhello\r\n0\r\n\r\n");
    assert_eq!(client.answer().text(), format!("5 {}", sum(b"hello")));
    assert_eq!(client.get("/").status, 200);
}

#[test]
fn empty_body_keeps_its_length() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let request = "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(broker.connect(&server).ask(request).text(), "0 7");
}

#[test]
fn client_that_waits_is_told_to_go_on() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let mut client = broker.connect(&server);
    client.write(
        "PUT /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n",
    );
    assert_eq!(client.head(), "HTTP/1.1 100 Continue\r\n\r\n");
    client.write("body");
    assert_eq!(client.answer().text(), format!("4 {}", sum(b"body")));
    assert_eq!(header(&server.heads()[0], "expect"), None);
}

#[test]
fn client_that_never_reads_takes_no_memory() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let resident = |broker: &Broker| -> usize {
        let status = broker.proc("status");
        let line = header(&status, "VmRSS").expect("a size").to_owned();
        line.trim_end_matches(" kB").parse().expect("a number")
    };
    let before = resident(&broker);
    let mut clients: Vec<_> = (0..8).map(|_| broker.connect(&server)).collect();
    for client in &mut clients {
        client.write("GET /download HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    std::thread::sleep(std::time::Duration::from_secs(1));
    let grown = resident(&broker).saturating_sub(before);
    assert!(grown < 8 << 10, "{grown} KiB");
}

#[test]
fn server_learns_that_a_client_has_left() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let mut client = broker.connect(&server);
    client.write("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
    client.head();
    assert_eq!(client.chunk().expect("a chunk"), b"x");
    drop(client);
    assert!(server.is_left());
}

#[test]
fn broken_answer_ends_broken() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let mut client = broker.connect(&server);
    client.stream.write_all(b"GET /partial HTTP/1.1\r\nHost: x\r\n\r\n").expect("written");
    assert_eq!(header(&client.head(), "content-length"), Some("100"));
    assert_eq!(client.rest(), b"half");
}
