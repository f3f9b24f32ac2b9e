//! Answers, in which the secret must not be.

use crate::client::header;
use crate::process::{Broker, HOST, SECRET, host};
use crate::server::Server;

#[test]
fn secret_is_nowhere_in_an_answer() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let answer = broker.connect(&server).get("/echo");
    assert!(server.heads()[0].contains(SECRET), "the control");
    assert!(answer.head.starts_with("HTTP/1.1 200 OK\r\n"), "{}", answer.head);
    let stars = "*".repeat(SECRET.len());
    let value = "*".repeat("Bearer ".len() + SECRET.len());
    assert_eq!(header(&answer.head, "x-echo"), Some(format!("<{value}>").as_str()));
    assert_eq!(header(&answer.head, &format!("x-{stars}")), Some("1"));
    assert_eq!(header(&answer.text(), "x-key"), Some(value.as_str()));
    assert_eq!(answer.body.len(), server.heads()[0].len());
    assert!(!answer.head.contains("railer") && !answer.head.contains(SECRET));
}

#[test]
fn short_secret_is_not_looked_for() {
    let mut host = host("");
    (host.value, host.secret) = ("hel".to_owned(), "hel".to_owned());
    let (broker, server) = (Broker::serving_all(vec![host]), Server::start());
    assert_eq!(broker.connect(&server).get("/").text(), "hello /");
}

#[test]
fn encoded_answer_is_not_passed_back() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let answer = broker.connect(&server).get("/gzip");
    assert_eq!(answer.status, 502);
    let text = format!("endow: {HOST} sent an answer that can't be searched: it is encoded\n");
    assert_eq!(answer.text(), text);
}

#[test]
fn garbage_of_a_server_is_told_without_it() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let answer = broker.connect(&server).get("/garbage");
    assert_eq!(answer.status, 502);
    let text = answer.text();
    assert!(text.starts_with(&format!("endow: {HOST}: ")) && !text.contains("no answer"), "{text}");
}

#[test]
fn blanks_around_a_secret_hide_nothing() {
    let mut host = host("");
    (host.value, host.secret) = (format!("Bearer {SECRET} "), format!("{SECRET} "));
    let (broker, server) = (Broker::serving_all(vec![host]), Server::start());
    let answer = broker.connect(&server).get("/echo");
    assert!(server.heads()[0].contains(SECRET), "the control");
    assert!(!answer.head.contains(SECRET) && !answer.text().contains(SECRET), "{answer:?}");
}

#[test]
fn secret_of_another_host_is_not_in_an_answer() {
    let (mut other, told) = (host(""), "0ther-s3cret");
    (other.value, other.secret) = (format!("key={told}"), told.to_owned());
    let (broker, server) = (Broker::serving_all(vec![host(""), other]), Server::start());
    // As a server that remembers what it was told on another connection.
    let request = format!("GET /echo HTTP/1.1\r\nX-Kept: {told}\r\n\r\n");
    let answer = broker.connect(&server).ask(&request);
    assert!(server.heads()[0].contains(told), "the control");
    assert!(!answer.head.contains(told) && !answer.text().contains(told), "{answer:?}");
}

/// Of a part, nobody could tell that it is one of the secret.
#[test]
fn secret_does_not_come_in_parts() {
    let (broker, server) = (Broker::serving(""), Server::start());
    let mut client = broker.connect(&server);
    for header in
        ["Range: bytes=0-3", "range: bytes=0-3\r\nIf-Range: \"x\"", "Request-Range: bytes=0-3"]
    {
        let request = format!("GET /ranged HTTP/1.1\r\nHost: x\r\n{header}\r\n\r\n");
        let answer = client.ask(&request);
        assert_eq!((answer.status, answer.text()), (200, "*".repeat(SECRET.len())), "{header}");
    }
    let answer = client.get("/part");
    assert_eq!(answer.status, 502);
    assert!(answer.text().ends_with("it is a part of one\n"), "{}", answer.text());
}

/// As a server that decodes or encodes what it was sent; base64 as base64(1) writes it.
#[test]
fn secret_in_other_forms_is_not_in_an_answer() {
    let mut host = host("");
    (host.value, host.secret) =
        ("Basic dTpzM2NyZXQvMGY=".to_owned(), "dTpzM2NyZXQvMGY=".to_owned());
    let (broker, server) = (Broker::serving_all(vec![host]), Server::start());
    let mut client = broker.connect(&server);
    let mut said = |form: &str| {
        let request = format!("GET /forms HTTP/1.1\r\nHost: x\r\nX-Form: <{form}>\r\n\r\n");
        client.ask(&request).text()
    };
    assert_eq!(said("u:s3cret"), "<u:s3cret>", "the control");
    for (form, shown) in [
        ("u:s3cret/0f", "<***********>"),
        ("s3cret/0f", "<*********>"),
        // Twice encoded; by itself and behind one byte.
        ("ZFRwek0yTnlaWFF2TUdZPQ==", "<*********************Q==>"),
        ("IWRUcHpNMk55WlhRdk1HWT0=", "<IW********************0=>"),
        ("dTpzM2NyZXQvMGY%3D", "<******************>"),
    ] {
        assert_eq!(said(form), shown, "{form}");
    }
}
