//! Requests as they reach the server.

use crate::client::header;
use crate::process::{Broker, HOST, SECRET, host};
use crate::server::{Server, Shows};

#[test]
fn header_is_added_in_the_place_of_the_clients() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let answer = broker.connect(&server).ask(
        "GET /a?b=c HTTP/1.1\r\nHost: inside\r\nX-Key: mine\r\nx-key: mine too\r\n\
         Accept-Encoding: gzip\r\nConnection: X-Hop\r\nX-Hop: 1\r\nTE: trailers\r\n\
         Proxy-Authorization: Basic x\r\nAccept: */*\r\n\r\n",
    );
    assert_eq!((answer.status, answer.text().as_str()), (200, "hello /a?b=c"));
    let heads = server.heads();
    assert_eq!(heads.len(), 1);
    let mut lines: Vec<&str> = heads[0].trim_end().lines().collect();
    lines.sort_unstable();
    let key = format!("x-key: Bearer {SECRET}");
    assert_eq!(
        lines,
        [
            "GET /a?b=c HTTP/1.1",
            "accept-encoding: identity",
            "accept: */*",
            &format!("host: {HOST}"),
            &key,
        ]
    );
}

#[test]
fn other_port_stands_in_the_host_header() {
    let mut host = host("");
    host.port = 8443;
    let (broker, server) = (Broker::serving_all(vec![host]), Server::start());
    assert_eq!(broker.connect(&server).get("/").status, 200);
    assert_eq!(header(&server.heads()[0], "host"), Some("api.example.com:8443"));
}

#[test]
fn requests_follow_each_other_on_one_connection() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let mut client = broker.connect(&server);
    for path in ["/one", "/two", "/three"] {
        assert_eq!(client.get(path).text(), format!("hello {path}"));
    }
    assert_eq!((server.heads().len(), server.connections()), (3, 1));
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let mut client = broker.connect(&server);
    client.write("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(client.answer().text(), "hello /1");
    assert_eq!(client.answer().text(), "hello /2");
}

#[test]
fn client_of_http_1_0_is_served() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let mut client = broker.connect(&server);
    let answer = client.ask("GET /old HTTP/1.0\r\n\r\n");
    assert_eq!(answer.text(), "hello /old");
    assert!(client.rest().is_empty());
    assert!(server.heads()[0].starts_with("GET /old HTTP/1.1\r\n"));
}

#[test]
fn client_is_closed_when_the_server_closes() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let mut client = broker.connect(&server);
    assert_eq!(client.get("/last").text(), "last");
    assert!(client.rest().is_empty());
}

#[test]
fn connections_are_served_side_by_side() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let mut waiting = broker.connect(&server);
    waiting.write("GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut clients: Vec<_> = (0..40).map(|_| broker.connect(&server)).collect();
    for client in &mut clients {
        client.write("GET /many HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    for client in &mut clients {
        assert_eq!(client.answer().text(), "hello /many");
    }
}

#[test]
fn server_with_another_certificate_gets_nothing() {
    let broker = Broker::serving("");
    for shows in [Shows::AnotherName, Shows::AnotherAuthority] {
        let server = Server::showing(shows);
        let mut client = broker.connect(&server);
        let answer = client.get("/");
        assert_eq!(answer.status, 502);
        let start = format!("endow: {HOST}: no TLS: invalid peer certificate: ");
        assert!(answer.text().starts_with(&start), "{}", answer.text());
        assert!(client.rest().is_empty());
        assert_eq!(server.heads(), Vec::<String>::new());
    }
}

#[test]
fn refused_upload_gets_its_answer() {
    let (broker, server) = (Broker::serving(""), Server::showing(Shows::AnotherName));
    let mut client = broker.connect(&server);
    client.write("PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 150000\r\n\r\n");
    client.write(vec![b'x'; 150_000]);
    assert_eq!(client.answer().status, 502);
}
