//! The process that records a live workspace while the command already runs, and notes when it
//! ended.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use endow_vfs::fs::{Fs, OsFs, Timespec};
use endow_vfs::sync::checkpoint::{self, Limits, Recording, record};
use rustix::event::{PollFd, PollFlags, Timespec as Timeout, poll};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, getpid, getppid, nice};

use crate::plan::Checkpoint;
use crate::plan::step::FileId;
use crate::sys;
use crate::sys::clone::Cloned;
use crate::sys::signal::SignalSet;

/// How much less of the processor it gets than the command.
const NICENESS: i32 = 5;

/// A recorder, which ends with the run.
#[derive(Debug)]
pub(crate) struct Recorder {
    pid: i32,
    /// Closed when the run is over.
    going_on: Option<OwnedFd>,
}

impl Recorder {
    /// Starts it for a run whose directory is `run`.
    pub(crate) fn start(plan: &Checkpoint, run: &Path, stamp: Timespec) -> Result<Self, Errno> {
        let root = open(plan.source.as_path())?;
        if FileId::from(sys::identity::of(&root)?.parts()) != plan.id {
            return Err(Errno::STALE);
        }
        let place = OsFs.open_canonical(&run.canonicalize().map_err(|_| Errno::NOENT)?)?;
        let place = OsFs.open_dir(place.as_fd(), plan.place.0.as_os_str())?;
        let (over, going_on) = pipe_with(PipeFlags::CLOEXEC)?;
        let supervisor = getpid();
        match sys::clone::clone(0, None)? {
            Cloned::Child => {
                drop(going_on);
                let recorded = apart(supervisor).and_then(|_signals| {
                    let is_over = || is_closed(&over);
                    let (stamp, hidden) = (stamp.into(), plan.hidden.as_slice());
                    let limits = Limits::default();
                    let (root, of) = (root.as_fd(), place.as_fd());
                    let recording =
                        Recording { root, place: of, stamp, hidden, limits, is_over: &is_over };
                    let recorded = record(&OsFs, &recording);
                    wait_for(&over);
                    checkpoint::ended(&OsFs, of).and(recorded)
                });
                sys::clone::exit_now(i32::from(recorded.is_err()))
            }
            Cloned::Parent { pid, .. } => Ok(Self { pid, going_on: Some(going_on) }),
        }
    }
}

impl Drop for Recorder {
    /// Tells it that the run is over, and waits for what it is just copying.
    fn drop(&mut self) {
        drop(self.going_on.take());
        let _ = sys::wait::until_ended(self.pid);
    }
}

fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(CWD, path, flags, Mode::empty(), resolve)
}

/// What a terminal sends to the command is not for it. When the supervisor dies, it notes the
/// time, which is the command's end too, and follows.
fn apart(supervisor: Pid) -> Result<OwnedFd, Errno> {
    if getppid() != Some(supervisor) {
        return Err(Errno::SRCH);
    }
    let _ = nice(NICENESS);
    sys::signal::descriptor(SignalSet::ALL)
}

fn is_closed(over: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(over, PollFlags::empty())];
    poll(&mut fds, Some(&Timeout { tv_sec: 0, tv_nsec: 0 })) != Ok(0)
}

fn wait_for(over: &OwnedFd) {
    while poll(&mut [PollFd::new(over, PollFlags::empty())], None) == Err(Errno::INTR) {}
}
