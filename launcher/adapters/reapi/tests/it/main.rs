//! The program by itself: what it says of orders that can't be kept. What it does with servers is tested with
//! endow's builds.

use std::io::Read;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use endow_policy::{AdapterAnswer, RemoteOrder};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_endow-reapi");

/// The program, and the launcher's end of its socket.
struct Adapter {
    child: Child,
    control: OwnedFd,
}

impl Adapter {
    fn start() -> Self {
        let (control, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .expect("a pair");
        let child = Command::new(PROGRAM).stdin(Stdio::from(theirs)).spawn().expect("started");
        Self { child, control }
    }

    fn told(&self, order: &[u8]) -> AdapterAnswer {
        send(&self.control, order, SendFlags::NOSIGNAL).expect("sent");
        let mut bytes = vec![0; 1 << 14];
        let (length, _) =
            recv(&self.control, bytes.as_mut_slice(), RecvFlags::empty()).expect("an answer");
        serde_json::from_slice(&bytes[..length]).expect("an answer")
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn order(port: u16) -> RemoteOrder {
    RemoteOrder {
        socket: None,
        host: "127.0.0.1".to_owned(),
        port,
        tls: None,
        instance: String::new(),
        token: Some("canary".to_owned()),
        writes: true,
        retries: 0,
        patience_ms: 2_000,
    }
}

#[track_caller]
fn refused(answer: AdapterAnswer) -> String {
    match answer {
        AdapterAnswer::Failed(why) if !why.contains("canary") => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn order_that_is_none_is_refused() {
    assert!(refused(Adapter::start().told(b"{}")).contains("the order is refused"));
    assert!(refused(Adapter::start().told(b"\xff")).contains("the order is refused"));
}

#[test]
fn nobody_there_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let order = serde_json::to_vec(&order(port)).expect("JSON");
    let why = refused(Adapter::start().told(&order));
    assert!(why.contains("no answer from 127.0.0.1"), "{why}");
}

#[test]
fn server_that_says_nothing_is_waited_for_no_longer_than_is_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let order = order(listener.local_addr().expect("an address").port());
    let why = refused(Adapter::start().told(&serde_json::to_vec(&order).expect("JSON")));
    assert!(why.contains("no answer within 2"), "{why}");
}

#[test]
fn token_that_can_be_in_no_header_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut order = order(listener.local_addr().expect("an address").port());
    order.token = Some("can\nary".to_owned());
    let why = refused(Adapter::start().told(&serde_json::to_vec(&order).expect("JSON")));
    assert!(why.contains("can't be in a header"), "{why}");
}

#[test]
fn program_that_is_started_by_hand_says_what_it_is_for() {
    let mut child =
        Command::new(PROGRAM).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("started");
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("read");
    assert_eq!(said, "endow-reapi is started by endow\n");
    assert_eq!(child.wait().expect("ended").code(), Some(2));
}
