//! The first process inside: what it does from the clone until it reaps.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{Signal, set_parent_process_death_signal};

use super::filter::Filter;
use super::init::View;
use super::lower::{Init, Lowered};
use super::message::{Message, SIZE, Stage, StepFailure};
use super::payload::Inherited;
use super::{confine, payload, reaper};
use crate::plan::Namespaces;
use crate::sys;
use crate::sys::arguments::StringArea;
use crate::sys::clone::Cloned;
use crate::sys::signal::{Disposition, SignalSet};

/// What pid 1 begins with.
pub(super) struct Start {
    /// Those that it is to have; the user and pid namespaces are made.
    pub(super) namespaces: Option<Namespaces>,
    /// Whether the network namespace is made as well.
    pub(super) has_network: bool,
    /// The steps of the opening.
    pub(super) steps: Vec<Init>,
    /// The first steps of the plan, as far as they are known.
    pub(super) ahead: Vec<Init>,
    /// The way to the supervisor.
    pub(super) socket: OwnedFd,
    /// Where the plan will be written.
    pub(super) paper: File,
    /// The strings that are wiped.
    pub(super) strings: StringArea,
}

/// Opens the sandbox, waits for the plan, carries it out and reaps; never returns.
pub(super) fn run(start: &Start) -> ! {
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
    sys::signal::set_mask(SignalSet::ALL).map_err(of_pid_1)?;
    sys::signal::set_disposition(libc::SIGCHLD, Disposition::Default);
    let umask = sys::start::umask_of_command(rustix::process::umask(rustix::fs::Mode::empty()));
    // Where none is to be made the call may be refused, as containers do.
    if let Some(namespaces) = start.namespaces {
        let others = others(namespaces, start.has_network);
        sys::clone::unshare(others).map_err(failure(Stage::Clone))?;
    }
    view.run((Stage::Opening, 0), &start.steps)?;
    view.sockets.send(start.socket.as_fd()).map_err(failure(Stage::Opening))?;
    Ok(Inherited { umask, parent: rustix::process::getpid() })
}

/// Makes the rest of it, which was not known at first.
fn open_rest(
    (start, view): (&Start, &mut View),
    network: bool,
    steps: &[Init],
) -> Result<(), StepFailure> {
    if network {
        sys::clone::unshare(libc::CLONE_NEWNET).map_err(failure(Stage::Clone))?;
    }
    view.run((Stage::Opening, count(&start.steps)), steps)?;
    view.sockets.send(start.socket.as_fd()).map_err(failure(Stage::Opening))
}

/// Waits for the plan, and carries out what comes before; returns how many steps that were. A
/// supervisor that is gone has no plan.
fn wait(start: &Start, view: &mut View) -> Result<u32, StepFailure> {
    let of_pid_1 = failure(Stage::Reaper);
    view.run((Stage::Init, 0), &start.ahead)?;
    let mut done = count(&start.ahead);
    loop {
        let mut bytes = [0; SIZE];
        let received = sys::socket::receive(&start.socket, &mut bytes, RecvFlags::empty());
        let (length, _) = received.map_err(of_pid_1)?;
        match Message::decode(bytes.get(..length).unwrap_or_default()) {
            Some(Message::Planned) => return Ok(done),
            Some(Message::Steps { bytes }) => {
                let steps = steps(start, bytes).map_err(of_pid_1)?;
                view.run((Stage::Init, done), &steps)?;
                done += count(&steps);
            }
            Some(Message::Opening { bytes, network }) => {
                let steps = steps(start, bytes).map_err(of_pid_1)?;
                open_rest((start, view), network, &steps)?;
            }
            _ => sys::clone::exit_now(0),
        }
    }
}

fn count(steps: &[Init]) -> u32 {
    u32::try_from(steps.len()).unwrap_or(u32::MAX)
}

fn steps(start: &Start, bytes: u32) -> Result<Vec<Init>, Errno> {
    let mut bytes = vec![0; usize::try_from(bytes).map_err(|_| Errno::BADMSG)?];
    let (length, _) = sys::socket::receive(&start.socket, &mut bytes, RecvFlags::empty())?;
    postcard::from_bytes(bytes.get(..length).unwrap_or_default()).map_err(|_| Errno::BADMSG)
}

/// Reads the plan.
fn planned(start: &Start) -> Result<Lowered, Errno> {
    let mut text = Vec::new();
    let mut paper = &start.paper;
    let read = paper.rewind().and_then(|()| paper.read_to_end(&mut text));
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    postcard::from_bytes(&text).map_err(|_| Errno::BADMSG)
}

/// A view without a step would lack what that was to hide or to hold.
fn is_whole(lowered: &Lowered, done: u32) -> Result<(), Errno> {
    let left = u32::try_from(lowered.init.len()).ok();
    let all = left.and_then(|left| left.checked_add(done));
    if all == Some(lowered.steps) { Ok(()) } else { Err(Errno::BADMSG) }
}

fn become_pid_1(
    start: &Start,
    mut view: View,
    inherited: Inherited,
) -> Result<(i32, Filter), StepFailure> {
    let of_pid_1 = failure(Stage::Reaper);
    let socket = &start.socket;
    let done = wait(start, &mut view)?;
    let lowered = planned(start).map_err(of_pid_1)?;
    is_whole(&lowered, done).map_err(of_pid_1)?;
    view.run((Stage::Init, done), &lowered.init)?;
    for layer in &view.layers {
        sys::socket::send(socket, &Message::Layer.encode(), &[layer.as_fd()]).map_err(of_pid_1)?;
    }
    for handed in &view.handed {
        sys::socket::send(socket, &Message::Handed.encode(), &[handed.as_fd()])
            .map_err(of_pid_1)?;
    }
    drop(view);
    let context = confine::Context { socket: socket.as_fd(), strings: start.strings };
    confine::run(&lowered.confine, &context)?;
    match sys::clone::clone(0, None).map_err(of_pid_1)? {
        Cloned::Child => fail(socket, payload::run(&lowered, inherited, socket.as_fd())),
        Cloned::Parent { pid, pidfd } => {
            let started = Message::Started.encode();
            sys::socket::send(socket, &started, &[pidfd.as_fd()]).map_err(of_pid_1)?;
            // Where the command has to wait for this processor, it is to have it now.
            rustix::thread::sched_yield();
            Ok((pid, lowered.reaper))
        }
    }
}

/// The namespaces that pid 1 makes by itself.
fn others(namespaces: Namespaces, has_network: bool) -> i32 {
    let always =
        libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP;
    #[cfg(feature = "test-switches")]
    let always = if namespaces.shared_ipc { always & !libc::CLONE_NEWIPC } else { always };
    let makes_network = namespaces.network && !has_network;
    if makes_network { always | libc::CLONE_NEWNET } else { always }
}
