//! From a plan to a running sandbox: one clone, and what each side does after it.

use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use rustix::process::{Signal, set_parent_process_death_signal};

use super::failure::SpawnError;
use super::lower::{self, Lowered};
use super::message::{Message, Stage, StepFailure};
use super::payload::Inherited;
use super::prepare::Prepared;
use super::{confine, init, payload, reaper};
use crate::plan::Plan;
use crate::sys;
use crate::sys::arguments::StringArea;
use crate::sys::clone::Cloned;
use crate::sys::signal::{Disposition, SignalSet};

/// A sandbox whose pid 1 exists; it has not said yet that the command started.
#[derive(Debug)]
pub(crate) struct Sandbox {
    /// The process id of pid 1, as the host sees it.
    pub(crate) pid: i32,
    /// A descriptor for pid 1.
    pub(crate) pidfd: OwnedFd,
    /// The way to pid 1.
    pub(crate) socket: OwnedFd,
    /// Descriptors that pid 1 sends on its way.
    pub(crate) descriptors: Descriptors,
    /// Whether it has a pid namespace, which ends with pid 1.
    apart: bool,
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
    /// Ends every process of the run at once. Without a pid namespace pid 1 does it, when nobody
    /// speaks to it any more; before it has a command, nobody else is there.
    pub(crate) fn kill(&self) {
        let _ = if self.apart || self.descriptors.command.is_none() {
            sys::signal::send(&self.pidfd, libc::SIGKILL)
        } else {
            shutdown(&self.socket, Shutdown::Both)
        };
    }

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

/// Starts the sandbox. All signals are blocked afterwards: the supervisor reads them.
pub(crate) fn spawn(plan: &Plan, prepared: &Prepared) -> Result<Sandbox, SpawnError> {
    let lowered = lower::lower(plan, prepared).map_err(|_| SpawnError::Nul)?;
    let (ours, theirs) = sys::socket::pair().map_err(SpawnError::system)?;
    let strings = own_strings()?;
    let sigchld_ignored = sys::signal::is_ignored(libc::SIGCHLD);
    sys::signal::set_disposition(libc::SIGCHLD, Disposition::Default);
    let mask = sys::signal::set_mask(SignalSet::ALL).map_err(SpawnError::system)?;
    match sys::clone::clone(namespaces(plan), prepared.cgroup()) {
        Ok(Cloned::Child) => {
            drop(ours);
            let umask = rustix::process::umask(rustix::fs::Mode::empty());
            let parent = rustix::process::getpid();
            child(&lowered, &theirs, strings, Inherited { mask, sigchld_ignored, umask, parent })
        }
        Ok(Cloned::Parent { pid, pidfd }) => {
            let (descriptors, apart) = (Descriptors::default(), plan.namespaces.is_some());
            Ok(Sandbox { pid, pidfd, socket: ours, descriptors, apart })
        }
        Err(errno) => {
            let failure = StepFailure {
                stage: Stage::Clone,
                step: 0,
                detail: 0,
                errno: errno.raw_os_error(),
            };
            Err(SpawnError::of_step(&failure, plan))
        }
    }
}

/// Finds the strings that pid 1 wipes, and makes sure that no other thread is alive: the child of
/// a clone has only the calling one.
fn own_strings() -> Result<StringArea, SpawnError> {
    let stat = match std::fs::read_to_string("/proc/self/stat") {
        // Inside a run at level `landlock`, where nobody can read the strings of another either.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(StringArea::NONE),
        stat => stat.map_err(|_| SpawnError::NoProc)?,
    };
    match StringArea::parse(&stat) {
        Some((strings, 1)) => Ok(strings),
        Some((_, threads)) => Err(SpawnError::Threads(threads)),
        None => Err(SpawnError::NoProc),
    }
}

fn namespaces(plan: &Plan) -> u64 {
    let Some(namespaces) = plan.namespaces else { return 0 };
    let always = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    #[cfg(feature = "test-switches")]
    let always = if namespaces.shared_ipc { always & !libc::CLONE_NEWIPC } else { always };
    let network = if namespaces.network { libc::CLONE_NEWNET } else { 0 };
    u64::from((always | network).cast_unsigned())
}

fn child(lowered: &Lowered, socket: &OwnedFd, strings: StringArea, inherited: Inherited) -> ! {
    match become_pid_1(lowered, socket, strings, inherited) {
        Ok(command) => reaper::run(socket, command, &lowered.reaper),
        Err(failure) => fail(socket, failure),
    }
}

fn fail(socket: &OwnedFd, failure: StepFailure) -> ! {
    let _ = sys::socket::send(socket, &Message::Failed(failure).encode(), &[]);
    sys::clone::exit_now(1)
}

fn become_pid_1(
    lowered: &Lowered,
    socket: &OwnedFd,
    strings: StringArea,
    inherited: Inherited,
) -> Result<i32, StepFailure> {
    let failure = |errno: Errno| StepFailure {
        stage: Stage::Reaper,
        step: 0,
        detail: 0,
        errno: errno.raw_os_error(),
    };
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(failure)?;
    init::run(&lowered.init)?;
    confine::run(&lowered.confine, &confine::Context { socket: socket.as_fd(), strings })?;
    match sys::clone::clone(0, None).map_err(failure)? {
        Cloned::Child => fail(socket, payload::run(lowered, &inherited, socket.as_fd())),
        Cloned::Parent { pid, pidfd } => {
            let started = Message::Started.encode();
            sys::socket::send(socket, &started, &[pidfd.as_fd()]).map_err(failure)?;
            Ok(pid)
        }
    }
}
