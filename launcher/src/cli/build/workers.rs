//! Processes that execute actions, one after the other.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use endow_vfs::cas::Store;
use endow_vfs::fs::OsFs;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};

use super::order::{self, Answer, Order};
use super::perform::Performer;
use crate::cli::error::{CommandError, Kind, of_store};
use crate::cli::sources::surroundings::Dirs;
use crate::sys;
use crate::sys::clone::Cloned;
use crate::trees;

/// How many are started before anything else is done.
const EARLY: usize = 4;
/// The bits that the command's umask takes away, whatever the caller's does.
const UMASK: u32 = 0o022;

/// The workers of a build. They die with this process, and what they execute with them. Dropped, those that
/// are idle take away what they made, and end.
pub(super) struct Workers<'d> {
    dirs: &'d Dirs,
    most: usize,
    idle: Vec<Worker>,
    busy: Vec<(usize, Worker)>,
    /// What could not be told any worker.
    failed: VecDeque<Answer>,
}

/// A worker of a build.
struct Worker {
    socket: UnixStream,
    pid: i32,
    pidfd: OwnedFd,
}

impl Drop for Workers<'_> {
    fn drop(&mut self) {
        for (_, worker) in self.busy.drain(..) {
            let _ = pidfd_send_signal(&worker.pidfd, Signal::KILL);
            self.idle.push(worker);
        }
        // All of them end at the same time.
        let pids: Vec<i32> = self.idle.drain(..).map(|worker| worker.pid).collect();
        for pid in pids {
            let _ = sys::wait::until_ended(pid);
        }
    }
}

impl<'d> Workers<'d> {
    /// Allows for at most `most` workers, and else one for each processor. Those that a machine is likely to need are
    /// started at once: what this process will have in memory would make each of their own starts slower. Others follow
    /// when they are needed.
    pub(super) fn new(dirs: &'d Dirs, most: Option<NonZeroUsize>) -> Self {
        let most = most.or_else(|| std::thread::available_parallelism().ok());
        let most = most.map_or(1, NonZeroUsize::get);
        let (idle, busy, failed) = (Vec::new(), Vec::new(), VecDeque::new());
        let mut workers = Self { dirs, most, idle, busy, failed };
        // One that can't be started now is missed, and told of, when it is needed.
        let started = (0..workers.most.min(EARLY)).map_while(|_| workers.start().ok());
        workers.idle = started.collect();
        workers
    }

    /// Returns whether another order can be given.
    pub(super) fn has_room(&self) -> bool {
        self.busy.len() < self.most
    }

    /// Has an action executed.
    pub(super) fn give(&mut self, order: &Order) {
        let action = order.action;
        let given = self.worker().and_then(|worker| {
            order::write(order, &worker.socket)?;
            Ok(worker)
        });
        match given {
            Ok(worker) => self.busy.push((action, worker)),
            Err(error) => {
                let this = CommandError::new(Kind::Setup, "can't start a worker").cause(error);
                self.failed.push_back(Answer { action, done: Err(this) });
            }
        }
    }

    /// Waits for an answer.
    pub(super) fn wait(&mut self) -> Option<Answer> {
        if let Some(answer) = self.failed.pop_front() {
            return Some(answer);
        }
        loop {
            let busy = self.busy.iter();
            let mut fds: Vec<_> =
                busy.map(|(_, it)| PollFd::new(&it.socket, PollFlags::IN)).collect();
            if fds.is_empty() {
                return None;
            }
            match poll(&mut fds, None) {
                Err(Errno::INTR) => continue,
                Err(_) => return None,
                Ok(_) => {}
            }
            let at = fds.iter().position(|fd| !fd.revents().is_empty());
            let Some(at) = at else { continue };
            let (action, worker) = self.busy.swap_remove(at);
            let lost = |error: io::Error| Answer {
                action,
                done: Err(CommandError::new(Kind::Setup, "a worker was lost").cause(error)),
            };
            return Some(match order::read(&worker.socket) {
                Ok(Some(answer)) => {
                    self.idle.push(worker);
                    answer
                }
                Ok(None) => lost(io::ErrorKind::UnexpectedEof.into()),
                Err(error) => lost(error),
            });
        }
    }

    fn worker(&mut self) -> io::Result<Worker> {
        match self.idle.pop() {
            Some(worker) => Ok(worker),
            None => self.start(),
        }
    }

    fn start(&self) -> io::Result<Worker> {
        let (own, others) = UnixStream::pair()?;
        let this = rustix::process::getpid();
        match sys::clone::clone(0, None)? {
            Cloned::Child => {
                drop(own);
                let worked = sys::start::die_with(Some(this)).map(|()| work(&others, self.dirs));
                sys::clone::exit_now(i32::from(worked.is_err()))
            }
            Cloned::Parent { pid, pidfd } => Ok(Worker { socket: own, pid, pidfd }),
        }
    }
}

/// Executes the orders that come, as a worker, until no more come.
fn work(orders: &UnixStream, dirs: &Dirs) {
    rustix::process::umask(Mode::from_raw_mode(UMASK));
    // Nothing of the caller's reaches a command.
    sys::start::forget();
    if let Ok(null) = std::fs::File::open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(null.as_fd());
    }
    let (mut performer, store) = (Performer::new(dirs), OnceCell::new());
    let open = || Store::open(&OsFs, &trees::store(&dirs.cache)).map_err(|error| of_store(&error));
    while let Ok(Some(order)) = order::read::<Order>(orders) {
        let done = match store.get_or_init(open) {
            Ok(store) => performer.perform(&order, store),
            Err(error) => Err(error.clone()),
        };
        if order::write(&Answer { action: order.action, done }, orders).is_err() {
            return;
        }
        // Whoever gave the order is busy with the answer.
        performer.tidy();
    }
}
