//! Datagrams between the sandbox and hosts that a rule for UDP names.
//!
//! Whoever sends from inside gets a socket of its own outside, connected to one address: what comes
//! from elsewhere the kernel drops.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketType, recv, recvfrom, send, sendto};

use super::poll::{Poll, Source};
use super::slab::{Key, Slab};
use super::spares::{Inside as Around, Spares};
use super::target::Target;
use crate::sys::internet;

/// The longest datagram that UDP carries.
const DATAGRAM_MAX: usize = 65_535;
/// The most sockets inside, where descriptors are many.
const INSIDE_MAX: usize = 1024;
/// The most senders, likewise.
const SENDERS_MAX: usize = 512;
/// How many datagrams are moved before others have their turn.
const AT_ONCE: usize = 64;
/// How long a sender may be silent and still get answers (RFC 4787, 4.3, for mappings).
const SILENCE: Duration = Duration::from_mins(2);

/// All sockets for datagrams.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    inside: Slab<Inside>,
    /// Those that stand for as long as they are used.
    addresses: HashMap<SocketAddr, Key>,
    outside: Slab<Sender>,
    senders: HashMap<(Key, SocketAddr), Key>,
    next_look: Option<Instant>,
    most: Most,
}

/// How many there may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Most {
    /// Sockets inside.
    pub(super) inside: usize,
    /// Senders at once, each with a socket outside.
    pub(super) senders: usize,
}

impl Most {
    /// Takes a part of so many descriptors.
    pub(super) fn within(descriptors: usize) -> Self {
        let (inside, senders) = (descriptors / 8, descriptors / 16);
        Self { inside: inside.clamp(2, INSIDE_MAX), senders: senders.clamp(1, SENDERS_MAX) }
    }
}

impl Default for Most {
    fn default() -> Self {
        Self { inside: INSIDE_MAX, senders: SENDERS_MAX }
    }
}

/// A socket inside that stands for a host.
#[derive(Debug)]
struct Inside {
    socket: OwnedFd,
    target: Target,
    /// When it was wanted last, or something went by.
    used: Instant,
}

/// Somebody inside who sent something.
#[derive(Debug)]
struct Sender {
    /// The socket inside to which it was sent.
    to: Key,
    from: SocketAddr,
    socket: OwnedFd,
    used: Instant,
    /// What is known of it, and how much went by.
    passed: Passed,
}

/// What went between a sender and a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) target: Target,
    pub(super) address: SocketAddr,
    pub(super) since: Instant,
    pub(super) sent: u64,
    pub(super) received: u64,
}

/// A datagram from somebody who has no socket outside yet.
#[derive(Debug)]
pub(super) struct First {
    to: Key,
    from: SocketAddr,
    bytes: Vec<u8>,
    /// Where to.
    pub(super) target: Target,
}

impl First {
    /// How long it is.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns a datagram for tests.
    #[cfg(test)]
    pub(super) fn of_length(length: usize) -> Self {
        let from = SocketAddr::from(([127, 0, 0, 1], 1));
        Self { to: Key::ONLY, from, bytes: vec![0; length], target: Target::Address(from) }
    }
}

impl Datagrams {
    /// Bounds their number.
    pub(super) fn limit(&mut self, most: Most) {
        self.most = most;
    }

    /// Takes a socket inside that stands for a target.
    pub(super) fn add(
        &mut self,
        poll: &Poll,
        socket: OwnedFd,
        target: Target,
    ) -> Result<Key, Errno> {
        let key = self.inside.insert(Inside { socket, target, used: Instant::now() });
        if let Some(made) = self.inside.get_mut(key) {
            let watched = poll.add_reader(made.socket.as_fd(), Source::DatagramsInside, key);
            watched.inspect_err(|_| drop(self.inside.remove(key)))?;
        }
        Ok(key)
    }

    /// Sees to it that there is one at an address of the namespace. Where there are as many as there may be, the one
    /// that was used longest ago makes room, until it is wanted again; hands out what went through it.
    pub(super) fn ensure(
        &mut self,
        poll: &Poll,
        inside: Option<Around<'_>>,
        at: SocketAddr,
        target: Target,
    ) -> Result<Vec<Passed>, Errno> {
        let known = self.addresses.get(&at);
        if let Some(known) = known.and_then(|key| self.inside.get_mut(*key)) {
            known.used = Instant::now();
            return Ok(Vec::new());
        }
        let socket = Spares::datagrams(inside)?;
        internet::bind_to(socket.as_fd(), at)?;
        self.stand(poll, socket, at, target)
    }

    fn stand(
        &mut self,
        poll: &Poll,
        socket: OwnedFd,
        at: SocketAddr,
        target: Target,
    ) -> Result<Vec<Passed>, Errno> {
        let is_full = self.inside.len() >= self.most.inside;
        let gone = if is_full { self.make_room_inside(poll)? } else { Vec::new() };
        let key = self.add(poll, socket, target)?;
        self.addresses.insert(at, key);
        Ok(gone)
    }

    fn make_room_inside(&mut self, poll: &Poll) -> Result<Vec<Passed>, Errno> {
        let used = |key| self.inside.get(key).map(|inside| inside.used);
        let longest_ago = self.addresses.iter().min_by_key(|(_, key)| used(**key));
        let (at, key) = longest_ago.map(|(at, key)| (*at, *key)).ok_or(Errno::NFILE)?;
        self.addresses.remove(&at);
        if let Some(inside) = self.inside.remove(key) {
            poll.remove(inside.socket.as_fd());
        }
        let senders = self.senders.iter().filter(|((to, _), _)| *to == key);
        let senders: Vec<Key> = senders.map(|(_, sender)| *sender).collect();
        Ok(senders.into_iter().filter_map(|sender| self.remove(poll, sender)).collect())
    }

    /// Moves what was sent inside; hands out what comes from a new sender.
    pub(super) fn take_inside(&mut self, key: Key, now: Instant) -> Vec<First> {
        let mut first = Vec::new();
        let mut bytes = vec![0; DATAGRAM_MAX];
        for _ in 0..AT_ONCE {
            let Some(inside) = self.inside.get_mut(key) else { break };
            let received = recvfrom(&inside.socket, &mut bytes, RecvFlags::DONTWAIT);
            let Ok((_, length, Some(from))) = received else { break };
            let Ok(from) = SocketAddr::try_from(from) else { continue };
            inside.used = now;
            let datagram = bytes.get(..length).unwrap_or_default();
            let known = self.senders.get(&(key, from));
            if let Some(sender) = known.and_then(|known| self.outside.get_mut(*known)) {
                sender.send(datagram, now);
                continue;
            }
            let target = inside.target.clone();
            first.push(First { to: key, from, bytes: datagram.to_vec(), target });
        }
        first
    }

    /// Gives a new sender a socket outside and sends what it sent; hands out who had to make room for it. Where the
    /// socket inside made room meanwhile, nobody could hand on an answer: the datagram is lost.
    pub(super) fn open(
        &mut self,
        poll: &Poll,
        first: First,
        addresses: &[SocketAddr],
        now: Instant,
    ) -> Result<Option<Passed>, Errno> {
        let key = (first.to, first.from);
        if self.inside.get(first.to).is_none() {
            return Ok(None);
        }
        if let Some(sender) = self.senders.get(&key).and_then(|it| self.outside.get_mut(*it)) {
            sender.send(&first.bytes, now);
            return Ok(None);
        }
        let (socket, address) = connected(addresses)?;
        let target = first.target;
        let passed = Passed { target, address, since: now, sent: 0, received: 0 };
        let (to, from) = key;
        let gone = self.make_room(poll);
        let outside = self.outside.insert(Sender { to, from, socket, used: now, passed });
        let Some(sender) = self.outside.get_mut(outside) else { return Ok(gone) };
        if poll.add_reader(sender.socket.as_fd(), Source::DatagramsOutside, outside).is_err() {
            drop(self.outside.remove(outside));
            return Ok(gone);
        }
        sender.send(&first.bytes, now);
        self.senders.insert(key, outside);
        self.next_look = self.next_look.or(Some(now + SILENCE));
        Ok(gone)
    }

    /// Moves what came back.
    pub(super) fn take_outside(&mut self, key: Key, now: Instant) {
        let Some(sender) = self.outside.get_mut(key) else { return };
        let Some(inside) = self.inside.get_mut(sender.to) else { return };
        let mut bytes = vec![0; DATAGRAM_MAX];
        for _ in 0..AT_ONCE {
            match recv(&sender.socket, &mut bytes, RecvFlags::DONTWAIT) {
                Ok((_, length)) => {
                    let datagram = bytes.get(..length).unwrap_or_default();
                    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                    // What does not get through is lost, as datagrams are.
                    let _ = sendto(&inside.socket, datagram, flags, &sender.from);
                    sender.passed.received += length as u64;
                    (sender.used, inside.used) = (now, now);
                }
                // An error that came back is told once, and the next may be a datagram.
                Err(Errno::CONNREFUSED | Errno::HOSTUNREACH | Errno::NETUNREACH) => {}
                Err(_) => return,
            }
        }
    }

    /// When to look for senders that are silent.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.next_look
    }

    /// Lets senders go that were silent for long, or all, and hands them out.
    pub(super) fn let_go(&mut self, poll: &Poll, before: Option<Instant>) -> Vec<Passed> {
        let silent = |sender: &Sender| before.is_none_or(|now| sender.used + SILENCE <= now);
        let outside = self.outside.iter();
        let silent: Vec<Key> =
            outside.filter(|(_, sender)| silent(sender)).map(|(key, _)| key).collect();
        let gone = silent.into_iter().filter_map(|key| self.remove(poll, key)).collect();
        let left = self.outside.len() > 0;
        self.next_look = before.filter(|_| left).map(|now| now + SILENCE);
        gone
    }

    /// Lets the sender go that is silent for longest where one more would be too many: who has a socket for each question
    /// has closed it by then.
    fn make_room(&mut self, poll: &Poll) -> Option<Passed> {
        let is_full = self.outside.len() >= self.most.senders;
        let senders = self.outside.iter().filter(|_| is_full);
        let (key, _) = senders.min_by_key(|(_, sender)| sender.used)?;
        self.remove(poll, key)
    }

    fn remove(&mut self, poll: &Poll, key: Key) -> Option<Passed> {
        let sender = self.outside.remove(key)?;
        poll.remove(sender.socket.as_fd());
        self.senders.remove(&(sender.to, sender.from));
        Some(sender.passed)
    }
}

impl Sender {
    fn send(&mut self, datagram: &[u8], now: Instant) {
        let sent = send(&self.socket, datagram, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        self.passed.sent += sent.unwrap_or_default() as u64;
        self.used = now;
    }
}

/// Connects to the first address that there is a route to.
fn connected(addresses: &[SocketAddr]) -> Result<(OwnedFd, SocketAddr), Errno> {
    let mut last = Errno::HOSTUNREACH;
    for address in addresses {
        let socket = internet::socket(SocketType::DGRAM)?;
        match internet::begin_connect(socket.as_fd(), *address) {
            Ok(()) => return Ok((socket, *address)),
            Err(errno) => last = errno,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn the_one_used_longest_ago_makes_room_for_another() {
        let most = Most { inside: 5, senders: 2 };
        let (poll, mut datagrams) =
            (Poll::new().unwrap(), Datagrams { most, ..Datagrams::default() });
        // One of pid 1's stays, whenever it was used.
        let target = Target::Address(([192, 0, 2, 1], 1).into());
        datagrams.add(&poll, bound().0, target.clone()).unwrap();
        let stand = |datagrams: &mut Datagrams| {
            let (socket, at) = bound();
            (at, datagrams.stand(&poll, socket, at, target.clone()).unwrap())
        };
        let (first, _) = stand(&mut datagrams);
        let (second, _) = stand(&mut datagrams);
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.send_to(b"x", second).unwrap();
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sent = datagrams.take_inside(datagrams.addresses[&second], Instant::now());
        for datagram in sent {
            let there = [peer.local_addr().unwrap()];
            datagrams.open(&poll, datagram, &there, Instant::now()).unwrap();
        }
        for _ in 3..most.inside {
            stand(&mut datagrams);
        }
        assert_eq!(datagrams.ensure(&poll, None, first, Target::Proxy), Ok(Vec::new()));
        let gone = stand(&mut datagrams).1;
        assert_eq!(gone.iter().map(|it| it.sent).collect::<Vec<_>>(), [1]);
        assert!(
            datagrams.addresses.contains_key(&first) && !datagrams.addresses.contains_key(&second)
        );
        assert_eq!((datagrams.inside.len(), datagrams.outside.len()), (most.inside, 0));
    }

    #[test]
    fn datagrams_that_wait_for_a_socket_that_made_room_are_lost() {
        let most = Most { inside: 1, senders: 2 };
        let (poll, mut datagrams) =
            (Poll::new().unwrap(), Datagrams { most, ..Datagrams::default() });
        let target = Target::Address(([192, 0, 2, 1], 1).into());
        let (socket, at) = bound();
        datagrams.stand(&poll, socket, at, target.clone()).unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.send_to(b"x", at).unwrap();
        let now = Instant::now();
        let first = datagrams.take_inside(datagrams.addresses[&at], now).pop().unwrap();
        let (socket, at) = bound();
        datagrams.stand(&poll, socket, at, target).unwrap();
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let there = [peer.local_addr().unwrap()];
        assert_eq!(datagrams.open(&poll, first, &there, now), Ok(None));
        assert_eq!((datagrams.senders.len(), datagrams.outside.len()), (0, 0));
    }

    fn bound() -> (OwnedFd, SocketAddr) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = socket.local_addr().unwrap();
        (socket.into(), at)
    }
}
