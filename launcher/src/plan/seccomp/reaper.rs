//! The filter of pid 1, which only reaps and reports.

use std::collections::BTreeMap;

use serde::Serialize;

use super::action::{Action, Errno};
use super::arch::Arch;
use super::leaf::Leaf;
use super::table::Call;

/// The filter of pid 1. Whatever it doesn't allow is [`ReaperPlan::OTHERS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReaperPlan {
    /// The architecture the numbers are of.
    pub arch: Arch,
}

impl ReaperPlan {
    /// The calls of pid 1: it waits, signals, and talks on its one socket. Nothing here opens,
    /// maps, starts or traces; the last rows are what a C library does by itself.
    pub const CALLS: &[&str] = &[
        "waitid",
        "wait4",
        "kill",
        "pidfd_send_signal",
        "rt_sigtimedwait",
        "read",
        "write",
        "recvmsg",
        "sendmsg",
        "recvfrom",
        "sendto",
        "poll",
        "ppoll",
        "close",
        "nanosleep",
        "clock_nanosleep",
        "clock_gettime",
        "getpid",
        "restart_syscall",
        "exit",
        "exit_group",
        "rt_sigreturn",
        "rt_sigprocmask",
        "munmap",
        "madvise",
        "futex",
        "sched_yield",
    ];

    /// What happens to all other calls. An error, not a kill: when pid 1 dies, all die.
    pub const OTHERS: Leaf = Leaf::Do(Action::Errno(Errno::ENOSYS));

    /// Returns what happens to each allowed number.
    pub fn leaves(&self) -> BTreeMap<u32, Leaf> {
        let number = |name: &&str| Call::named(name).and_then(|call| call.number(self.arch));
        Self::CALLS.iter().filter_map(number).map(|number| (number, Leaf::ALLOW)).collect()
    }
}
