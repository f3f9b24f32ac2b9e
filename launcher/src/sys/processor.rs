//! On which processor a process begins, or wakes up.

use std::sync::OnceLock;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// The processors of this machine that are in use (sysfs, `Documentation/ABI/stable/sysfs-devices-system-cpu`).
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// The processors that are in use, as they were when this process first asked.
static IN_USE: OnceLock<Option<CpuSet>> = OnceLock::new();

/// Sends a process to another processor than this one, on which it would wait: the kernel of a virtual machine takes a
/// processor that sleeps for a busy one, and a new process starts there up to two of its ticks later. From there it may
/// go anywhere.
///
/// Nothing is done where this process may not use all processors: what taskset(1) or a control group has said must
/// stay, and can't be read back.
pub(crate) fn send_away(pid: i32) {
    let Some(mut others) = all_of_them() else { return };
    others.unset(sched_getcpu());
    let pid = Pid::from_raw(pid);
    if sched_setaffinity(pid, &others).is_ok() {
        // This fails only where the process is gone.
        let _ = sched_setaffinity(pid, &any());
    }
}

/// Has a process that waits wake up on this processor by what `wake` does, where this one is about to wait: on its own it
/// would stand behind whoever works there. From here it may go anywhere; before it starts threads, which could be born on
/// this one alone, it [goes free](Own::again) by itself. Nothing but waking is done where [`send_away`] does nothing.
pub(crate) fn call_here(pid: i32, wake: impl FnOnce()) {
    let Some(_) = all_of_them() else { return wake() };
    let (mut here, pid) = (CpuSet::new(), Pid::from_raw(pid));
    here.set(sched_getcpu());
    let is_called = sched_setaffinity(pid, &here).is_ok();
    wake();
    if is_called {
        // As above.
        let _ = sched_setaffinity(pid, &any());
    }
}

/// The processors that a process had before it was called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own(Option<CpuSet>);

impl Own {
    /// Returns the processors of this process.
    pub(crate) fn now() -> Self {
        Self(sched_getaffinity(None).ok())
    }

    /// Has this process run on these processors again, where it was called to one and whoever called it did not give
    /// them back.
    pub(crate) fn again(self) {
        let is_called = sched_getaffinity(None).is_ok_and(|now| now.count() == 1);
        if let Some(own) = self.0.filter(|_| is_called) {
            let _ = sched_setaffinity(None, &own);
        }
    }
}

/// Returns all processors, also those that are added to the machine later.
fn any() -> CpuSet {
    let mut all = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|processor| all.set(processor));
    all
}

/// Returns the processors of this machine, where this process may use all and there is more than one.
fn all_of_them() -> Option<CpuSet> {
    let own = sched_getaffinity(None).ok()?;
    let online = *IN_USE
        .get_or_init(|| std::fs::read_to_string(ONLINE).ok().and_then(|text| set(text.trim_end())));
    (own.count() > 1 && Some(own) == online).then_some(own)
}

/// Reads a list of ranges, such as `0-3,5`.
fn set(list: &str) -> Option<CpuSet> {
    let mut all = CpuSet::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last >= CpuSet::MAX_CPU {
            return None;
        }
        (first..=last).for_each(|processor| all.set(processor));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_and_called_processes_may_run_anywhere() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a process");
        let pid = i32::try_from(child.id()).expect("a pid");
        let may = || sched_getaffinity(Pid::from_raw(pid)).expect("processors");
        let before = may();
        send_away(pid);
        assert_eq!(may(), before);
        let mut waked = 0;
        call_here(pid, || {
            waked += 1;
            if all_of_them().is_some() {
                assert_eq!(may().count(), 1);
            }
        });
        assert_eq!((waked, may()), (1, before));
        child.kill().expect("ended");
        child.wait().expect("reaped");
    }

    #[test]
    fn processors_of_before_are_taken_again() {
        let before = sched_getaffinity(None).expect("processors");
        let own = Own::now();
        let mut here = CpuSet::new();
        here.set(sched_getcpu());
        sched_setaffinity(None, &here).expect("one");
        own.again();
        assert_eq!(sched_getaffinity(None), Ok(before));
    }

    #[test]
    fn list_of_ranges_is_read() {
        let numbers =
            |list| set(list).map(|set| (0..9).filter(|it| set.is_set(*it)).collect::<Vec<usize>>());
        assert_eq!(numbers("0-3,5"), Some(vec![0, 1, 2, 3, 5]));
        assert_eq!(numbers("7"), Some(vec![7]));
        for wrong in ["", "a", "0-", "0-99999", "1,,2"] {
            assert_eq!(numbers(wrong), None, "{wrong}");
        }
    }
}
