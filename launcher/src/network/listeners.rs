//! The sockets of a sandbox's network namespace that take connections for the supervisor.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};

use super::poll::{Poll, Source};
use super::slab::{Key, Slab};
use super::spares::{Inside, Spares};
use super::synthetic;
use super::target::Target;
use crate::sys::internet;

/// The most sockets that listen at once; each name that is asked for takes two a port, and each
/// address of a range one.
pub(super) const LISTENERS_MAX: usize = 4096;

/// How many connections of one socket are taken before others have their turn.
const TAKEN_AT_ONCE: usize = 64;

/// How long none is taken after one could not be: something may be closed by then.
const REST: Duration = Duration::from_millis(100);

/// All of them.
#[derive(Debug)]
pub(super) struct Listeners {
    listening: Slab<Listener>,
    /// Those that stand for as long as they are used.
    addresses: HashMap<SocketAddr, Key>,
    /// Where those of pid 1 listen, which stand for good.
    standing: HashSet<SocketAddr>,
    /// Nothing is taken for now.
    paused: bool,
    /// Until when there is no room for what they take.
    rest: Option<Instant>,
    /// The most there may be.
    most: usize,
}

impl Default for Listeners {
    fn default() -> Self {
        Self {
            listening: Slab::default(),
            addresses: HashMap::new(),
            standing: HashSet::new(),
            paused: false,
            rest: None,
            most: LISTENERS_MAX,
        }
    }
}

#[derive(Debug)]
struct Listener {
    socket: OwnedFd,
    target: Target,
    /// When it was wanted last, or took a connection.
    used: Instant,
}

impl Listeners {
    /// Bounds their number.
    pub(super) fn limit(&mut self, most: usize) {
        self.most = most;
    }

    /// Takes a socket of pid 1's, which listens at this address.
    pub(super) fn add_standing(
        &mut self,
        poll: &Poll,
        (socket, at): (OwnedFd, SocketAddr),
        target: Target,
    ) -> Result<(), Errno> {
        self.add(poll, socket, target)?;
        self.standing.insert(at);
        Ok(())
    }

    /// Takes a socket that listens already.
    pub(super) fn add(
        &mut self,
        poll: &Poll,
        socket: OwnedFd,
        target: Target,
    ) -> Result<Key, Errno> {
        if !matches!(target, Target::Published(_)) {
            internet::stays_here(socket.as_fd());
        }
        let key = self.listening.insert(Listener { socket, target, used: Instant::now() });
        match self.listening.get_mut(key) {
            Some(made) if !self.paused => {
                let watched = poll.add_reader(made.socket.as_fd(), Source::Listener, key);
                // One that nobody looks at would take connections, and serve them after a pause.
                watched.inspect_err(|_| drop(self.listening.remove(key)))?;
            }
            _ => {}
        }
        Ok(key)
    }

    /// Closes a listener.
    pub(super) fn remove(&mut self, poll: &Poll, key: Key) {
        if let Some(listener) = self.listening.remove(key) {
            poll.remove(listener.socket.as_fd());
        }
    }

    /// Sees to it that there is a listener at an address of the namespace. Where there are as many as
    /// there may be, the one that was used longest ago makes room: it comes back when it is wanted.
    pub(super) fn ensure(
        &mut self,
        poll: &Poll,
        (spares, inside): (&mut Spares, Option<Inside<'_>>),
        at: SocketAddr,
        target: Target,
    ) -> Result<(), Errno> {
        if self.standing.contains(&at) {
            return Ok(());
        }
        let known = self.addresses.get(&at);
        if let Some(listener) = known.and_then(|key| self.listening.get_mut(*key)) {
            listener.used = Instant::now();
            return Ok(());
        }
        let socket = spares.take(inside)?;
        if let Err(errno) = internet::listen_at(socket.as_fd(), at) {
            spares.take_back(socket);
            return Err(errno);
        }
        self.make_room(poll)?;
        let key = self.add(poll, socket, target)?;
        self.addresses.insert(at, key);
        Ok(())
    }

    /// Whether a name with so many ports can have all of its sockets.
    pub(super) fn has_room_for(&self, ports: usize) -> bool {
        ports * synthetic::addresses(0).len() <= self.most
    }

    fn make_room(&mut self, poll: &Poll) -> Result<(), Errno> {
        if self.listening.len() < self.most {
            return Ok(());
        }
        let used = |key| self.listening.get(key).map(|listener| listener.used);
        let longest_ago = self.addresses.iter().min_by_key(|(_, key)| used(**key));
        let (at, key) = longest_ago.map(|(at, key)| (*at, *key)).ok_or(Errno::NFILE)?;
        self.addresses.remove(&at);
        self.remove(poll, key);
        Ok(())
    }

    /// Whether there is one at an address of the namespace.
    pub(super) fn has(&self, at: SocketAddr) -> bool {
        self.standing.contains(&at) || self.addresses.contains_key(&at)
    }

    /// Takes connections of one socket, for which there is so much room.
    pub(super) fn take(&mut self, key: Key, room: usize) -> Vec<(OwnedFd, Target)> {
        let Some(listener) = self.listening.get_mut(key) else { return Vec::new() };
        listener.used = Instant::now();
        let mut taken = Vec::new();
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        while taken.len() < room.min(TAKEN_AT_ONCE) {
            match accept_with(&listener.socket, flags) {
                Ok(socket) => taken.push((socket, listener.target.clone())),
                // The connection waits on, and would be told again and again.
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    self.rest = Some(listener.used + REST);
                    break;
                }
                Err(_) => break,
            }
        }
        taken
    }

    /// When there may be room again for what could not be taken.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.rest
    }

    /// Lets connections wait in the kernel where there are enough, or no room for them; else takes them again.
    pub(super) fn pause(&mut self, poll: &Poll, is_full: bool, now: Instant) {
        self.rest = self.rest.filter(|until| now < *until);
        let pause = is_full || self.rest.is_some();
        if std::mem::replace(&mut self.paused, pause) == pause {
            return;
        }
        for (key, listener) in self.listening.iter() {
            let socket = listener.socket.as_fd();
            if pause {
                poll.remove(socket);
            } else {
                // It was watched before: that took all that can fail.
                let _ = poll.add_reader(socket, Source::Listener, key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use rustix::net::SocketType;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::*;
    use crate::sys::{clone, wait};

    struct Many {
        poll: Poll,
        listeners: Listeners,
        places: [SocketAddr; 4],
    }

    impl Many {
        /// Listens at one more place, and says which are listened at then.
        fn ensure(&mut self, number: usize) -> [bool; 4] {
            let mut spares = one_spare();
            let at = self.places[number];
            let spares = (&mut spares, None);
            self.listeners.ensure(&self.poll, spares, at, Target::Address(at)).unwrap();
            let open = self.places.map(|at| TcpStream::connect(at).is_ok());
            assert_eq!(open, self.places.map(|at| self.listeners.has(at)));
            open
        }
    }

    fn one_spare() -> Spares {
        let mut spares = Spares::default();
        spares.add(internet::socket(SocketType::STREAM).unwrap());
        spares
    }

    #[test]
    fn addresses_where_others_listen_take_no_spare() {
        let (poll, mut listeners) = (Poll::new().unwrap(), Listeners::default());
        let listening = || TcpListener::bind("127.0.0.1:0").unwrap();
        let (of_pid_1, of_command) = (listening(), listening());
        let [stands, taken] = [&of_pid_1, &of_command].map(|it| it.local_addr().unwrap());
        listeners.add_standing(&poll, (of_pid_1.into(), stands), Target::Address(stands)).unwrap();
        let mut spares = one_spare();
        let mut ensure = |at| listeners.ensure(&poll, (&mut spares, None), at, Target::Address(at));
        assert_eq!(ensure(stands), Ok(()));
        assert_eq!(ensure(taken), Err(Errno::ADDRINUSE));
        assert!(spares.take(None).is_ok());
    }

    #[test]
    fn the_one_used_longest_ago_makes_room_for_another() {
        let free = |number| TcpListener::bind((std::net::Ipv4Addr::new(127, 77, 0, number), 0));
        let places = [1, 2, 3, 4].map(|number| free(number).unwrap().local_addr().unwrap());
        let (poll, listeners) = (Poll::new().unwrap(), Listeners::default());
        let mut many = Many { poll, listeners, places };
        many.listeners.limit(4);
        let of_pid_1 = internet::socket(SocketType::STREAM).unwrap();
        internet::listen_at(of_pid_1.as_fd(), ([127, 0, 0, 1], 0).into()).unwrap();
        many.listeners.add(&many.poll, of_pid_1, Target::Proxy).unwrap();
        for number in [0, 1, 2] {
            many.ensure(number);
        }
        assert_eq!(many.ensure(0), [true, true, true, false]);
        assert_eq!(many.ensure(3), [true, false, true, true]);
        // A connection is a use as well.
        let key = many.listeners.addresses[&places[2]];
        let mut taken = |room| many.listeners.take(key, room).len();
        assert_eq!([taken(0), taken(1)], [0, 1]);
        assert_eq!(many.ensure(1), [false, true, true, true]);
        assert_eq!(many.listeners.listening.len(), 4);
    }

    /// In a process of its own, which may have no further descriptor.
    #[test]
    fn connection_for_which_there_is_no_descriptor_is_told_once() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let _client = TcpStream::connect(socket.local_addr().unwrap()).unwrap();
        let (poll, mut listeners) = (Poll::new().unwrap(), Listeners::default());
        let key = listeners.add(&poll, socket.into(), Target::Proxy).unwrap();
        let before = Instant::now();
        let Some(pid) = clone::fork().unwrap() else {
            let no_more = Rlimit { current: Some(0), maximum: getrlimit(Resource::Nofile).maximum };
            let has_failed =
                setrlimit(Resource::Nofile, no_more).is_ok() && listeners.take(key, 1).is_empty();
            let until = listeners.deadline().unwrap_or_else(|| clone::exit_now(1));
            listeners.pause(&poll, false, before);
            let is_silent = poll.news().is_empty();
            listeners.pause(&poll, false, until);
            let goes_on = poll.news().len() == 1 && listeners.deadline().is_none();
            clone::exit_now(i32::from(!(has_failed && is_silent && goes_on)))
        };
        let ended = wait::until_ended(pid).unwrap();
        assert_eq!(ended.map(|ended| ended.status), Some(0));
    }
}
