//! The caller's process group in the foreground of the terminal again. It has no number inside (`getpgrp()` is 0,
//! pid_namespaces(7)), so that the kernel finds no group when a shell gives the terminal back at its end, or a debugger
//! takes it from its program. All other groups are left to the kernel.

use std::fs;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, StatxFlags, statx};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::caller::{self, Caller};
use crate::sys::announced;
use crate::sys::memory;
use crate::sys::terminal::{foreground, is_alive, set_foreground};

/// Answers a `TIOCSPGRP`; `own` is the caller's group.
pub(super) fn answer(caller: Caller<'_>, own: i32) {
    if put_in_front(caller, own).is_some() {
        announced::is_done(caller.listener, caller.call);
    } else {
        announced::let_go_on(caller.listener, caller.call);
    }
}

/// Puts the caller's group in front when group 0 is asked for, and one from inside is there. Another memory than was read would ask for
/// nothing else than that.
fn put_in_front(caller: Caller<'_>, own: i32) -> Option<()> {
    let [terminal, _, place, ..] = caller.call.arguments;
    let pid = caller.call.pid;
    let mut group = [0; size_of::<i32>()];
    let is_read = memory::read(pid, place, &mut group) == Ok(group.len());
    if !is_read || i32::from_ne_bytes(group) != 0 {
        return None;
    }
    let terminal = opened(pid, caller::descriptor(terminal)?)?;
    let front = foreground(&terminal)?;
    let may_go = front == own || !is_alive(front) || is_beside(front, pid);
    (may_go && caller.still_waits()).then_some(())?;
    set_foreground(&terminal, own).ok()
}

/// Returns the device that a descriptor of a process is for: only this process's own terminal has a foreground for it. Any
/// other file may have somebody answer for it who never does. No descriptor is for a thread that is not the first of its
/// process.
fn opened(thread: u32, descriptor: i32) -> Option<OwnedFd> {
    let process = Pid::from_raw(i32::try_from(thread).ok()?)?;
    let pidfd = pidfd_open(process, PidfdFlags::empty()).ok()?;
    let file = pidfd_getfd(pidfd, descriptor, PidfdGetfdFlags::empty()).ok()?;
    let found = statx(&file, c"", AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE);
    let kind = FileType::from_raw_mode(found.ok()?.stx_mode.into());
    (kind == FileType::CharacterDevice).then_some(file)
}

/// Returns whether the leader of a process group is in the pid namespace of a process: while a job of the caller's
/// shell is in front, nothing inside takes the terminal from it.
fn is_beside(group: i32, process: u32) -> bool {
    let namespace = |pid: i64| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    namespace(group.into()).is_some_and(|of_group| namespace(process.into()) == Some(of_group))
}
