//! The filter of endow's own processes that work on data of others: files that are open or named to them, and memory.

use std::collections::BTreeMap;

use serde::Serialize;

use super::action::{Action, Errno};
use super::arch::Arch;
use super::group::{Applies, Group};
use super::leaf::Leaf;
use super::table::{CALLS, Call};

/// The filter of a confined process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ConfinedPlan {
    /// The architecture the numbers are of.
    pub arch: Arch,
}

/// What reaches anything but files and the process's own memory. The observed calls start programs.
const GROUPS: &[Group] = &[
    Group::Socket,
    Group::SocketPair,
    Group::SocketOption,
    Group::Connect,
    Group::SendTo,
    Group::SendMessage,
    Group::SharedMemory,
    Group::Observed,
];

/// What reaches other processes beside what the groups have. Of signals `tgkill` stays, by which a process aborts;
/// Landlock keeps that inside, since Linux 6.12.
const OTHERS: &[&str] = &[
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "pidfd_getfd",
    "kill",
    "tkill",
    "pidfd_send_signal",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
];

impl ConfinedPlan {
    /// What happens to the calls that are refused here beside those that no command may make.
    pub const REFUSED: Leaf = Leaf::Do(Action::Errno(Errno::EPERM));

    /// Returns what happens to each known number; others are as unknown as to a command.
    pub fn leaves(&self) -> BTreeMap<u32, Leaf> {
        CALLS.iter().filter_map(|call| Some((call.number(self.arch)?, leaf(call)))).collect()
    }

    /// Returns the calls that are [`ConfinedPlan::REFUSED`].
    pub fn refused() -> impl Iterator<Item = &'static Call> {
        CALLS.iter().filter(|call| is_refused(call))
    }
}

/// No sockets, no program, no shared memory, and no other process.
fn is_refused(call: &Call) -> bool {
    GROUPS.contains(&call.group) || OTHERS.contains(&call.name)
}

fn leaf(call: &Call) -> Leaf {
    let rule = call.group.rule();
    match rule.applies {
        _ if is_refused(call) => ConfinedPlan::REFUSED,
        Applies::Always | Applies::ByForeground { .. } => rule.default,
        _ => Leaf::ALLOW,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_reached_by_a_call_that_no_file_is_named_to() {
        for arch in Arch::ALL {
            let leaves = ConfinedPlan { arch: *arch }.leaves();
            let of =
                |name: &str| leaves[&Call::named(name).expect(name).number(*arch).expect(name)];
            let refused =
                ["socket", "socketpair", "connect", "sendto", "sendmsg", "execve", "execveat"];
            for name in refused.into_iter().chain(OTHERS.iter().copied()) {
                assert_eq!(of(name), ConfinedPlan::REFUSED, "{name}");
            }
            for name in
                ["openat", "linkat", "renameat2", "read", "mmap", "pipe2", "futex", "tgkill"]
            {
                assert_eq!(of(name), Leaf::ALLOW, "{name}");
            }
            assert!(leaves.values().all(|leaf| !leaf.notifies()), "nobody listens");
        }
    }
}
