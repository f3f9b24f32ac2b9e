//! From a plan to a running sandbox, in two halves: pid 1 is begun as soon as the policy is known
//! and makes its namespaces while the host is asked; the plan follows when it is made.

use std::cell::RefCell;
use std::ffi::NulError;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};

use super::failure::SpawnError;
use super::fork_server::{self, Awaited, ForkServer};
use super::lower::{self, Confinement, Init, Lowering};
use super::message::Message;
use super::pid_1::{self, Start};
use super::prepare::Prepared;
use crate::plan::step::InitStep;
use crate::plan::{Namespaces, Opening, Plan, Sketch};
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
    /// The roots of upper layers in memory, in the order of the plan.
    pub(crate) layers: Vec<OwnedFd>,
    /// Directories of the view, in the order of the plan.
    pub(crate) handed: Vec<OwnedFd>,
    /// Sockets of the network namespace, which nobody has taken yet.
    pub(crate) sockets: Vec<OwnedFd>,
}

impl Sandbox {
    /// Ends every process of the run at once. Without a pid namespace pid 1 does it, when nobody speaks to it any
    /// more. One that has told of no command may be stuck, and is killed by itself; but it may have one already.
    pub(crate) fn kill(&self) {
        self.let_end();
        if !self.apart && self.descriptors.command.is_none() && !self.ends_within(MOMENT) {
            let _ = sys::signal::send(&self.pidfd, libc::SIGKILL);
        }
    }

    fn ends_within(&self, time: Timespec) -> bool {
        let mut pid_1 = [PollFd::new(&self.pidfd, PollFlags::IN)];
        matches!(poll(&mut pid_1, Some(&time)), Ok(1..))
    }

    /// Has the run end where its supervisor has died and another process still has this end of the socket, which
    /// keeps pid 1 from seeing that.
    pub(crate) fn let_end(&self) {
        let _ = if self.apart {
            sys::signal::send(&self.pidfd, libc::SIGKILL)
        } else {
            shutdown(&self.socket, Shutdown::Both)
        };
    }

    /// Keeps the descriptors that travelled with a message; returns whether it came with those that it has.
    pub(crate) fn keep(&mut self, message: Message, descriptors: Vec<OwnedFd>) -> bool {
        if descriptors.len() < message.descriptors_min() {
            return false;
        }
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
            Message::Layer => own.layers.extend(descriptors.next()),
            Message::Handed => own.handed.extend(descriptors.next()),
            Message::Sockets => own.sockets.extend(descriptors),
            _ => {}
        }
        true
    }
}

/// How long pid 1 takes at most to see that nobody speaks to it, unless it is stuck.
const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 300_000_000 };

/// How many steps are sent at once.
const STEPS_AT_ONCE: usize = 32;
/// The most bytes that are sent at once: as many as a socket takes.
pub(super) const PACKET_MAX: usize = 128 * 1024;

/// A pid 1 that waits for its plan; it is killed when it gets none.
#[derive(Debug)]
pub(crate) struct Begun {
    opening: Opening,
    /// The steps that were lowered for it so far.
    early: Vec<InitStep>,
    lowering: Lowering,
    /// Those of them that are done with the plan, since one was too large for a packet.
    left: Vec<Init>,
    /// What will most likely follow the view.
    confinement: Option<Confinement>,
    /// Where the plan is written.
    paper: File,
    /// Why steps did not reach it; it has no use then.
    unsent: Option<Errno>,
    /// The way to it.
    socket: Option<OwnedFd>,
    process: Process,
}

/// A pid 1, as far as it is known.
#[derive(Debug)]
enum Process {
    /// It exists.
    Made { pid: i32, pidfd: OwnedFd },
    /// A fork server makes it.
    Asked(Awaited),
    /// It belongs to a sandbox, or is gone.
    Given,
}

impl Process {
    /// Waits until it exists.
    fn made(&mut self) -> Result<(i32, OwnedFd), SpawnError> {
        match std::mem::replace(self, Self::Given) {
            Self::Made { pid, pidfd } => Ok((pid, pidfd)),
            Self::Asked(awaited) => awaited.wait().map_err(SpawnError::of_clone),
            Self::Given => Err(SpawnError::Killed),
        }
    }
}

/// What sandboxes have alike that are made one after another: lowered once.
#[derive(Debug)]
pub(crate) struct Repeated {
    opening: Opening,
    early: Vec<InitStep>,
    lowering: Lowering,
    /// The early steps, in packets of some each, until the fork server has them.
    packets: RefCell<Option<Vec<Vec<u8>>>>,
    /// What follows the view.
    confinement: Confinement,
}

impl Repeated {
    /// Returns what another sandbox most likely has in common with that of a plan: what it begins with, until the
    /// first step that takes something prepared, and what follows the view. `None` where not all of that can be
    /// sent.
    pub(crate) fn of(plan: &Plan) -> Option<Self> {
        let mut lowering = Lowering::default();
        let lowered = |some| fork_server::packet(lowering.steps(some).ok()?);
        let early = plan.unprepared();
        let packets = early.chunks(STEPS_AT_ONCE).map(lowered).collect::<Option<_>>()?;
        let packets = RefCell::new(Some(packets));
        let (opening, early) = (plan.opening.clone(), early.to_vec());
        let confinement = Confinement::of(plan).ok()?;
        Some(Self { opening, early, lowering, packets, confinement })
    }

    /// Returns whether the sandbox of a plan has all of it.
    pub(crate) fn is_of(&self, plan: &Plan) -> bool {
        let begins_so = self.opening == plan.opening && self.early == plan.unprepared();
        begins_so && self.confinement.is_of(plan)
    }

    /// Has the fork server make a pid 1, which has these streams and no other descriptor of this process, and
    /// carries out the steps.
    pub(crate) fn begin(
        &self,
        server: &ForkServer,
        streams: &[OwnedFd; 2],
    ) -> Result<Begun, SpawnError> {
        if let Some(packets) = self.packets.borrow().as_deref() {
            server.learn(packets).map_err(SpawnError::system)?;
        }
        self.packets.take();
        let mut begun = begin_by(server, &self.opening, streams)?;
        (begun.early, begun.lowering) = (self.early.clone(), self.lowering.clone());
        begun.confinement = Some(self.confinement.clone());
        Ok(begun)
    }
}

impl Begun {
    /// Has pid 1 carry out steps with which the plan will begin; where the plan begins otherwise, another
    /// pid 1 is made.
    pub(crate) fn go_ahead(&mut self, steps: &[InitStep]) {
        // A string that no call can take is found again with the plan.
        self.send(steps).unwrap_or_default();
    }

    /// Has pid 1 build a part of the view while the rest is planned.
    pub(crate) fn go_on(&mut self, sketch: &Sketch) {
        if *sketch.opening() == self.opening
            && let Some(next) = sketch.ahead().strip_prefix(self.early.as_slice())
        {
            self.go_ahead(next);
        }
    }

    /// Returns the numbers of the descriptors by which it is known here.
    pub(crate) fn descriptors(&self) -> Vec<i32> {
        let process = match &self.process {
            Process::Made { pidfd, .. } => Some(pidfd.as_raw_fd()),
            Process::Asked(_) | Process::Given => None,
        };
        let socket = self.socket.as_ref().map(AsRawFd::as_raw_fd);
        [Some(self.paper.as_raw_fd()), socket, process].into_iter().flatten().collect()
    }

    /// Has pid 1 open the rest of a sandbox; returns whether what it was told first is the beginning of that.
    pub(crate) fn open_rest(&mut self, opening: &Opening) -> bool {
        let namespaces = self.opening.namespaces.zip(opening.namespaces);
        let network = namespaces.and_then(|(now, then)| now.network_for(then));
        let rest = opening.steps.strip_prefix(self.opening.steps.as_slice());
        let (Some(network), Some(rest)) = (network, rest) else { return false };
        let lowered = Lowering::default().steps(rest).ok();
        let Some(packet) = lowered.and_then(|steps| packet(&steps)) else { return false };
        let bytes = u32::try_from(packet.len()).unwrap_or_default();
        let told = self.tell(&Message::Opening { bytes, network }.encode());
        self.unsent = told.and_then(|()| self.tell(&packet)).err();
        self.opening = opening.clone();
        true
    }

    /// Whether all that it was told is the beginning of the plan, and reached it.
    fn is_on_the_way_to(&self, plan: &Plan) -> bool {
        let is_beginning = self.opening == plan.opening && plan.init.starts_with(&self.early);
        is_beginning && self.unsent.is_none()
    }

    /// Sends steps, a few at a time: the first are carried out while the next are lowered.
    fn send(&mut self, steps: &[InitStep]) -> Result<(), NulError> {
        for some in steps.chunks(STEPS_AT_ONCE) {
            let lowered = self.lowering.steps(some)?;
            self.early.extend_from_slice(some);
            match self.left.is_empty().then(|| packet(&lowered)).flatten() {
                Some(packet) => self.unsent = self.unsent.or(self.post(&packet).err()),
                None => self.left.extend(lowered),
            }
        }
        Ok(())
    }

    /// Sends lowered steps, and before them how long they are.
    fn post(&self, packet: &[u8]) -> Result<(), Errno> {
        let bytes = u32::try_from(packet.len()).map_err(|_| Errno::MSGSIZE)?;
        self.tell(&Message::Steps { bytes }.encode())?;
        self.tell(packet)
    }

    /// Sends a message to pid 1. That it is gone is no error: it has said why. Should it be there all the same, it
    /// is told nothing any more, and ends.
    fn tell(&self, message: &[u8]) -> Result<(), Errno> {
        let Some(socket) = &self.socket else { return Ok(()) };
        let sent = sys::socket::send(socket, message, &[]);
        if !matches!(sent, Err(Errno::PIPE | Errno::CONNRESET)) {
            return sent;
        }
        let _ = shutdown(socket, Shutdown::Write);
        Ok(())
    }

    /// Waits until it exists.
    pub(crate) fn wait(&mut self) -> Result<(), SpawnError> {
        let (pid, pidfd) = self.process.made()?;
        self.process = Process::Made { pid, pidfd };
        Ok(())
    }

    /// Returns the sandbox that it is the first process of, once it exists.
    fn into_sandbox(mut self) -> Result<Sandbox, SpawnError> {
        let (pid, pidfd) = self.process.made()?;
        let socket = self.socket.take().ok_or(SpawnError::Killed)?;
        let (descriptors, apart) = (Descriptors::default(), self.opening.namespaces.is_some());
        Ok(Sandbox { pid, pidfd, socket, descriptors, apart })
    }
}

/// Returns the bytes of steps, unless they are too large for a packet.
fn packet(steps: &[Init]) -> Option<Vec<u8>> {
    let bytes = postcard::to_allocvec(steps).ok();
    bytes.filter(|bytes| bytes.len() <= PACKET_MAX)
}

impl Drop for Begun {
    fn drop(&mut self) {
        let Ok((pid, pidfd)) = self.process.made() else { return };
        // One that can't be killed hears that nobody speaks to it any more.
        if sys::signal::send(&pidfd, libc::SIGKILL).is_err() {
            let _ = self.socket.as_ref().map(|socket| shutdown(socket, Shutdown::Both));
        }
        let _ = sys::wait::until_ended(pid);
    }
}

/// Makes pid 1 and lets it open the sandbox. It has the descriptors that are open now, and is in
/// the control group `cgroup`.
pub(crate) fn begin(opening: &Opening, cgroup: Option<RawFd>) -> Result<Begun, SpawnError> {
    let steps = Lowering::default().steps(&opening.steps).map_err(|_| SpawnError::Nul)?;
    let Ways { socket, theirs, paper } = Ways::new()?;
    let strings = match own_strings() {
        // Inside a run at level `landlock`, where nobody can read the strings of another either.
        Err(SpawnError::NoProc { errno: Errno::ACCESS }) if opening.namespaces.is_none() => {
            is_alone()?;
            StringArea::NONE
        }
        strings => strings?,
    };
    match sys::clone::clone(first(opening.namespaces), cgroup) {
        Ok(Cloned::Child) => {
            drop(socket);
            let namespaces = opening.namespaces;
            let (ahead, has_network) = (Vec::new(), false);
            let socket = theirs;
            pid_1::run(&Start { namespaces, has_network, steps, ahead, socket, paper, strings })
        }
        Ok(Cloned::Parent { pid, pidfd }) => {
            sys::processor::send_away(pid);
            Ok(begun(opening, (socket, paper), Process::Made { pid, pidfd }))
        }
        Err(errno) => Err(SpawnError::of_clone(errno)),
    }
}

/// Has a fork server make the first process of a sandbox, which begins with the opening.
fn begin_by(
    server: &ForkServer,
    opening: &Opening,
    streams: &[OwnedFd; 2],
) -> Result<Begun, SpawnError> {
    let steps = Lowering::default().steps(&opening.steps).map_err(|_| SpawnError::Nul)?;
    let Ways { socket, theirs, paper } = Ways::new()?;
    let asked = server.ask((opening.namespaces, steps), (&theirs, &paper), streams);
    let process = Process::Asked(asked.map_err(SpawnError::system)?);
    Ok(begun(opening, (socket, paper), process))
}

/// The ways to a pid 1: the two ends of a socket, and where the plan is written.
struct Ways {
    socket: OwnedFd,
    theirs: OwnedFd,
    paper: File,
}

impl Ways {
    fn new() -> Result<Self, SpawnError> {
        let (socket, theirs) = sys::socket::pair().map_err(SpawnError::system)?;
        let paper = memfd_create(c"endow-plan", MemfdFlags::CLOEXEC).map_err(SpawnError::system)?;
        Ok(Self { socket, theirs, paper: File::from(paper) })
    }
}

fn begun(opening: &Opening, (socket, paper): (OwnedFd, File), process: Process) -> Begun {
    Begun {
        opening: opening.clone(),
        early: Vec::new(),
        lowering: Lowering::default(),
        left: Vec::new(),
        confinement: None,
        paper,
        unsent: None,
        socket: Some(socket),
        process,
    }
}

/// Hands the plan over, to a pid 1 that waits for one with this opening, or to a new one. All
/// signals are blocked afterwards: the supervisor reads them.
pub(crate) fn spawn(
    begun: Option<Begun>,
    plan: &Plan,
    prepared: &Prepared,
) -> Result<Sandbox, SpawnError> {
    let waiting = begun.filter(|begun| begun.is_on_the_way_to(plan));
    let mut begun = waiting.map_or_else(|| begin(&plan.opening, prepared.cgroup()), Ok)?;
    begun.lowering.run = prepared.directory();
    let next = plan.init.get(begun.early.len()..).unwrap_or_default();
    begun.send(next).map_err(|_| SpawnError::Nul)?;
    begun.unsent.map_or(Ok(()), Err).map_err(SpawnError::system)?;
    // What follows the view is lowered while that is built.
    let left = std::mem::take(&mut begun.left);
    let known = begun.confinement.take();
    let lowered = lower::lower(plan, prepared, left, known).map_err(|_| SpawnError::Nul)?;
    let bytes = postcard::to_allocvec(&lowered).map_err(|_| SpawnError::system(Errno::INVAL))?;
    begun.paper.write_all(&bytes).map_err(failed)?;
    sys::signal::set_disposition(libc::SIGCHLD, Disposition::Default);
    sys::signal::set_mask(SignalSet::ALL).map_err(SpawnError::system)?;
    begun.tell(&Message::Planned.encode()).map_err(SpawnError::system)?;
    begun.into_sandbox()
}

fn failed(error: std::io::Error) -> SpawnError {
    SpawnError::system(Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// Finds the strings that pid 1 wipes, and makes sure that no other thread is alive: the child of
/// a clone has only the calling one.
pub(super) fn own_strings() -> Result<StringArea, SpawnError> {
    let stat = std::fs::read_to_string("/proc/self/stat").map_err(|error| no_proc(&error))?;
    match StringArea::parse(&stat) {
        Some((strings, 1)) => Ok(strings),
        Some((_, threads)) => Err(SpawnError::Threads(threads)),
        None => Err(SpawnError::NoProc { errno: Errno::INVAL }),
    }
}

/// Makes sure of the same where the process can't read of itself.
fn is_alone() -> Result<(), SpawnError> {
    match sys::clone::is_alone() {
        Ok(true) => Ok(()),
        Ok(false) => Err(SpawnError::Threads(2)),
        Err(errno) => Err(SpawnError::NoProc { errno }),
    }
}

fn no_proc(error: &std::io::Error) -> SpawnError {
    SpawnError::NoProc { errno: Errno::from_io_error(error).unwrap_or(Errno::IO) }
}

/// The namespaces with which pid 1 is made: in a user namespace, it may make the others by itself.
pub(super) fn first(namespaces: Option<Namespaces>) -> u64 {
    let first = libc::CLONE_NEWUSER | libc::CLONE_NEWPID;
    namespaces.map_or(0, |_| u64::from(first.cast_unsigned()))
}
