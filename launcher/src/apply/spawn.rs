//! From a plan to a running sandbox, in two halves: pid 1 is begun as soon as the policy is known
//! and makes its namespaces while the host is asked; the plan follows when it is made.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd, RawFd};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{Signal, set_parent_process_death_signal};

use super::failure::SpawnError;
use super::init::View;
use super::lower::{self, Init, Lowered};
use super::message::{Message, SIZE, Stage, StepFailure};
use super::payload::Inherited;
use super::prepare::Prepared;
use super::{confine, payload, reaper};
use crate::plan::{Namespaces, Opening, Plan};
use crate::sys;
use crate::sys::arguments::StringArea;
use crate::sys::clone::Cloned;
use crate::sys::signal::{Disposition, SignalSet};

/// A sandbox whose pid 1 exists; it has not said yet that the command started.
#[derive(Debug)]
pub(crate) struct Sandbox {
    /// The process id of pid 1, as the host sees it.
    pub(crate) pid: i32,
    /// A descriptor for pid 1: killing it ends everything inside.
    pub(crate) pidfd: OwnedFd,
    /// The way to pid 1.
    pub(crate) socket: OwnedFd,
    /// Descriptors that pid 1 sends on its way.
    pub(crate) descriptors: Descriptors,
}

/// Descriptors of a sandbox, held by the supervisor.
#[derive(Debug, Default)]
pub(crate) struct Descriptors {
    /// The user namespace.
    pub(crate) user: Option<OwnedFd>,
    /// The mount namespace.
    pub(crate) mount: Option<OwnedFd>,
    /// The network namespace.
    pub(crate) network: Option<OwnedFd>,
    /// The command's process.
    pub(crate) command: Option<OwnedFd>,
    /// Where the filter announces calls.
    pub(crate) listener: Option<OwnedFd>,
}

impl Sandbox {
    /// Keeps the descriptors that travelled with a message.
    pub(crate) fn keep(&mut self, message: Message, descriptors: Vec<OwnedFd>) {
        let mut descriptors = descriptors.into_iter();
        let own = &mut self.descriptors;
        match message {
            Message::Namespaces => {
                own.user = descriptors.next();
                own.mount = descriptors.next();
                own.network = descriptors.next();
            }
            Message::Started => own.command = descriptors.next(),
            Message::Listener => own.listener = descriptors.next(),
            _ => {}
        }
    }
}

/// A pid 1 that waits for its plan; it is killed when it gets none.
#[derive(Debug)]
pub(crate) struct Begun {
    opening: Opening,
    /// Where the plan is written.
    paper: File,
    sandbox: Option<Sandbox>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(sandbox) = self.sandbox.take() {
            let _ = sys::signal::send(&sandbox.pidfd, libc::SIGKILL);
            let _ = sys::wait::until_ended(sandbox.pid);
        }
    }
}

/// Makes pid 1 and lets it open the sandbox. It has the descriptors that are open now, and is in
/// the control group `cgroup`.
pub(crate) fn begin(opening: &Opening, cgroup: Option<RawFd>) -> Result<Begun, SpawnError> {
    let steps = lower::open(&opening.steps).map_err(|_| SpawnError::Nul)?;
    let (ours, theirs) = sys::socket::pair().map_err(SpawnError::system)?;
    let paper = memfd_create(c"endow-plan", MemfdFlags::CLOEXEC).map_err(SpawnError::system)?;
    let paper = File::from(paper);
    let strings = own_strings()?;
    // The user namespace comes first; in it, pid 1 may make the others by itself.
    let first = libc::CLONE_NEWUSER | libc::CLONE_NEWPID;
    match sys::clone::clone(u64::from(first.cast_unsigned()), cgroup) {
        Ok(Cloned::Child) => {
            drop(ours);
            let namespaces = others(opening.namespaces);
            child(&Start { namespaces, steps, socket: theirs, paper, strings })
        }
        Ok(Cloned::Parent { pid, pidfd }) => {
            let descriptors = Descriptors::default();
            let sandbox = Sandbox { pid, pidfd, socket: ours, descriptors };
            Ok(Begun { opening: opening.clone(), paper, sandbox: Some(sandbox) })
        }
        Err(errno) => Err(SpawnError::of_clone(errno)),
    }
}

/// Hands the plan over. All signals are blocked afterwards: the supervisor reads them.
pub(crate) fn spawn(
    mut begun: Begun,
    plan: &Plan,
    prepared: &Prepared,
) -> Result<Sandbox, SpawnError> {
    if begun.opening != plan.opening {
        return Err(SpawnError::OtherPlan);
    }
    let lowered = lower::lower(plan, prepared).map_err(|_| SpawnError::Nul)?;
    let bytes = postcard::to_allocvec(&lowered).map_err(|_| SpawnError::system(Errno::INVAL))?;
    begun
        .paper
        .write_all(&bytes)
        .map_err(|error| SpawnError::system(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
    sys::signal::set_disposition(libc::SIGCHLD, Disposition::Default);
    sys::signal::set_mask(SignalSet::ALL).map_err(SpawnError::system)?;
    let sandbox = begun.sandbox.take().ok_or(SpawnError::Killed)?;
    // When pid 1 is gone, its last word says why.
    let _ = sys::socket::send(&sandbox.socket, &Message::Planned.encode(), &[]);
    Ok(sandbox)
}

/// Finds the strings that pid 1 wipes, and makes sure that no other thread is alive: the child of
/// a clone has only the calling one.
fn own_strings() -> Result<StringArea, SpawnError> {
    let stat = std::fs::read_to_string("/proc/self/stat").map_err(|_| SpawnError::NoProc)?;
    match StringArea::parse(&stat) {
        Some((strings, 1)) => Ok(strings),
        Some((_, threads)) => Err(SpawnError::Threads(threads)),
        None => Err(SpawnError::NoProc),
    }
}

/// The namespaces that pid 1 makes by itself.
fn others(namespaces: Namespaces) -> i32 {
    let always =
        libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP;
    #[cfg(feature = "test-switches")]
    let always = if namespaces.shared_ipc { always & !libc::CLONE_NEWIPC } else { always };
    if namespaces.network { always | libc::CLONE_NEWNET } else { always }
}

/// What pid 1 begins with.
struct Start {
    namespaces: i32,
    steps: Vec<Init>,
    socket: OwnedFd,
    paper: File,
    strings: StringArea,
}

fn child(start: &Start) -> ! {
    let mut view = View::default();
    let done = open(start, &mut view).and_then(|inherited| become_pid_1(start, view, inherited));
    match done {
        Ok((command, filter)) => reaper::run(&start.socket, command, &filter),
        Err(failure) => fail(&start.socket, failure),
    }
}

fn fail(socket: &OwnedFd, failure: StepFailure) -> ! {
    let _ = sys::socket::send(socket, &Message::Failed(failure).encode(), &[]);
    sys::clone::exit_now(1)
}

fn failure(stage: Stage) -> impl Fn(Errno) -> StepFailure + Copy {
    move |errno| StepFailure { stage, step: 0, detail: 0, errno: errno.raw_os_error() }
}

/// Makes what does not depend on the view.
fn open(start: &Start, view: &mut View) -> Result<Inherited, StepFailure> {
    let of_pid_1 = failure(Stage::Reaper);
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(of_pid_1)?;
    let mask = sys::signal::set_mask(SignalSet::ALL).map_err(of_pid_1)?;
    let sigchld_ignored = sys::signal::is_ignored(libc::SIGCHLD);
    sys::signal::set_disposition(libc::SIGCHLD, Disposition::Default);
    let umask = rustix::process::umask(rustix::fs::Mode::empty());
    sys::clone::unshare(start.namespaces).map_err(failure(Stage::Clone))?;
    view.run(Stage::Opening, &start.steps)?;
    Ok(Inherited { mask, sigchld_ignored, umask })
}

/// Waits for the plan; a supervisor that is gone has none.
fn planned(start: &Start) -> Result<Lowered, Errno> {
    let mut bytes = [0; SIZE];
    match sys::socket::receive(&start.socket, &mut bytes, RecvFlags::empty())? {
        (SIZE, _) if Message::decode(&bytes) == Some(Message::Planned) => {}
        _ => sys::clone::exit_now(0),
    }
    let mut text = Vec::new();
    let mut paper = &start.paper;
    let read = paper.rewind().and_then(|()| paper.read_to_end(&mut text));
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    postcard::from_bytes(&text).map_err(|_| Errno::BADMSG)
}

fn become_pid_1(
    start: &Start,
    mut view: View,
    inherited: Inherited,
) -> Result<(i32, lower::Filter), StepFailure> {
    let of_pid_1 = failure(Stage::Reaper);
    let socket = &start.socket;
    let lowered = planned(start).map_err(of_pid_1)?;
    view.run(Stage::Init, &lowered.init)?;
    drop(view);
    let context = confine::Context { socket: socket.as_fd(), strings: start.strings };
    confine::run(&lowered.confine, &context)?;
    match sys::clone::clone(0, None).map_err(of_pid_1)? {
        Cloned::Child => fail(socket, payload::run(&lowered, &inherited, socket.as_fd())),
        Cloned::Parent { pid, pidfd } => {
            let started = Message::Started.encode();
            sys::socket::send(socket, &started, &[pidfd.as_fd()]).map_err(of_pid_1)?;
            Ok((pid, lowered.reaper))
        }
    }
}
