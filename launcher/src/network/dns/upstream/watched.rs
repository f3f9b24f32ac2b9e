//! Sockets in an epoll instance.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

/// How many sockets are looked at in one turn: the others are ready in the next.
const READY_MAX: usize = 32;

/// The instance.
#[derive(Debug)]
pub(super) struct Watch {
    instance: Rc<OwnedFd>,
    /// How many sockets there were, so that no token is ever used again.
    watched: Cell<u64>,
}

/// A socket in it, which leaves it before it is closed: a child that the supervisor made meanwhile
/// has the descriptor, too, and closing ours would not take it out (epoll(7)).
#[derive(Debug)]
pub(super) struct Watched {
    socket: OwnedFd,
    instance: Rc<OwnedFd>,
    token: u64,
}

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    /// Something arrives.
    Read,
    /// The socket is connected, and there is room to send.
    Write,
}

impl Watch {
    pub(super) fn new() -> Result<Self, Errno> {
        let instance = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { instance: Rc::new(instance), watched: Cell::new(0) })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.instance.as_fd()
    }

    /// Takes a socket in.
    pub(super) fn add(&self, socket: OwnedFd, interest: Interest) -> Result<Watched, Errno> {
        let token = self.watched.get();
        self.watched.set(token + 1);
        let data = epoll::EventData::new_u64(token);
        epoll::add(&self.instance, &socket, data, interest.flags())?;
        Ok(Watched { socket, instance: Rc::clone(&self.instance), token })
    }

    /// Returns the tokens of sockets that are ready, without waiting.
    pub(super) fn ready(&self) -> Vec<u64> {
        let mut space = [MaybeUninit::<epoll::Event>::uninit(); READY_MAX];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        match epoll::wait(&self.instance, &mut space, Some(&at_once)) {
            Ok((events, _)) => events.iter().map(|event| event.data.u64()).collect(),
            Err(_) => Vec::new(),
        }
    }
}

impl Watched {
    pub(super) fn token(&self) -> u64 {
        self.token
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Waits for something else from now on.
    pub(super) fn wait_for(&self, interest: Interest) -> Result<(), Errno> {
        let data = epoll::EventData::new_u64(self.token);
        epoll::modify(&self.instance, &self.socket, data, interest.flags())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = epoll::delete(&self.instance, &self.socket);
    }
}

impl Interest {
    fn flags(self) -> epoll::EventFlags {
        match self {
            Self::Read => epoll::EventFlags::IN,
            Self::Write => epoll::EventFlags::OUT,
        }
    }
}
