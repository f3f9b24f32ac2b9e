//! Processes of the supervisor's own that work while the command runs, and end with the run.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec as Timeout, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, getpid, getppid, nice, setpgid};

use crate::sys;
use crate::sys::clone::Cloned;
use crate::sys::signal::SignalSet;

/// How much less of the processor these processes get than the command.
const NICENESS: i32 = 5;

/// A process that works beside the supervisor. Dropped, it is told that the run is over, and what it is just
/// doing is waited for.
#[derive(Debug)]
pub(super) struct Worker {
    pid: i32,
    /// Tells by a byte that the run is over. Closed with the supervisor's death alone: those that
    /// are started later have it, too.
    going_on: OwnedFd,
    /// Has a byte when the work is done, and is at its end when the process is gone without. That process
    /// itself may take its time to end: the kernel takes some milliseconds to close a watch.
    done: OwnedFd,
}

/// By what a process beside the supervisor knows that the run is over, or the supervisor gone.
#[derive(Debug)]
pub(crate) struct Over {
    told: OwnedFd,
    supervisor: Pid,
}

impl Worker {
    /// Starts a process that does `work`, which gets all signals blocked.
    pub(super) fn start(work: impl FnOnce(&Over) -> bool) -> Result<Self, Errno> {
        Self::start_awake(|over| {
            let _ = nice(NICENESS);
            work(over)
        })
    }

    /// Starts a process that does `work` and gets as much of the processor as the command.
    pub(super) fn start_awake(work: impl FnOnce(&Over) -> bool) -> Result<Self, Errno> {
        let (over, going_on) = pipe_with(PipeFlags::CLOEXEC)?;
        let (done, working) = pipe_with(PipeFlags::CLOEXEC)?;
        let supervisor = getpid();
        match sys::clone::clone(0, None)? {
            Cloned::Child => {
                drop(going_on);
                let is_done =
                    apart(supervisor).is_ok_and(|_signals| work(&Over { told: over, supervisor }));
                if is_done {
                    let _ = rustix::io::write(&working, b"-");
                }
                drop(working);
                sys::clone::exit_now(i32::from(!is_done))
            }
            Cloned::Parent { pid, .. } => Ok(Self { pid, going_on, done }),
        }
    }

    /// Tells the process that the run is over, without waiting.
    pub(super) fn stop(&self) {
        let _ = rustix::io::write(&self.going_on, b"-");
    }

    /// Tells the process that the run is over, when the caller is about to wait for something else: it wakes up on the
    /// caller's processor, which is then free.
    pub(super) fn stop_here(&self) {
        sys::processor::call_here(self.pid, || self.stop());
    }

    /// Tells the process that the run is over and waits for it; returns whether it did its work, and did not die
    /// before.
    pub(super) fn finish(&self) -> bool {
        self.stop();
        loop {
            match rustix::io::read(&self.done, &mut [0; 1]) {
                Err(Errno::INTR) => {}
                read => return read == Ok(1),
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Takes this process out of the supervisor's group. What a terminal sends to the command is not for it, nor what
/// kills all of that group (`timeout -s KILL`): when the supervisor dies, it ends what it is doing and follows.
fn apart(supervisor: Pid) -> Result<OwnedFd, Errno> {
    setpgid(None, None)?;
    if getppid() != Some(supervisor) {
        return Err(Errno::SRCH);
    }
    sys::signal::descriptor(SignalSet::ALL)
}

impl Over {
    /// Returns whether the run is over.
    pub(crate) fn is_over(&self) -> bool {
        self.wait(None, Some(Timeout { tv_sec: 0, tv_nsec: 0 }))
    }

    /// Waits until the run is over.
    pub(super) fn wait_for(&self) {
        while !self.wait(None, None) {}
    }

    /// Returns whether nobody told it: the supervisor died. To be asked when it is over.
    pub(super) fn is_untold(&self) -> bool {
        rustix::io::read(&self.told, &mut [0; 1]) == Ok(0)
    }

    /// Returns whether the supervisor lives.
    pub(super) fn has_supervisor(&self) -> bool {
        getppid() == Some(self.supervisor)
    }

    /// Waits for the command's end where that is not known: the supervisor died.
    pub(super) fn settle(&self, time: Timeout) {
        if self.is_untold() {
            let _ = poll(&mut [], Some(&time));
        }
    }

    /// Waits until the run is over, for something else to read, or for some time; returns whether the run is over.
    pub(super) fn wait(&self, other: Option<&OwnedFd>, timeout: Option<Timeout>) -> bool {
        let over = PollFd::new(&self.told, PollFlags::IN);
        let other = other.map(|other| PollFd::new(other, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = std::iter::once(over).chain(other).collect();
        let _ = poll(&mut fds, timeout.as_ref());
        fds.first().is_some_and(|over| !over.revents().is_empty())
    }
}
