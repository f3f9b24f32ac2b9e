//! How it begins and ends.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use endow_policy::{AdapterAnswer, BrokerOrder};
use rustix::net::sockopt::set_socket_send_buffer_size;

use crate::process::{Broker, SECRET, host, program};
use crate::server::Server;

const SOON: Duration = Duration::from_secs(2);

#[test]
fn end_of_the_socket_is_its_end() {
    let (mut broker, server) = (Broker::serving(""), Server::start());
    let mut idle = broker.connect(&server);
    assert_eq!(idle.get("/").status, 200);
    broker.let_go();
    let status = broker.ended_within(SOON).expect("it ends");
    assert!(status.success());
    assert!(idle.rest().is_empty());
    let mut said = String::new();
    let (stdout, stderr) = (broker.child.stdout.take(), broker.child.stderr.take());
    stdout.expect("a pipe").read_to_string(&mut said).expect("read");
    stderr.expect("a pipe").read_to_string(&mut said).expect("read");
    assert_eq!(said, "");
}

#[test]
fn request_under_way_is_finished() {
    let (mut broker, server) = (Broker::serving(""), Server::start());
    let mut client = broker.connect(&server);
    client.write("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    std::thread::sleep(Duration::from_millis(300));
    broker.let_go();
    assert_eq!(client.answer().text(), "slow");
    drop(client);
    assert!(broker.ended_within(SOON).expect("it ends").success());
}

#[test]
fn request_without_an_end_is_cut_off() {
    let (mut broker, server) = (Broker::serving(""), Server::start());
    let mut client = broker.connect(&server);
    client.write("GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
    std::thread::sleep(Duration::from_millis(300));
    let start = Instant::now();
    broker.let_go();
    assert!(broker.ended_within(Duration::from_secs(10)).expect("it ends").success());
    assert!(start.elapsed() > Duration::from_secs(4));
    assert!(client.rest().is_empty());
}

#[test]
fn handshake_under_way_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut broker = Broker::serving("");
    let _client = broker.connect_to(silent.local_addr().expect("an address"));
    let _server = silent.accept().expect("a connection");
    std::thread::sleep(Duration::from_millis(300));
    broker.let_go();
    assert!(broker.ended_within(SOON).expect("it ends").success());
}

#[test]
fn handshake_ends_with_the_client() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let broker = Broker::serving("");
    let mut client = broker.connect_to(silent.local_addr().expect("an address"));
    let (mut server, _) = silent.accept().expect("a connection");
    server.set_read_timeout(Some(SOON)).expect("set");
    client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").expect("written");
    std::thread::sleep(Duration::from_millis(300));
    drop(client);
    server.read_to_end(&mut Vec::new()).expect("its end");
}

#[test]
fn without_an_order_it_ends() {
    let mut broker = Broker::start();
    broker.let_go();
    assert_eq!(broker.ended_within(SOON).expect("it ends").code(), Some(1));
}

#[test]
fn wrong_order_is_told_without_the_secret() {
    let mut wrong = host("");
    wrong.header = "Transfer-Encoding".to_owned();
    let wrong = serde_json::to_vec(&BrokerOrder { hosts: vec![wrong] }).expect("json");
    let unreadable = format!("{{\"hosts\":\"{SECRET}\"}}").into_bytes();
    for (order, cause) in [
        (wrong, "a header that can't be added: Transfer-Encoding"),
        (unreadable, "it can't be parsed"),
    ] {
        let mut broker = Broker::start();
        let said = broker.ordered(&order);
        assert_eq!(said, AdapterAnswer::Failed(format!("the order is refused: {cause}")));
        assert_eq!(broker.ended_within(SOON).expect("it ends").code(), Some(1));
    }
}

#[test]
fn order_has_a_longest_length() {
    let order = |length: usize| {
        let order = serde_json::to_vec(&BrokerOrder { hosts: vec![host("")] }).expect("json");
        let blanks = vec![b' '; length - order.len()];
        [order, blanks].concat()
    };
    let too_long =
        AdapterAnswer::Failed("no order: the order is longer than 262144 bytes".to_owned());
    for (length, said) in [(256 << 10, AdapterAnswer::Ready), ((256 << 10) + 1, too_long)] {
        let broker = Broker::start();
        set_socket_send_buffer_size(broker.control(), 1 << 20).expect("room");
        assert_eq!(broker.ordered(&order(length)), said);
    }
}

#[test]
fn more_connections_than_descriptors_are_closed() {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 32; exec \"$0\""]).arg(program());
    let (broker, server) = (Broker::trusting(&mut command), Server::start());
    let order = serde_json::to_vec(&BrokerOrder { hosts: vec![host("")] }).expect("json");
    assert_eq!(broker.ordered(&order), AdapterAnswer::Ready);
    let mut clients: Vec<_> = (0..20).map(|_| broker.connect(&server)).collect();
    assert!(clients.pop().expect("the last one").rest().is_empty());
    assert_eq!(clients[0].get("/").status, 200);
    drop(clients);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(broker.connect(&server).get("/").status, 200);
}

#[test]
fn without_root_certificates_it_fails() {
    let mut command = Command::new(program());
    command.env_clear().env("SSL_CERT_FILE", "/dev/null");
    let broker = Broker::start_as(&mut command);
    let mut bytes = [0; 256];
    let flags = rustix::net::RecvFlags::empty();
    let (_, length) =
        rustix::net::recv(broker.control(), &mut bytes[..], flags).expect("an answer");
    let said: AdapterAnswer = serde_json::from_slice(&bytes[..length]).expect("json");
    let cause = "no TLS: the host has no usable root certificate";
    assert_eq!(said, AdapterAnswer::Failed(cause.to_owned()));
}

#[test]
fn started_by_hand_it_says_so() {
    let output = Command::new(program()).stdin(Stdio::null()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "endow-broker is started by endow\n");
    assert!(output.stdout.is_empty());
}
