//! Conditions of this process under which an action is executed once more: another time, one processor.

use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::order::Varied;

/// Sets the other conditions that are set before the command starts; what it gets holds them.
pub(super) fn vary(varied: Varied) -> Option<OneProcessor> {
    std::thread::sleep(Duration::from_millis(varied.wait_ms));
    OneProcessor::take()
}

/// This process, and what it starts, on one of its processors.
pub(super) struct OneProcessor(CpuSet);

impl OneProcessor {
    /// Where that is not allowed, all of them stay.
    fn take() -> Option<Self> {
        let all = sched_getaffinity(None).ok()?;
        let last = (0..CpuSet::MAX_CPU).rev().find(|number| all.is_set(*number))?;
        let mut one = CpuSet::new();
        one.set(last);
        sched_setaffinity(None, &one).ok()?;
        Some(Self(all))
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.0);
    }
}
