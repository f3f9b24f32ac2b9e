//! What the supervisor waits for on behalf of a network, behind one descriptor.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

use super::slab::Key;

/// The most news that are taken at once.
const NEWS_AT_ONCE: usize = 256;

/// Who has news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Source {
    /// The socket on which names are asked for.
    Names,
    /// A socket that takes connections.
    Listener,
    /// A connection in which names are asked for.
    Asking,
    /// A connection to the proxy that has not said where to.
    Client,
    /// A question that was put to a name server.
    LookUp,
    /// An attempt to connect outward.
    Dial,
    /// A socket for datagrams inside.
    DatagramsInside,
    /// A socket for datagrams outside.
    DatagramsOutside,
    /// The side of a connection that was taken.
    Near,
    /// The side of a connection that was made.
    Far,
}

impl Source {
    const ALL: [Self; 10] = [
        Self::Names,
        Self::Listener,
        Self::Asking,
        Self::Client,
        Self::LookUp,
        Self::Dial,
        Self::DatagramsInside,
        Self::DatagramsOutside,
        Self::Near,
        Self::Far,
    ];
}

/// What became possible.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
    /// Whose news.
    pub(super) source: Source,
    /// Which one of those.
    pub(super) key: Key,
    /// Reading tells something: bytes, an end, an error.
    pub(super) readable: bool,
    /// Writing does.
    pub(super) writable: bool,
    /// The other side says no more than what can be read now.
    pub(super) ended: bool,
}

/// An epoll instance.
#[derive(Debug)]
pub(super) struct Poll {
    epoll: OwnedFd,
}

impl Poll {
    pub(super) fn new() -> Result<Self, Errno> {
        Ok(Self { epoll: epoll::create(CreateFlags::CLOEXEC)? })
    }

    /// Tells as long as there is something to read.
    pub(super) fn add_reader(
        &self,
        fd: BorrowedFd<'_>,
        source: Source,
        key: Key,
    ) -> Result<(), Errno> {
        self.add(fd, (source, key), EventFlags::IN)
    }

    /// Tells once whenever reading or writing becomes possible: both must be tried until they
    /// would block.
    pub(super) fn add_both(
        &self,
        fd: BorrowedFd<'_>,
        source: Source,
        key: Key,
    ) -> Result<(), Errno> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        self.add(fd, (source, key), flags)
    }

    /// Tells no more. Closing a descriptor of which there is no copy does the same.
    pub(super) fn remove(&self, fd: BorrowedFd<'_>) {
        let _ = epoll::delete(&self.epoll, fd);
    }

    fn add(
        &self,
        fd: BorrowedFd<'_>,
        (source, key): (Source, Key),
        flags: EventFlags,
    ) -> Result<(), Errno> {
        let data = EventData::new_u64(u64::from(source as u8) << 56 | key.packed());
        epoll::add(&self.epoll, fd, data, flags)
    }

    /// Returns what happened, without waiting.
    pub(super) fn news(&self) -> Vec<News> {
        let mut space = [const { MaybeUninit::uninit() }; NEWS_AT_ONCE];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let events = epoll::wait(&self.epoll, &mut space, Some(&now));
        events.map_or_else(|_| Vec::new(), |(events, _)| events.iter().filter_map(news).collect())
    }
}

impl AsFd for Poll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

fn news(event: &epoll::Event) -> Option<News> {
    let (bits, flags) = (event.data.u64(), event.flags);
    let source = *Source::ALL.get(usize::try_from(bits >> 56).ok()?)?;
    let failed = flags.intersects(EventFlags::ERR | EventFlags::HUP);
    let readable = failed || flags.intersects(EventFlags::IN | EventFlags::RDHUP);
    let writable = failed || flags.contains(EventFlags::OUT);
    let ended = failed || flags.contains(EventFlags::RDHUP);
    Some(News { source, key: Key::unpacked(bits), readable, writable, ended })
}
