//! Connections to the proxy that have not said yet where they want to go.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::{BYTES_MAX, Said, Wish, said};
use crate::network::poll::{News, Poll, Source};
use crate::network::silent::Silent;

/// The most of them at once.
const CLIENTS_MAX: usize = 256;

/// All of them.
#[derive(Debug, Default)]
pub(in crate::network) struct Clients(Silent<Client>);

#[derive(Debug)]
struct Client {
    socket: OwnedFd,
    greeted: bool,
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What came of listening to a client.
enum Heard {
    /// It says more later.
    Waits,
    /// It wants to go there.
    Wants(Wish),
    /// The client is gone, or makes no sense.
    Over,
}

impl Clients {
    /// Takes a connection; one too many is closed.
    pub(in crate::network) fn join(&mut self, poll: &Poll, socket: OwnedFd, now: Instant) {
        if self.0.len() >= CLIENTS_MAX {
            return;
        }
        let key = self.0.insert(Client { socket, greeted: false }, now);
        let Some(client) = self.0.get_mut(key) else { return };
        if poll.add_both(client.socket.as_fd(), Source::Client, key).is_err() {
            self.0.remove(poll, key);
        }
    }

    /// When to look for clients that were silent for too long.
    pub(in crate::network) fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }

    /// Lets the clients go that were silent for too long.
    pub(in crate::network) fn expire(&mut self, poll: &Poll, now: Instant) {
        self.0.expire(poll, now);
    }

    /// Listens to a client that has said something; hands it out when it has said enough.
    pub(in crate::network) fn hear(&mut self, poll: &Poll, news: &News) -> Option<(OwnedFd, Wish)> {
        let key = news.key;
        let client = self.0.get_mut(key)?;
        let wish = match client.hear(news.ended) {
            Heard::Waits => return None,
            Heard::Wants(wish) => Some(wish),
            Heard::Over => None,
        };
        let client = self.0.remove(poll, key)?;
        wish.map(|wish| (client.socket, wish))
    }
}

impl Client {
    /// Takes what is meant for the proxy, and not a byte of what comes after.
    fn hear(&mut self, ended: bool) -> Heard {
        let mut bytes = vec![0; BYTES_MAX];
        loop {
            let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
            let seen = match recv(&self.socket, &mut bytes, flags) {
                Ok((_, length @ 1..)) => bytes.get(..length).unwrap_or_default(),
                Err(Errno::AGAIN | Errno::INTR) => return Heard::Waits,
                Ok(_) | Err(_) => return Heard::Over,
            };
            match said(seen, self.greeted) {
                Said::More if ended => return Heard::Over,
                Said::More => return Heard::Waits,
                Said::Greeting(length, reply) if self.take(length) && self.say(reply) => {
                    self.greeted = true;
                }
                Said::Wish(length, wish) if self.take(length) => return Heard::Wants(wish),
                Said::Greeting(..) | Said::Wish(..) => return Heard::Over,
                Said::Wrong(reply) => {
                    // Bytes that nobody read would make the kernel reset the connection before the
                    // reply is read.
                    let length = seen.len();
                    let _ = self.take(length) && self.say(reply);
                    return Heard::Over;
                }
            }
        }
    }

    fn take(&self, length: usize) -> bool {
        let mut bytes = vec![0; length];
        recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT).is_ok_and(|(_, taken)| taken == length)
    }

    fn say(&self, reply: &[u8]) -> bool {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        send(&self.socket, reply, flags) == Ok(reply.len())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::network::silent::PATIENCE;

    #[test]
    fn silent_clients_make_room_in_time() {
        let poll = Poll::new().expect("a poll");
        let (mut clients, begin) = (Clients::default(), Instant::now());
        let join = |clients: &mut Clients, now| {
            let (near, far) = UnixStream::pair().expect("a pair");
            clients.join(&poll, near.into(), now);
            far
        };
        let mut first = join(&mut clients, begin);
        let later: Vec<_> =
            (1..CLIENTS_MAX).map(|_| join(&mut clients, begin + PATIENCE / 2)).collect();
        let mut refused = join(&mut clients, begin + PATIENCE / 2);
        assert_eq!(refused.read(&mut [0]).ok(), Some(0), "the control");
        assert_eq!(clients.deadline(), Some(begin + PATIENCE));
        clients.expire(&poll, begin + PATIENCE * 9 / 10);
        assert_eq!(clients.0.len(), CLIENTS_MAX);
        clients.expire(&poll, begin + PATIENCE);
        assert_eq!((clients.0.len(), first.read(&mut [0]).ok()), (later.len(), Some(0)));
        assert_eq!(clients.deadline(), Some(begin + PATIENCE + PATIENCE / 2));
        clients.expire(&poll, begin + PATIENCE * 2);
        assert_eq!((clients.0.len(), clients.deadline()), (0, None));
    }
}
