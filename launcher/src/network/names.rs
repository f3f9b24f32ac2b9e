//! Where names are asked for inside: a datagram socket, and connections for those who prefer them.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, recvfrom, send, sendto};

use super::dns::answer::{Answer, render};
use super::dns::question::{self, Question, Refusal};
use super::poll::{Poll, Source};
use super::silent::Silent;
use super::slab::Key;

/// The longest question that is read: a name has at most 255 bytes.
const QUESTION_MAX: usize = 1232;

/// How many datagrams are read before others have their turn.
const AT_ONCE: usize = 64;

/// The most connections for questions at once.
const ASKING_MAX: usize = 64;

/// The length of a message before it in a stream (RFC 1035, 4.2.2).
const LENGTH: usize = 2;

/// Both ways.
#[derive(Debug, Default)]
pub(super) struct NameService {
    datagrams: Option<OwnedFd>,
    asking: Silent<Asking>,
}

/// A connection in which questions come.
#[derive(Debug)]
struct Asking {
    socket: OwnedFd,
    bytes: Vec<u8>,
}

impl AsFd for Asking {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A question that waits for its answer.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) question: Question,
    from: From,
}

#[derive(Debug)]
enum From {
    Datagram(SocketAddr),
    Stream(Key),
}

impl NameService {
    /// Takes the socket for datagrams.
    pub(super) fn serve(&mut self, poll: &Poll, socket: OwnedFd) -> Result<(), Errno> {
        poll.add_reader(socket.as_fd(), Source::Names, Key::ONLY)?;
        self.datagrams = Some(socket);
        Ok(())
    }

    /// Takes a connection; one too many is closed.
    pub(super) fn join(&mut self, poll: &Poll, socket: OwnedFd, now: Instant) {
        if self.asking.len() >= ASKING_MAX {
            return;
        }
        let key = self.asking.insert(Asking { socket, bytes: Vec::new() }, now);
        let Some(made) = self.asking.get_mut(key) else { return };
        if poll.add_reader(made.socket.as_fd(), Source::Asking, key).is_err() {
            self.asking.remove(poll, key);
        }
    }

    /// When to look for connections that were silent for too long.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.asking.deadline()
    }

    /// Lets connections go that were silent for too long.
    pub(super) fn expire(&mut self, poll: &Poll, now: Instant) {
        self.asking.expire(poll, now);
    }

    /// Reads some datagrams; what is no question is answered as such.
    pub(super) fn receive(&mut self) -> Vec<Asked> {
        let Some(socket) = &self.datagrams else { return Vec::new() };
        let next = || {
            let mut bytes = [0; QUESTION_MAX];
            let received = recvfrom(socket, &mut bytes, RecvFlags::DONTWAIT);
            let (_, length, from) = received.ok()?;
            let from = SocketAddr::try_from(from?).ok()?;
            Some((from, question::parse(bytes.get(..length).unwrap_or_default())))
        };
        let asked = |(from, parsed): (SocketAddr, Result<Question, Refusal>)| match parsed {
            Ok(question) => Some(Asked { question, from: From::Datagram(from) }),
            Err(refusal) => {
                let reply = refusal.reply()?;
                datagram(socket, &reply, from);
                None
            }
        };
        std::iter::from_fn(next).take(AT_ONCE).filter_map(asked).collect()
    }

    /// Reads the questions that a connection has for now.
    pub(super) fn read(&mut self, poll: &Poll, key: Key, now: Instant) -> Vec<Asked> {
        let Some(asking) = self.asking.get_mut(key) else { return Vec::new() };
        let mut questions = Vec::new();
        let goes_on = asking.receive() && asking.take(key, &mut questions);
        if !questions.is_empty() {
            self.asking.heard(key, now);
        }
        if !goes_on {
            self.asking.remove(poll, key);
        }
        questions
    }

    /// Answers, when whoever asked is still there.
    pub(super) fn answer(&mut self, poll: &Poll, asked: &Asked, answer: &Answer<'_>) {
        let reply = render(&asked.question, answer);
        match asked.from {
            From::Datagram(to) => {
                self.datagrams.iter().for_each(|socket| datagram(socket, &reply, to));
            }
            From::Stream(key) => {
                if self.asking.get_mut(key).is_some_and(|asking| !asking.say(&reply)) {
                    self.asking.remove(poll, key);
                }
            }
        }
    }
}

/// What does not get through is asked for again.
fn datagram(socket: &OwnedFd, reply: &[u8], to: SocketAddr) {
    let _ = sendto(socket, reply, SendFlags::DONTWAIT | SendFlags::NOSIGNAL, &to);
}

impl Asking {
    /// Takes bytes; returns whether more may come.
    fn receive(&mut self) -> bool {
        let mut bytes = [0; LENGTH + QUESTION_MAX];
        match recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => false,
            Ok((_, length)) => {
                self.bytes.extend_from_slice(bytes.get(..length).unwrap_or_default());
                true
            }
            Err(errno) => matches!(errno, Errno::AGAIN | Errno::INTR),
        }
    }

    /// Takes whole questions out of the bytes; returns whether they can go on.
    fn take(&mut self, key: Key, questions: &mut Vec<Asked>) -> bool {
        while let Some([high, low]) = self.bytes.first_chunk::<LENGTH>() {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            if length > QUESTION_MAX {
                return false;
            }
            let Some(message) = self.bytes.get(LENGTH..LENGTH + length) else { return true };
            let parsed = question::parse(message);
            self.bytes.drain(..LENGTH + length);
            match parsed {
                Ok(question) => questions.push(Asked { question, from: From::Stream(key) }),
                Err(refusal) if self.refuses(&refusal) => {}
                Err(_) => return false,
            }
        }
        true
    }

    fn refuses(&self, refusal: &Refusal) -> bool {
        refusal.reply().is_some_and(|reply| self.say(&reply))
    }

    /// Answers; returns whether that went. Who does not read has no answer.
    fn say(&self, reply: &[u8]) -> bool {
        let Ok(length) = u16::try_from(reply.len()) else { return false };
        let message = [&length.to_be_bytes(), reply].concat();
        let sent = send(&self.socket, &message, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        sent == Ok(message.len())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::super::silent::PATIENCE;
    use super::*;

    /// `a.example`, with its length before it.
    const QUESTION: &[u8] = b"\0\x1b\0\x07\x01\0\0\x01\0\0\0\0\0\0\x01a\x07example\0\0\x01\0\x01";

    #[test]
    fn silent_connections_make_room_in_time() {
        let poll = Poll::new().expect("a poll");
        let (mut service, begin) = (NameService::default(), Instant::now());
        let half = PATIENCE / 2;
        let mut streams: Vec<UnixStream> = Vec::new();
        for _ in 0..=ASKING_MAX {
            let (near, far) = UnixStream::pair().expect("a pair");
            near.set_nonblocking(true).expect("set");
            service.join(&poll, near.into(), begin);
            streams.push(far);
        }
        let mut refused = streams.pop().expect("one too many");
        assert_eq!(refused.read(&mut [0]).ok(), Some(0), "the control");
        // One asks, and one says half of a question.
        let keys = service.asking.keys();
        streams[0].write_all(QUESTION).expect("written");
        streams[1].write_all(&QUESTION[..9]).expect("written");
        assert_eq!(service.read(&poll, keys[0], begin + half).len(), 1);
        assert!(service.read(&poll, keys[1], begin + half).is_empty());
        service.expire(&poll, begin + PATIENCE);
        assert_eq!((service.asking.len(), service.deadline()), (1, Some(begin + half + PATIENCE)));
        assert_eq!(streams[1].read(&mut [0]).ok(), Some(0));
        service.expire(&poll, begin + half + PATIENCE);
        assert_eq!((service.asking.len(), service.deadline()), (0, None));
    }

    #[test]
    fn connection_that_is_over_has_no_more_news() {
        let poll = Poll::new().expect("a poll");
        let (mut service, now) = (NameService::default(), Instant::now());
        let (near, far) = UnixStream::pair().expect("a pair");
        near.set_nonblocking(true).expect("set");
        // As of a process that the supervisor made meanwhile.
        let _copy = near.try_clone().expect("a copy");
        service.join(&poll, near.into(), now);
        drop(far);
        let [news] = poll.news().try_into().expect("the end");
        assert!(service.read(&poll, news.key, now).is_empty());
        assert_eq!((service.asking.len(), poll.news().len()), (0, 0));
    }
}
