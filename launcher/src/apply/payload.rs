//! The last steps of the command's process, and exec.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{Pid, Resource, setrlimit};

use super::filter::Filter;
use super::landlock;
use super::lower::{Lowered, Payload};
use super::message::{Message, Stage, StepFailure};
use crate::plan::step::Rlimit;
use crate::sys;
use crate::sys::exec::StringList;
use crate::sys::seccomp::Listener;

/// What the caller had, given back to the command.
#[derive(Clone, Copy)]
pub(super) struct Inherited {
    /// The file mode creation mask.
    pub(super) umask: Mode,
    /// The process that starts the command.
    pub(super) parent: Pid,
}

/// Runs the steps and executes the command; returns only what failed.
pub(super) fn run(lowered: &Lowered, inherited: Inherited, socket: BorrowedFd<'_>) -> StepFailure {
    // The number that it has may be one that the command is to have.
    let moved = (!lowered.handed.is_empty()).then(|| sys::fd::set_aside(socket)).transpose();
    let moved = match moved {
        Ok(moved) => moved,
        Err(errno) => return failure(0, errno),
    };
    let socket = moved.as_ref().map_or(socket, AsFd::as_fd);
    for (number, step) in (0u32..).zip(&lowered.payload) {
        if let Err(errno) = apply(step, lowered, inherited, socket) {
            return failure(number, errno);
        }
    }
    let errno = execute(lowered).raw_os_error();
    StepFailure { stage: Stage::Exec, step: 0, detail: 0, errno }
}

fn failure(step: u32, errno: Errno) -> StepFailure {
    StepFailure { stage: Stage::Payload, step, detail: 0, errno: errno.raw_os_error() }
}

fn apply(
    step: &Payload,
    lowered: &Lowered,
    inherited: Inherited,
    socket: BorrowedFd<'_>,
) -> Result<(), Errno> {
    match step {
        Payload::NewSession => rustix::process::setsid().map(drop),
        Payload::Rlimit { resource, soft, hard } => limit(*resource, *soft, *hard),
        Payload::RestoreSignals => {
            hand_over(lowered, inherited)?;
            sys::start::restore_signals()
        }
        Payload::DieWithReaper => sys::start::die_with(Some(inherited.parent)),
        Payload::OwnDomain => landlock::scope_signals(),
        Payload::ChangeDir { to } => rustix::process::chdir(to.as_c_str()),
        Payload::Seccomp { filter, listens, unobserved } => {
            let listener = if *listens { Listener::Wanted } else { Listener::None };
            let installed = seccomp(filter, listener, socket);
            match (installed, unobserved) {
                // Of all filters of a process one may have a listener: somebody outside has it.
                (Err(Errno::BUSY), Some(filter)) => seccomp(filter, Listener::None, socket),
                (installed, _) => installed,
            }
        }
    }
}

fn seccomp(filter: &Filter, listener: Listener, socket: BorrowedFd<'_>) -> Result<(), Errno> {
    match sys::seccomp::install(&filter.instructions(), listener)? {
        Some(listener) => {
            sys::socket::send(socket, &Message::Listener.encode(), &[listener.as_fd()])
        }
        None => Ok(()),
    }
}

fn limit(resource: Rlimit, soft: u64, hard: u64) -> Result<(), Errno> {
    let resource = match resource {
        Rlimit::Core => Resource::Core,
        Rlimit::Cpu => Resource::Cpu,
        Rlimit::Fsize => Resource::Fsize,
        Rlimit::Nofile => Resource::Nofile,
        Rlimit::Nproc => Resource::Nproc,
    };
    setrlimit(resource, rustix::process::Rlimit { current: Some(soft), maximum: Some(hard) })
}

/// Leaves the command the descriptors it was given: the standard streams as the caller had them,
/// closed ones included, those named with `--keep-fd`, and pipes with secrets.
fn hand_over(lowered: &Lowered, inherited: Inherited) -> Result<(), Errno> {
    rustix::process::umask(inherited.umask);
    if let Some([out, err]) = lowered.captured {
        rustix::stdio::dup2_stdout(sys::fd::borrow_number(out)?)?;
        rustix::stdio::dup2_stderr(sys::fd::borrow_number(err)?)?;
    }
    for [from, number] in &lowered.handed {
        sys::fd::put_at(sys::fd::borrow_number(*from)?, *number)?;
    }
    sys::fd::cloexec_from(3)?;
    let handed = lowered.handed.iter().map(|[_, number]| number);
    handed.chain(&lowered.keep).try_for_each(|number| sys::fd::keep_across_exec(*number))?;
    let last_given = if lowered.captured.is_some() { 0 } else { 2 };
    let closed = (0..=last_given).filter(|number| sys::start::was_closed(*number));
    closed.for_each(sys::fd::close_number);
    Ok(())
}

/// What the command is given.
struct Lists {
    argv: StringList,
    environment: StringList,
}

/// Tries each candidate as execvp(3) does; the most telling error wins.
fn execute(lowered: &Lowered) -> Errno {
    let list = |strings: &[CString]| StringList::new(strings.to_vec());
    let lists = Lists { argv: list(&lowered.argv), environment: list(&lowered.environment) };
    let mut worst = Errno::NOENT;
    if let Some(helper) = lowered.helper {
        return match sys::fd::borrow_number(helper) {
            Ok(file) => sys::exec::execveat(file, &lists.argv, &lists.environment),
            Err(errno) => errno,
        };
    }
    for path in &lowered.candidates {
        match sys::exec::execve(path, &lists.argv, &lists.environment) {
            Errno::NOENT | Errno::NOTDIR => {}
            Errno::NOEXEC => return execute_as_script(path, &lists),
            errno => worst = errno,
        }
    }
    worst
}

/// A file without a `#!` line is a script of the shell, as execvp(3) and every shell have it.
fn execute_as_script(path: &CStr, lists: &Lists) -> Errno {
    let mut arguments: Vec<CString> = vec![c"/bin/sh".to_owned(), path.to_owned()];
    arguments.extend(lists.argv.strings().iter().skip(1).cloned());
    let argv = StringList::new(arguments);
    match sys::exec::execve(c"/bin/sh", &argv, &lists.environment) {
        Errno::NOENT => Errno::NOEXEC,
        errno => errno,
    }
}
