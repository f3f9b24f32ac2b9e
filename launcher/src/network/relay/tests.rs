//! Bytes between real sockets on the loopback.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::*;
use crate::network::server_name::tests::{hello_for, retry};

/// Both ends of one connection: the relay's, and a peer's.
fn pair(listener: &TcpListener) -> (OwnedFd, TcpStream) {
    let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (ours, _) = listener.accept().unwrap();
    ours.set_nonblocking(true).unwrap();
    (ours.into(), peer)
}

struct Running {
    poll: Poll,
    relay: Relay<u32>,
    listener: TcpListener,
    over: Vec<Over<u32>>,
}

impl Running {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (poll, relay) = (Poll::new().unwrap(), Relay::default());
        Self { poll, relay, listener, over: Vec::new() }
    }

    /// Joins two new connections; returns the peers of the near and of the far side.
    fn join(&mut self, about: u32) -> (TcpStream, TcpStream) {
        let (near, near_peer) = pair(&self.listener);
        let (far, far_peer) = pair(&self.listener);
        self.relay.join(&self.poll, (near, far), None, about).unwrap();
        (near_peer, far_peer)
    }

    /// Moves bytes until something holds.
    fn run_until(&mut self, mut done: impl FnMut(&Self) -> bool) {
        let until = Instant::now() + Duration::from_mins(1);
        while !done(self) {
            assert!(Instant::now() < until, "nothing moves");
            if !self.relay.has_more() {
                let mut fd = [PollFd::new(&self.poll, PollFlags::IN)];
                let tick = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
                poll(&mut fd, Some(&tick)).unwrap();
            }
            self.poll.news().iter().for_each(|news| self.relay.hear(news));
            self.over.extend(self.relay.turn(Instant::now() + Duration::from_secs(1)));
        }
    }
}

/// Bytes that differ along the way.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from(at * 31 % 251).unwrap()).collect()
}

#[test]
fn both_directions_arrive_whole_and_in_order() {
    let mut running = Running::new();
    let (near, far) = running.join(7);
    let bytes = pattern(5_000_003);
    let workers: Vec<_> = [(near, false), (far, true)]
        .into_iter()
        .map(|(peer, backwards)| {
            let mut sent = bytes.clone();
            if backwards {
                sent.reverse();
            }
            let reader = peer.try_clone().unwrap();
            let writer = thread::spawn(move || {
                let mut peer = peer;
                peer.write_all(&sent).unwrap();
                peer.shutdown(Shutdown::Write).unwrap();
            });
            let read = thread::spawn(move || {
                let (mut reader, mut read) = (reader, Vec::new());
                reader.read_to_end(&mut read).unwrap();
                read
            });
            (writer, read)
        })
        .collect();
    running.run_until(|it| !it.over.is_empty());
    let read: Vec<Vec<u8>> = workers
        .into_iter()
        .map(|(writer, reader)| {
            writer.join().unwrap();
            reader.join().unwrap()
        })
        .collect();
    let backwards: Vec<u8> = bytes.iter().rev().copied().collect();
    assert!(read.first() == Some(&backwards) && read.get(1) == Some(&bytes));
    let all = bytes.len() as u64;
    assert_eq!(running.over, [Over { about: 7, sent: all, received: all, broken: None }]);
    assert_eq!(running.relay.len(), 0);
}

#[test]
fn one_side_may_end_before_the_other() {
    let mut running = Running::new();
    let (mut near, mut far) = running.join(0);
    near.write_all(b"question").unwrap();
    near.shutdown(Shutdown::Write).unwrap();
    running.run_until(|it| !it.relay.owes(|_| false));
    let mut question = Vec::new();
    far.read_to_end(&mut question).unwrap();
    assert_eq!(question, b"question");
    far.write_all(b"answer").unwrap();
    drop(far);
    running.run_until(|it| !it.over.is_empty());
    let mut answer = Vec::new();
    near.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"answer");
}

#[test]
fn a_reset_of_one_side_is_seen_by_the_other() {
    for near_ends in [true, false] {
        let mut running = Running::new();
        let (near, far) = running.join(0);
        let (ends, mut stays) = if near_ends { (near, far) } else { (far, near) };
        reset(ends.into());
        running.run_until(|it| !it.over.is_empty());
        let error = stays.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        assert!(running.over.first().is_some_and(|over| over.broken.is_some()));
    }
}

#[test]
fn what_a_side_said_before_its_reset_arrives() {
    let mut running = Running::new();
    let (mut near, mut far) = running.join(0);
    let bytes = pattern(30_000);
    far.write_all(&bytes).unwrap();
    near.write_all(b"that nobody reads").unwrap();
    reset(far.into());
    running.run_until(|it| !it.over.is_empty());
    let mut arrived = Vec::new();
    let error = near.read_to_end(&mut arrived).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    assert!(arrived == bytes, "{} bytes", arrived.len());
}

#[test]
fn what_was_passed_on_whole_arrives_after_the_end_of_all() {
    for reversed in [false, true] {
        let mut running = Running::new();
        let sides = [running.join(0), running.join(1)];
        let [(ends, mut whole), (stays, mut half)] =
            sides.map(|(near, far)| if reversed { (far, near) } else { (near, far) });
        let bytes = pattern(400_000);
        for mut sender in [&ends, &stays] {
            sender.write_all(&bytes).unwrap();
        }
        drop(ends);
        running.run_until(|it| {
            it.relay.connections.iter().filter(|(_, it)| it.owes(|_| reversed)).count() == 1
        });
        let mut over = running.relay.end_all(|_| reversed);
        over.sort_by_key(|over| over.about);
        let broken: Vec<_> = over.iter().map(|over| over.broken).collect();
        assert_eq!(broken, [None, Some(Broken::By(Errno::CANCELED))]);
        let mut arrived = Vec::new();
        whole.read_to_end(&mut arrived).unwrap();
        assert!(arrived == bytes, "{} bytes", arrived.len());
        assert!(half.read_to_end(&mut arrived).is_err());
    }
}

/// More of them than there are pipes: the others go on all the same, and nothing grows.
#[test]
fn who_never_reads_stops_nobody() {
    let mut running = Running::new();
    let deaf: Vec<_> = (0..100).map(|about| running.join(about)).collect();
    let bytes = pattern(300_000);
    for (_, far) in &deaf {
        far.set_nonblocking(true).unwrap();
        while (&*far).write(&bytes).is_ok_and(|written| written > 0) {}
    }
    running.run_until(|it| !it.relay.has_more());
    let (near, mut far) = running.join(1000);
    let sent = bytes.clone();
    let writer = thread::spawn(move || {
        far.write_all(&sent).unwrap();
        far.shutdown(Shutdown::Write).unwrap();
        far
    });
    let reader = thread::spawn(move || {
        let (mut near, mut read) = (near, Vec::new());
        near.read_to_end(&mut read).unwrap();
        (near, read)
    });
    running.run_until(|_| reader.is_finished());
    drop(writer.join().unwrap());
    assert!(reader.join().unwrap().1 == bytes);
    running.run_until(|it| it.over.iter().any(|over| over.about == 1000));
    // Whoever reads at last gets everything.
    let (near, far) = deaf.into_iter().next().unwrap();
    far.set_nonblocking(false).unwrap();
    far.shutdown(Shutdown::Write).unwrap();
    let reader = thread::spawn(move || {
        let (mut near, mut length) = (near, 0);
        let mut buffer = vec![0; 65536];
        while let Ok(read @ 1..) = near.read(&mut buffer) {
            length += read;
        }
        length
    });
    running.run_until(|_| reader.is_finished());
    assert!(reader.join().unwrap() >= bytes.len());
}

/// A turn for which there is no time is one connection's, and who waited for longest has the next.
#[test]
fn a_turn_without_time_is_one_connections() {
    let mut running = Running::new();
    let peers: Vec<_> = (0..3).map(|about| running.join(about)).collect();
    let bytes = pattern(100_000);
    for (near, _) in &peers {
        near.set_nonblocking(true).unwrap();
        assert!((&*near).write(&bytes).unwrap() > 0);
    }
    let moved = |running: &Running| -> Vec<bool> {
        running.relay.connections.iter().map(|(_, it)| it.out.bytes > 0).collect()
    };
    for expected in [[true, false, false], [true, true, false], [true, true, true]] {
        let over = running.relay.turn(Instant::now());
        assert_eq!((moved(&running).as_slice(), over.len()), (&expected[..], 0));
    }
}

#[test]
fn the_first_bytes_must_be_for_the_server_that_was_named() {
    let request = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
    for (host, passes) in [("named.example", true), ("other.example", false)] {
        let mut running = Running::new();
        let (near, near_peer) = pair(&running.listener);
        let (far, mut far_peer) = pair(&running.listener);
        let expected = Some("named.example".to_owned());
        running.relay.join(&running.poll, (near, far), expected, 0).unwrap();
        far_peer.write_all(b"greeting").unwrap();
        let mut greeting = [0; 8];
        near_peer.set_nonblocking(true).unwrap();
        running.run_until(|_| near_peer.peek(&mut greeting).is_ok_and(|length| length == 8));
        for part in request(host).as_bytes().chunks(20) {
            (&near_peer).write_all(part).unwrap();
            running.run_until(|it| !it.relay.has_more());
        }
        if passes {
            near_peer.shutdown(Shutdown::Write).unwrap();
            running.run_until(|it| !it.relay.owes(|_| false));
            let mut arrived = Vec::new();
            far_peer.read_to_end(&mut arrived).unwrap();
            assert_eq!(arrived, request(host).as_bytes());
        } else {
            running.run_until(|it| !it.over.is_empty());
            assert_eq!(running.over.first().unwrap().broken, Some(Broken::OtherServer));
            assert!(far_peer.read(&mut [0]).is_err());
        }
    }
}

/// With the end of all a server answers a line that has no end.
#[test]
fn unlikely_first_bytes_are_judged_at_their_end() {
    for (bytes, passes) in [(" GET http://other.example/ HTTP/1.0", false), (" hello", true)] {
        let mut running = Running::new();
        let (near, mut near_peer) = pair(&running.listener);
        let (far, far_peer) = pair(&running.listener);
        let expected = Some("named.example".to_owned());
        running.relay.join(&running.poll, (near, far), expected, 0).unwrap();
        near_peer.write_all(bytes.as_bytes()).unwrap();
        far_peer.set_nonblocking(true).unwrap();
        running.run_until(|_| far_peer.peek(&mut [0; 64]).is_ok());
        running.run_until(|it| !it.relay.has_more());
        near_peer.shutdown(Shutdown::Write).unwrap();
        if passes {
            running.run_until(|it| !it.relay.owes(|_| false));
        } else {
            running.run_until(|it| !it.over.is_empty());
            assert_eq!(running.over.first().unwrap().broken, Some(Broken::OtherServer));
        }
    }
}

/// What is hardly a request goes on and is waited for no more, but makes none with what follows.
#[test]
fn unlikely_first_bytes_go_on_and_are_looked_at_again() {
    for (follows, passes) in [(&b"GET / HTTP/1.1\r\n"[..], false), (b"\xd2\x16\x2f", true)] {
        let mut running = Running::new();
        let (near, mut near_peer) = pair(&running.listener);
        let (far, mut far_peer) = pair(&running.listener);
        let expected = Some("named.example".to_owned());
        running.relay.join(&running.poll, (near, far), expected, 0).unwrap();
        let mut arrived = vec![0; 100_000];
        let begin = vec![0; 50_000];
        near_peer.write_all(&begin).unwrap();
        far_peer.set_nonblocking(true).unwrap();
        running.run_until(|_| far_peer.peek(&mut arrived).is_ok_and(|length| length == 50_000));
        near_peer.write_all(follows).unwrap();
        far_peer.set_nonblocking(false).unwrap();
        if passes {
            near_peer.shutdown(Shutdown::Write).unwrap();
            running.run_until(|it| !it.relay.owes(|_| false));
            arrived.clear();
            far_peer.read_to_end(&mut arrived).unwrap();
            assert!(arrived == [&begin[..], follows].concat());
        } else {
            running.run_until(|it| !it.over.is_empty());
            assert_eq!(running.over.first().unwrap().broken, Some(Broken::OtherServer));
        }
    }
}

/// Who sends a line word by word has all of it looked at with each: that ends.
#[test]
fn a_line_in_too_many_parts_ends() {
    let mut running = Running::new();
    let (near, mut near_peer) = pair(&running.listener);
    let (far, mut far_peer) = pair(&running.listener);
    far_peer.set_nonblocking(true).unwrap();
    let expected = Some("named.example".to_owned());
    running.relay.join(&running.poll, (near, far), expected, 0).unwrap();
    for _ in 0..20_000 {
        if near_peer.write_all(b" ").is_err() || !running.over.is_empty() {
            break;
        }
        near_peer.write_all(b"word").unwrap();
        running.run_until(|it| far_peer.read(&mut [0; 8]).is_ok() || !it.over.is_empty());
    }
    assert_eq!(running.over.first().map(|it| it.broken), Some(Some(Broken::OtherServer)));
}

/// A connection to `named.example` whose client has said these things, and whose server has answered the
/// first one.
struct Greeted {
    running: Running,
    near: TcpStream,
    far: TcpStream,
    arrived: Vec<u8>,
}

impl Greeted {
    fn new(said: &[&[u8]], answer: &[u8]) -> Self {
        let mut running = Running::new();
        let (near, near_peer) = pair(&running.listener);
        let (far, far_peer) = pair(&running.listener);
        let expected = Some("named.example".to_owned());
        running.relay.join(&running.poll, (near, far), expected, 0).unwrap();
        far_peer.set_nonblocking(true).unwrap();
        (&near_peer).write_all(&said.concat()).unwrap();
        let mut it = Self { running, near: near_peer, far: far_peer, arrived: Vec::new() };
        it.arrive(said[0].len());
        it.rest();
        assert!(it.arrived == said[0], "what follows waits for the answer");
        for part in answer.chunks(20) {
            it.far.write_all(part).unwrap();
            it.rest();
        }
        let mut heard = vec![0; answer.len()];
        let (near, length) = (&it.near, answer.len());
        near.set_nonblocking(true).unwrap();
        it.running.run_until(|it| {
            let has_heard = near.peek(&mut heard).is_ok_and(|heard| heard == length);
            has_heard || !it.over.is_empty()
        });
        assert!(heard == answer || it.is_broken());
        it
    }

    /// Moves bytes until so many have arrived, or the connection is over.
    fn arrive(&mut self, length: usize) {
        let Self { running, far, arrived, .. } = self;
        running.run_until(|it| {
            let mut bytes = vec![0; 100_000];
            let read = (&*far).read(&mut bytes).unwrap_or_default();
            arrived.extend(bytes.drain(..read));
            arrived.len() >= length || !it.over.is_empty()
        });
    }

    /// Moves what there is.
    fn rest(&mut self) {
        let mut rounds = 0..3;
        self.running.run_until(|_| rounds.next().is_none());
    }

    /// Whether more was said for another server.
    fn is_broken(&self) -> bool {
        self.running.over.first().is_some_and(|over| over.broken == Some(Broken::OtherServer))
    }
}

/// A server that asks for another hello believes the name in that. Before it there may be data that came
/// too early, and a record without a meaning.
#[test]
fn the_hello_that_a_server_asks_for_must_be_for_it_too() {
    let first = hello_for("named.example", 16_000);
    let data = [&[23, 3, 3, 0x20, 0][..], &[7; 0x2000]].concat();
    let between = [&[20, 3, 3, 0, 1, 1][..], &data, &data, &data].concat();
    for (name, passes) in [("named.example", true), ("other.example", false)] {
        for (before, size) in [(&[][..], 16_000), (&between, 16_000), (&between, 50)] {
            let second = hello_for(name, size);
            let mut it = Greeted::new(&[&first, before, &second], &retry(16_000));
            it.arrive(first.len() + before.len() + if passes { second.len() } else { 1 });
            assert_eq!(it.is_broken(), !passes, "{name} {size}");
            let so_far = [&first[..], before, if passes { &second } else { &[] }].concat();
            assert!(so_far.starts_with(&it.arrived));
            assert!(!passes || it.arrived.len() == so_far.len());
        }
    }
}

/// Neither data that came early nor what is encrypted is looked at when a server asks for nothing.
#[test]
fn what_follows_another_answer_is_free() {
    let first = hello_for("named.example", 16_000);
    let other = hello_for("other.example", 16_000);
    let mut answer = retry(16_000);
    answer[20] ^= 1;
    let mut it = Greeted::new(&[&first, &other], &answer);
    it.arrive(first.len() + other.len());
    assert!(!it.is_broken() && it.arrived == [&first[..], &other].concat());
    it.near.shutdown(Shutdown::Write).unwrap();
    it.far.shutdown(Shutdown::Write).unwrap();
    it.running.run_until(|it| !it.over.is_empty());
    assert_eq!(it.running.over.first().unwrap().broken, None);
}
