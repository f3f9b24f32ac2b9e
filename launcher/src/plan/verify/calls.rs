//! System calls: one of each group that the filter refuses.

use endow_policy::Verdict;

use super::{Check, Known, Trial, Tried};
use crate::plan::seccomp::Group;

/// A call of each group that can be tried without doing anything.
const CALLS: [(Group, &str); 12] = [
    (Group::Mounts, "setns"),
    (Group::Unshare, "unshare"),
    (Group::Clone3, "clone3"),
    (Group::IoUring, "io_uring_setup"),
    (Group::Keyring, "keyctl"),
    (Group::Perf, "perf_event_open"),
    (Group::Userfaultfd, "userfaultfd"),
    (Group::Bpf, "bpf"),
    (Group::Personality, "personality"),
    (Group::Socket, "socket"),
    (Group::HostControl, "quotactl"),
    (Group::DeviceControl, "ioctl"),
];

pub(super) fn checks(known: &Known<'_>) -> Vec<Check> {
    CALLS.into_iter().map(|(group, call)| check(known, group, call)).collect()
}

fn check(known: &Known<'_>, group: Group, call: &'static str) -> Check {
    let rule = format!("calls {}", group.name());
    let allowed = &known.policy.process.allow;
    let lifted = group.rule().lift.map(|lift| lift.word).filter(|word| allowed.contains(word));
    match lifted {
        // Some are lifted in part; none of those is tried.
        Some(word) => Check::untried(rule, format!("--allow {}", word.word())),
        None => Check::new(rule, vec![Trial { tried: Tried::Call(call), shall: Verdict::Denied }]),
    }
}
