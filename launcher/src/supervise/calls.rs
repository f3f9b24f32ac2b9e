//! Calls that the filter announces, each before it is carried out. What the plan refuses gets the error
//! that the plan says. All else goes on: what it is about is prepared and noted, and never decided about. Only the caller's
//! process group, which has no number inside, is put in front in the kernel's place.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::getpgrp;

use super::caller::Caller;
use super::connects::{self, Peer};
use super::foreground;
use super::observe::{Denied, Observed, Observer};
use super::renames::{Layers, Renames};
use super::worker::{Over, Worker};
use crate::plan::seccomp::{Action, Group, SeccompPlan};
use crate::sys::announced::{self, Announced};

/// How many calls are answered before anything else is looked at.
const AT_ONCE: usize = 64;

/// Who answers, prepares and notes what.
pub(crate) struct Calls<'a> {
    filter: &'a SeccompPlan,
    renames: Renames,
    /// Whether addresses are served on demand.
    connects: bool,
    observer: Option<Observer<'a>>,
    /// The caller's process group.
    group: i32,
    /// The first call was received.
    begun: bool,
    /// Nobody is left who could call.
    closed: bool,
}

impl<'a> Calls<'a> {
    /// Returns what is needed for a filter and these mounts, and where `connects` are announced; `None`
    /// when nothing is.
    pub(crate) fn new(
        filter: Option<&'a SeccompPlan>,
        layers: Layers<'_>,
        connects: bool,
        observer: Option<Observer<'a>>,
    ) -> Result<Option<Self>, Errno> {
        let renames = Renames::new(layers)?;
        let filter = filter.filter(|filter| filter.notifies());
        Ok(filter.map(|filter| Self {
            filter,
            renames,
            connects,
            observer,
            group: getpgrp().as_raw_nonzero().get(),
            begun: false,
            closed: false,
        }))
    }

    /// Returns what to wait for: the next call, the end of the work on one, and what is judged.
    pub(super) fn descriptors<'b>(
        &'b self,
        listener: BorrowedFd<'b>,
    ) -> impl Iterator<Item = BorrowedFd<'b>> {
        let judged = self.observer.as_ref().and_then(Observer::descriptor);
        self.listens(listener).into_iter().chain(self.renames.work()).chain(judged)
    }

    /// Returns the listener as long as anybody may call.
    pub(super) fn listens<'b>(&self, listener: BorrowedFd<'b>) -> Option<BorrowedFd<'b>> {
        (!self.closed).then_some(listener)
    }

    /// Returns whether the command, or what becomes it, has called.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Says which mount namespace has the view.
    pub(super) fn view_is_in(&mut self, namespace: BorrowedFd<'_>) {
        if let Some(observer) = &mut self.observer {
            observer.view_is_in(namespace);
        }
    }

    /// Answers calls whose work is done, and some of those that wait; `connecting` gets the address
    /// that somebody is about to connect to.
    pub(super) fn look(
        &mut self,
        listener: BorrowedFd<'_>,
        connecting: &mut dyn FnMut(SocketAddr),
    ) {
        if self.renames.work().is_some_and(|work| !is_ready(work).is_empty()) {
            self.renames.end_work(listener);
        }
        for _ in 0..AT_ONCE {
            let ready = if self.closed { PollFlags::empty() } else { is_ready(listener) };
            if ready.is_empty() {
                break;
            }
            self.closed = !ready.contains(PollFlags::IN);
            if !self.closed {
                self.take_next(listener, connecting);
            }
        }
        if let Some(observer) = &mut self.observer {
            observer.ask();
        }
    }

    fn take_next(&mut self, listener: BorrowedFd<'_>, connecting: &mut dyn FnMut(SocketAddr)) {
        let Ok(call) = announced::receive(listener) else { return };
        if !std::mem::replace(&mut self.begun, true) && is_begun_with(listener, &call) {
            return;
        }
        let caller = Caller { listener, call: &call };
        let decided = self.filter.decide(call.arch, call.number.cast_unsigned(), call.arguments);
        if let Some(errno) = refusal(decided) {
            if let Some(observer) = &mut self.observer {
                observer.refused(caller);
            }
            return announced::refuse(listener, &call, errno);
        }
        if let Some(observer) = &mut self.observer {
            observer.see(caller);
        }
        let number = call.number.cast_unsigned();
        if self.filter.group_of(call.arch, number) == Some(Group::Connect) {
            self.expect(&call, connecting);
            return announced::let_go_on(listener, &call);
        }
        if i64::from(call.number) == libc::SYS_ioctl {
            return foreground::answer(caller, self.group);
        }
        self.renames.take(listener, call);
    }

    fn expect(&self, call: &Announced, connecting: &mut dyn FnMut(SocketAddr)) {
        if self.connects
            && let Some(Peer::Internet(address)) = connects::peer(call)
        {
            connecting(address);
        }
    }

    /// Starts a process that answers until it is dropped, and notes nothing: who was not stopped with
    /// the supervisor goes on. Where connections are waited for, all wait for the supervisor.
    pub(super) fn stand_in(&mut self, listener: &OwnedFd) -> Option<Worker> {
        if self.connects {
            return None;
        }
        Worker::start_awake(|over| {
            // Its process is the supervisor's.
            std::mem::forget(self.observer.take());
            self.answer_until(over, listener)
        })
        .ok()
    }

    fn answer_until(&mut self, over: &Over, listener: &OwnedFd) -> bool {
        while !self.closed && !over.wait(Some(listener), None) {
            self.look(listener.as_fd(), &mut |_| {});
            while let Some(work) = self.renames.work() {
                let _ = poll(&mut [PollFd::from_borrowed_fd(work, PollFlags::IN)], None);
                self.renames.end_work(listener.as_fd());
            }
        }
        over.wait_for();
        true
    }

    /// Returns what is judged since, when nobody was told of it.
    pub(super) fn news(&mut self) -> &[Denied] {
        self.observer.as_mut().map(Observer::work).unwrap_or_default()
    }

    /// Waits until nothing changes a layer any more, and returns what was seen.
    pub(super) fn finish(self) -> Option<Observed> {
        self.renames.finish();
        self.observer.map(Observer::finish)
    }
}

/// Answers the first call if it starts a program, and returns whether it does. By it pid 1's child tries to become the command:
/// what that is says the plan, only root could read it in the child's memory, and everybody waits for it. It goes on where it
/// is: called to this processor it would be sent away again. From then on both wake in turn.
fn is_begun_with(listener: BorrowedFd<'_>, call: &Announced) -> bool {
    let is_start = [libc::SYS_execve, libc::SYS_execveat].contains(&call.number.into());
    if is_start {
        announced::let_go_on(listener, call);
    }
    announced::wake_in_turn(listener);
    is_start
}

/// Returns the error of a call that does not go on.
fn refusal(decided: Action) -> Option<Errno> {
    match decided {
        Action::Allow | Action::Notify | Action::Done => None,
        Action::Errno(errno) => Some(Errno::from_raw_os_error(errno.number().into())),
        // The filter kills without asking.
        Action::Kill => Some(Errno::NOSYS),
    }
}

fn is_ready(waited: BorrowedFd<'_>) -> PollFlags {
    let mut fd = [PollFd::from_borrowed_fd(waited, PollFlags::IN)];
    let polled = poll(&mut fd, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    if polled != Ok(1) {
        return PollFlags::empty();
    }
    fd.first().map_or(PollFlags::empty(), PollFd::revents)
}
