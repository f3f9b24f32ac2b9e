//! Pid 1: it starts the command, reaps, reports, and ends what is left.

use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::filter::Filter;
use super::message::{Message, SIZE, Stage, StepFailure, Usage};
use crate::sys;
use crate::sys::seccomp::Listener;
use crate::sys::signal::SignalSet;
use crate::sys::wait::Waited;

/// The time that processes get which the command left behind: between TERM and KILL.
const LEFTOVER_GRACE_MS: i64 = 100;

/// Runs until no process is left or the supervisor is gone; never returns. What may be left then
/// is killed: without a pid namespace, its end would end nobody.
pub(super) fn run(socket: &OwnedFd, command: i32, filter: &Filter) -> ! {
    match Reaper::new(socket, command, filter) {
        Ok(reaper) => sys::heap::clear(reaper, |mut reaper| {
            reaper.run();
            end()
        }),
        Err(errno) => {
            let errno = errno.raw_os_error();
            let failure = StepFailure { stage: Stage::Reaper, step: 0, detail: 0, errno };
            let _ = sys::socket::send(socket, &Message::Failed(failure).encode(), &[]);
            end()
        }
    }
}

fn end() -> ! {
    let _ = sys::signal::kill(-1, libc::SIGKILL);
    sys::clone::exit_now(0)
}

/// What pid 1 knows while it reaps. It has no heap: what is there was cleared, and nothing is put there.
#[derive(Clone, Copy)]
struct Reaper {
    socket: BorrowedFd<'static>,
    signals: BorrowedFd<'static>,
    command: i32,
    state: State,
    usage: Usage,
    leftovers: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    /// The command has ended with this status; what is left has been asked to end by `until_ms`.
    Ending {
        status: i32,
        until_ms: Option<i64>,
    },
    /// What outlived the command had its time and was killed.
    Killed {
        status: i32,
    },
}

impl Reaper {
    fn new(socket: &OwnedFd, command: i32, filter: &Filter) -> Result<Self, Errno> {
        keep_only(socket)?;
        rustix::thread::set_name(c"endow-init")?;
        let signals = sys::signal::descriptor(SignalSet::default().with(libc::SIGCHLD))?;
        let socket = sys::fd::borrow_number(socket.as_raw_fd())?;
        let signals = sys::fd::borrow_number(signals.into_raw_fd())?;
        // A switched-off filter is an empty one, which the kernel refuses.
        let filter = filter.instructions();
        if !(cfg!(feature = "test-switches") && filter.is_empty()) {
            sys::seccomp::install(&filter, Listener::None)?;
        }
        let (state, usage) = (State::Running, Usage::default());
        Ok(Self { socket, signals, command, state, usage, leftovers: 0 })
    }

    fn run(&mut self) {
        loop {
            if self.reap() {
                return;
            }
            let (supervisor, timed_out) = self.wait();
            if supervisor && !self.obey() {
                return;
            }
            if timed_out && let State::Ending { status, .. } = self.state {
                let _ = sys::signal::kill(-1, libc::SIGKILL);
                self.state = State::Killed { status };
            }
        }
    }

    /// Waits for news; says whether the supervisor spoke and whether time ran out.
    fn wait(&self) -> (bool, bool) {
        let mut fds =
            [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
        let left = match self.state {
            State::Ending { until_ms: Some(until), .. } => Some((until - now_ms()).max(0)),
            _ => None,
        };
        let left = left.map(|ms| Timespec { tv_sec: ms / 1000, tv_nsec: ms % 1000 * 1_000_000 });
        let ready = poll(&mut fds, left.as_ref());
        let spoke = fds.first().is_some_and(|fd| !fd.revents().is_empty());
        while sys::signal::read(self.signals).is_some() {}
        (spoke, matches!(ready, Ok(0)))
    }

    /// Reaps everything that has ended; returns true when nothing is left.
    fn reap(&mut self) -> bool {
        loop {
            match sys::wait::any_without_blocking() {
                Ok(Some(waited)) => self.note(waited),
                Ok(None) => {
                    self.end_leftovers();
                    return false;
                }
                Err(Errno::INTR) => {}
                Err(_) => {
                    self.report_exit();
                    return true;
                }
            }
        }
    }

    fn note(&mut self, waited: Waited) {
        let ours = waited.pid == self.command;
        if libc::WIFSTOPPED(waited.status) {
            // One that has itself traced by its parent, which is pid 1, stops at every signal (ptrace(2)).
            let signal = libc::WSTOPSIG(waited.status);
            let is_a_stop = waited.status >> 16 == 0 && sys::signal::is_a_stop(signal);
            self.tell_if(ours && is_a_stop, Message::Stopped { signal });
        } else if libc::WIFCONTINUED(waited.status) {
            self.tell_if(ours, Message::Continued);
        } else {
            self.note_end(waited, ours);
        }
    }

    fn note_end(&mut self, waited: Waited, ours: bool) {
        self.usage.max_rss_kib = self.usage.max_rss_kib.max(waited.max_rss_kib);
        self.usage.user_us += waited.user_us;
        self.usage.system_us += waited.system_us;
        match self.state {
            State::Running if ours => {
                self.state = State::Ending { status: waited.status, until_ms: None };
            }
            State::Running | State::Ending { until_ms: None, .. } => {}
            State::Ending { .. } | State::Killed { .. } => self.leftovers += 1,
        }
    }

    /// Asks the processes that outlive the command to end, once.
    fn end_leftovers(&mut self) {
        if let State::Ending { status, until_ms: None } = self.state {
            let _ = sys::signal::kill(-1, libc::SIGTERM);
            let _ = sys::signal::kill(-1, libc::SIGCONT);
            let until_ms = Some(now_ms() + LEFTOVER_GRACE_MS);
            self.state = State::Ending { status, until_ms };
        }
    }

    fn report_exit(&self) {
        if let State::Ending { status, .. } | State::Killed { status } = self.state {
            let (leftovers, usage) = (self.leftovers, self.usage);
            self.tell_if(true, Message::Exited { status, leftovers, usage });
        }
    }

    fn tell_if(&self, wanted: bool, message: Message) {
        if wanted {
            let _ = sys::socket::send(self.socket, &message.encode(), &[]);
        }
    }

    /// Does what the supervisor asks; false when it is gone.
    fn obey(&self) -> bool {
        let mut bytes = [0; SIZE];
        match sys::socket::receive(self.socket, &mut bytes, RecvFlags::DONTWAIT) {
            Ok((SIZE, _)) => {
                if Message::decode(&bytes) == Some(Message::Terminate) {
                    let _ = sys::signal::kill(-1, libc::SIGTERM);
                    let _ = sys::signal::kill(-1, libc::SIGCONT);
                }
                true
            }
            Err(Errno::AGAIN | Errno::INTR) => true,
            _ => false,
        }
    }
}

fn now_ms() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec * 1000 + now.tv_nsec / 1_000_000
}

/// Closes everything but the socket: a stream held here would keep a reader outside waiting, and
/// a descriptor of the host would outlive its use.
fn keep_only(socket: &OwnedFd) -> Result<(), Errno> {
    sys::fd::close_from(0, &mut [socket.as_raw_fd()])
}
