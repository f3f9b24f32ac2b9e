//! One question to one server: what is sent, and what comes back.

use std::net::SocketAddr;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with,
    sockopt,
};

use super::Failure;
use super::reading::Reading;
use super::resolv_conf::Transport;
use super::sent::Sent;
use super::watched::{Interest, Watch, Watched};

/// The largest message that is read by UDP; what is longer is cut and then can't be read.
const UDP_MAX: usize = 4096;

/// The largest that is read by TCP: many times the addresses that are kept.
const TCP_MAX: usize = 16 * 1024;

/// After as many messages that are no answer someone is guessing: a new socket has another port.
const NOT_OURS_MAX: u8 = 32;

/// How many messages are read in one turn of the loop.
const TURN_MAX: u8 = 8;

/// A socket that is connected to the server: from anyone else the kernel takes nothing.
#[derive(Debug)]
pub(super) struct Exchange {
    watched: Watched,
    sent: Sent,
    state: State,
}

#[derive(Debug)]
enum State {
    Udp { not_ours: u8 },
    TcpSending { bytes: Vec<u8>, sent: usize },
    TcpReading { bytes: Vec<u8> },
}

/// What came of looking at the socket.
#[derive(Debug)]
pub(super) enum Progress {
    /// There is more to wait for.
    Waiting,
    /// The answer.
    Answered(Reading),
    /// There won't be one.
    Broken(Failure),
}

impl Exchange {
    /// Sends the question.
    pub(super) fn open(
        server: SocketAddr,
        transport: Transport,
        sent: Sent,
        watch: &Watch,
    ) -> Result<Self, Errno> {
        let family = match server {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let kind = match transport {
            Transport::Udp => SocketType::DGRAM,
            Transport::Tcp => SocketType::STREAM,
        };
        let socket = socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
        match connect(&socket, &server) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(errno) => return Err(errno),
        }
        let bytes = sent.bytes();
        let (state, interest) = match transport {
            Transport::Udp => {
                send(&socket, &bytes, SendFlags::NOSIGNAL)?;
                (State::Udp { not_ours: 0 }, Interest::Read)
            }
            Transport::Tcp => {
                (State::TcpSending { bytes: framed(&bytes), sent: 0 }, Interest::Write)
            }
        };
        Ok(Self { watched: watch.add(socket, interest)?, sent, state })
    }

    /// Returns by what the epoll instance names it.
    pub(super) fn token(&self) -> u64 {
        self.watched.token()
    }

    /// Does what can be done without waiting.
    pub(super) fn advance(&mut self) -> Progress {
        for _ in 0..TURN_MAX {
            let step = match &mut self.state {
                State::Udp { .. } => self.receive(),
                State::TcpSending { .. } => self.send(),
                State::TcpReading { .. } => self.read(),
            };
            match step {
                Ok(Progress::Waiting) | Err(Errno::INTR) => {}
                Ok(progress) => return progress,
                Err(Errno::AGAIN) => return Progress::Waiting,
                Err(_) => return Progress::Broken(Failure::Unreachable),
            }
        }
        Progress::Waiting
    }

    fn receive(&mut self) -> Result<Progress, Errno> {
        let mut buffer = [0; UDP_MAX];
        let (length, _) = recv(self.watched.socket(), &mut buffer, RecvFlags::empty())?;
        let reading = self.sent.read(buffer.get(..length).unwrap_or_default());
        let State::Udp { not_ours } = &mut self.state else { return Ok(Progress::Waiting) };
        if reading != Reading::NotOurs {
            return Ok(Progress::Answered(reading));
        }
        *not_ours += 1;
        Ok(match *not_ours {
            NOT_OURS_MAX.. => Progress::Broken(Failure::Malformed),
            _ => Progress::Waiting,
        })
    }

    fn send(&mut self) -> Result<Progress, Errno> {
        let socket = self.watched.socket();
        sockopt::socket_error(socket)??;
        let State::TcpSending { bytes, sent } = &mut self.state else {
            return Ok(Progress::Waiting);
        };
        *sent += send(socket, bytes.get(*sent..).unwrap_or_default(), SendFlags::NOSIGNAL)?;
        if *sent >= bytes.len() {
            self.watched.wait_for(Interest::Read)?;
            self.state = State::TcpReading { bytes: Vec::new() };
        }
        Ok(Progress::Waiting)
    }

    fn read(&mut self) -> Result<Progress, Errno> {
        let mut buffer = [0; UDP_MAX];
        let (length, _) = recv(self.watched.socket(), &mut buffer, RecvFlags::empty())?;
        let State::TcpReading { bytes } = &mut self.state else { return Ok(Progress::Waiting) };
        bytes.extend_from_slice(buffer.get(..length).unwrap_or_default());
        Ok(match whole(bytes) {
            Framed::Whole(message) => Progress::Answered(of_stream(self.sent.read(message))),
            Framed::Part if length > 0 => Progress::Waiting,
            Framed::Part | Framed::TooLong => Progress::Broken(Failure::Malformed),
        })
    }
}

/// Puts its length in front of a message (RFC 1035, 4.2.2).
fn framed(message: &[u8]) -> Vec<u8> {
    let length = u16::try_from(message.len()).unwrap_or_default();
    [&length.to_be_bytes(), message].concat()
}

enum Framed<'a> {
    Part,
    Whole(&'a [u8]),
    TooLong,
}

fn whole(bytes: &[u8]) -> Framed<'_> {
    let Some((length, rest)) = bytes.split_first_chunk() else { return Framed::Part };
    let length = usize::from(u16::from_be_bytes(*length));
    match rest.get(..length) {
        _ if length > TCP_MAX => Framed::TooLong,
        Some(message) => Framed::Whole(message),
        None => Framed::Part,
    }
}

/// Nothing else comes by a stream, and there is no larger way.
fn of_stream(reading: Reading) -> Reading {
    match reading {
        Reading::NotOurs | Reading::Truncated => Reading::Failed(Failure::Malformed),
        reading => reading,
    }
}
