//! A process that does nothing but make first processes of sandboxes, one after another. The kernel copies what
//! the maker of a process has in memory, page by page as either writes to it: whoever plans has much, and this
//! process nearly nothing.

use std::fs::File;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::rc::Rc;

use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::{RecvFlags, Shutdown, shutdown};
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};

use super::failure::SpawnError;
use super::lower::Init;
use super::networks::{Network, Networks};
use super::pid_1::{self, Start};
use super::spawn::{PACKET_MAX, first, own_strings};
use crate::plan::Namespaces;
use crate::sys;
use crate::sys::arguments::StringArea;
use crate::sys::clone::Cloned;

/// The bytes of an answer: a process id, or the number of an error below 0.
const ANSWER: usize = size_of::<i32>();

/// What is asked for.
#[derive(Serialize, Deserialize)]
enum Question {
    /// A first process.
    Make(Wanted),
    /// To close the descriptors that came along.
    Close,
    /// To forget the steps that first processes carried out so far: others follow.
    Forget,
    /// To have first processes from now on carry out these steps, after those that were named before.
    Learn(Vec<Init>),
}

/// Returns the bytes by which a fork server learns steps, unless they are too large for a packet.
pub(super) fn packet(steps: Vec<Init>) -> Option<Vec<u8>> {
    let bytes = postcard::to_allocvec(&Question::Learn(steps)).ok();
    bytes.filter(|bytes| bytes.len() <= PACKET_MAX)
}

/// A first process to be made.
#[derive(Serialize, Deserialize)]
struct Wanted {
    namespaces: Option<Namespaces>,
    /// The steps of the opening.
    steps: Vec<Init>,
    /// The numbers at which pid 1 finds what becomes standard output and error.
    streams: [RawFd; 2],
}

/// A fork server. Its process ends with the one that started it, or when that drops this.
#[derive(Debug)]
pub(crate) struct ForkServer {
    way: Rc<Way>,
}

#[derive(Debug)]
struct Way {
    socket: OwnedFd,
    pid: i32,
}

impl Way {
    /// Says nothing more, and hears nothing: the process ends.
    fn shut(&self) {
        let _ = shutdown(&self.socket, Shutdown::Both);
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.shut();
        let _ = sys::wait::until_ended(self.pid);
    }
}

/// A first process that was asked for. One is to be waited for before the next is asked for.
#[derive(Debug)]
pub(super) struct Awaited {
    way: Rc<Way>,
}

impl Awaited {
    /// Waits until it exists; it is a child of this process.
    pub(super) fn wait(self) -> Result<(i32, OwnedFd), Errno> {
        let answer = self.answer();
        // No later question is answered by what was not read here.
        let (pid, pidfd) = answer.inspect_err(|_| self.way.shut())?;
        if pid < 0 {
            Err(Errno::from_raw_os_error(-pid))
        } else {
            pidfd.map(|it| (pid, it)).ok_or(Errno::BADMSG)
        }
    }

    fn answer(&self) -> Result<(i32, Option<OwnedFd>), Errno> {
        let mut answer = [0; ANSWER];
        let socket = &self.way.socket;
        let (length, mut passed) = sys::socket::receive(socket, &mut answer, RecvFlags::empty())?;
        let is_whole = length == ANSWER;
        is_whole.then(|| (i32::from_le_bytes(answer), passed.pop())).ok_or(Errno::CONNRESET)
    }
}

impl ForkServer {
    /// Starts a fork server, which has of this process's descriptors the standard streams alone.
    pub(crate) fn start() -> Result<Self, SpawnError> {
        let strings = own_strings()?;
        let (ours, theirs) = sys::socket::pair().map_err(SpawnError::system)?;
        match sys::clone::clone(0, None).map_err(SpawnError::system)? {
            Cloned::Child => {
                drop(ours);
                let served = alone(&theirs).and_then(|()| Maker::new(theirs, strings).serve());
                sys::clone::exit_now(served.map_or(1, |()| 0))
            }
            Cloned::Parent { pid, .. } => Ok(Self { way: Rc::new(Way { socket: ours, pid }) }),
        }
    }

    /// Asks for a first process, with its ways to this one and its streams.
    pub(super) fn ask(
        &self,
        (namespaces, steps): (Option<Namespaces>, Vec<Init>),
        (socket, paper): (&OwnedFd, &File),
        streams: &[OwnedFd; 2],
    ) -> Result<Awaited, Errno> {
        let numbers = streams.each_ref().map(AsRawFd::as_raw_fd);
        let question = Question::Make(Wanted { namespaces, steps, streams: numbers });
        let [out, err] = streams.each_ref().map(AsFd::as_fd);
        self.send(&question, &[socket.as_fd(), paper.as_fd(), out, err])?;
        Ok(Awaited { way: Rc::clone(&self.way) })
    }

    /// Has first processes from now on carry out the steps of these packets, and nobody waits for that.
    pub(super) fn learn(&self, packets: &[Vec<u8>]) -> Result<(), Errno> {
        self.send(&Question::Forget, &[])?;
        let mut packets = packets.iter();
        packets.try_for_each(|packet| sys::socket::send_at_once(&self.way.socket, packet, &[]))
    }

    /// Has the fork server close descriptors, which may take a while.
    pub(crate) fn close(&self, descriptors: Vec<OwnedFd>) {
        for some in descriptors.chunks(sys::socket::DESCRIPTORS_MAX) {
            let passed: Vec<_> = some.iter().map(AsFd::as_fd).collect();
            // What it does not get is closed here, as is what is on its way: that is fast.
            self.send(&Question::Close, &passed).unwrap_or_default();
        }
    }

    fn send(&self, question: &Question, passed: &[BorrowedFd<'_>]) -> Result<(), Errno> {
        let question = postcard::to_allocvec(question).map_err(|_| Errno::INVAL)?;
        sys::socket::send(&self.way.socket, &question, passed)
    }
}

/// Gives up all but the standard streams and the socket.
fn alone(socket: &OwnedFd) -> Result<(), Errno> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    rustix::thread::set_name(c"endow-fork")?;
    sys::fd::close_from(3, &mut [socket.as_raw_fd()])
}

/// What makes first processes.
struct Maker {
    /// The way to who asks for them.
    socket: OwnedFd,
    strings: StringArea,
    /// What those from now on do first.
    ahead: Vec<Init>,
    networks: Networks,
}

impl Maker {
    fn new(socket: OwnedFd, strings: StringArea) -> Self {
        Self { socket, strings, ahead: Vec::new(), networks: Networks::default() }
    }

    /// Makes what it is asked for until nobody asks any more.
    fn serve(&mut self) -> Result<(), Errno> {
        let mut bytes = vec![0; PACKET_MAX];
        loop {
            let received = sys::socket::receive(&self.socket, &mut bytes, RecvFlags::empty());
            let (length, passed) = received?;
            if length == 0 {
                return Ok(());
            }
            let question = bytes.get(..length).unwrap_or_default();
            match postcard::from_bytes(question).map_err(|_| Errno::BADMSG)? {
                Question::Make(wanted) => {
                    let made = self.make(wanted, passed);
                    self.answer(&made)?;
                }
                Question::Close => self.networks.take_back(passed),
                Question::Forget => self.ahead.clear(),
                Question::Learn(steps) => self.ahead.extend(steps),
            }
        }
    }

    fn answer(&self, made: &Result<(i32, OwnedFd), Errno>) -> Result<(), Errno> {
        let pidfd = made.as_ref().map(|(_, pidfd)| pidfd.as_fd());
        let answer = made.as_ref().map_or_else(|errno| -errno.raw_os_error(), |(pid, _)| *pid);
        sys::socket::send(&self.socket, &answer.to_le_bytes(), pidfd.ok().as_slice())?;
        match made {
            // This process's own user namespace may be the one that is too many.
            Err(errno) if self.networks.are_entered() => Err(*errno),
            _ => Ok(()),
        }
    }

    /// Makes a first process; that takes the steps, of which this one keeps its own.
    fn make(&mut self, wanted: Wanted, passed: Vec<OwnedFd>) -> Result<(i32, OwnedFd), Errno> {
        let network = self.network(&wanted)?;
        let Wanted { namespaces, steps, streams: numbers } = wanted;
        // No number that a stream is to have is taken by another descriptor; the child has not the socket.
        let above = numbers.into_iter().fold(2, RawFd::max) + 1;
        let aside = passed.iter().map(|it| fcntl_dupfd_cloexec(it, above));
        let aside: Vec<OwnedFd> = aside.collect::<Result<_, _>>()?;
        drop(passed);
        let [socket, paper, out, err] =
            <[OwnedFd; 4]>::try_from(aside).map_err(|_| Errno::BADMSG)?;
        match sys::clone::clone_sibling(first(namespaces))? {
            Cloned::Parent { pid, pidfd } => {
                self.networks.lend(network);
                Ok((pid, pidfd))
            }
            Cloned::Child => {
                let has_network = network.is_some();
                drop((network, mem::take(&mut self.networks)));
                sys::fd::close_number(self.socket.as_raw_fd());
                put_at([out, err], numbers);
                let (ahead, paper) = (mem::take(&mut self.ahead), File::from(paper));
                let strings = self.strings;
                pid_1::run(&Start { namespaces, has_network, steps, ahead, socket, paper, strings })
            }
        }
    }

    /// Enters the network namespace that the first process is to have, unless it makes its own.
    fn network(&mut self, wanted: &Wanted) -> Result<Option<Network>, Errno> {
        let has_own = wanted.namespaces.is_some_and(|it| it.network);
        if !has_own {
            // Who has left the network of the host can't go back.
            return if self.networks.are_entered() { Err(Errno::PERM) } else { Ok(None) };
        }
        let is_alone = !wanted.steps.iter().any(is_for_others);
        Ok(if is_alone { self.networks.enter() } else { None })
    }
}

/// Moves the streams of a first process to where it looks for them; it ends when that fails.
fn put_at(streams: [OwnedFd; 2], numbers: [RawFd; 2]) {
    let mut streams = streams.iter().zip(numbers);
    if streams.any(|(stream, number)| sys::fd::put_at(stream.as_fd(), number).is_err()) {
        sys::clone::exit_now(1);
    }
}

/// Returns whether a step lets somebody outside take part in the network.
fn is_for_others(step: &Init) -> bool {
    matches!(step, Init::LocalRange { .. } | Init::Serve { .. } | Init::SpareSockets { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maker(networks: Networks) -> (Maker, OwnedFd) {
        let (socket, other) = sys::socket::pair().unwrap();
        (Maker { networks, ..Maker::new(socket, StringArea::NONE) }, other)
    }

    /// A first process would have another network than its plan says.
    #[test]
    fn network_of_the_host_is_not_given_by_who_has_left_it() {
        let wanted = Wanted { namespaces: None, steps: Vec::new(), streams: [1, 2] };
        let network = |networks| maker(networks).0.network(&wanted).map(|it| it.is_some());
        assert_eq!(network(Networks::entered()), Err(Errno::PERM));
        assert_eq!(network(Networks::default()), Ok(false), "control");
    }

    /// What it keeps may be what a first process lacks: it says so, and ends.
    #[test]
    fn who_can_make_nothing_ends_with_what_it_keeps() {
        let answer = |networks| {
            let (maker, other) = maker(networks);
            let ended = maker.answer(&Err(Errno::NOSPC));
            let mut told = [0; ANSWER];
            sys::socket::receive(&other, &mut told, RecvFlags::empty()).unwrap();
            assert_eq!(-i32::from_le_bytes(told), Errno::NOSPC.raw_os_error());
            ended
        };
        assert_eq!(answer(Networks::entered()), Err(Errno::NOSPC));
        assert_eq!(answer(Networks::default()), Ok(()), "control: it keeps nothing");
    }
}
