//! On which processor a process begins.

use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// The processors of this machine that are in use (sysfs, `Documentation/ABI/stable/sysfs-devices-system-cpu`).
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// All processors, where this process may use all and has more than one: its new processes can be sent to another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processors(CpuSet);

impl Processors {
    /// Asks for them. One that may not use them all was told so, by taskset(1) or a control group: what it was told
    /// must stay, and can't be read back.
    pub(crate) fn all() -> Option<Self> {
        let own = sched_getaffinity(None).ok()?;
        let online = std::fs::read_to_string(ONLINE).ok().and_then(|text| set(text.trim_end()))?;
        (own.count() > 1 && own == online).then_some(Self(own))
    }

    /// Sends a new process, which has not run yet, to another processor than this one, on which it would wait: the
    /// kernel of a virtual machine takes a processor that sleeps for a busy one, and starts it there up to two of
    /// its ticks later. Where it can't be sent, it waits.
    pub(crate) fn send_away(&self, pid: i32) {
        let mut others = self.0;
        others.unset(sched_getcpu());
        let _ = sched_setaffinity(Pid::from_raw(pid), &others);
    }

    /// Lets this process, which may have been sent away, use all again, and those that are added to the machine.
    pub(crate) fn use_all(&self) -> Result<(), Errno> {
        if sched_getaffinity(None)? == self.0 {
            return Ok(());
        }
        let mut all = CpuSet::new();
        (0..CpuSet::MAX_CPU).for_each(|processor| all.set(processor));
        sched_setaffinity(None, &all)
    }
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
