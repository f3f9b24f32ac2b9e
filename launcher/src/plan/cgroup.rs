//! The control group of a run, for the limits that only one can keep.

use endow_policy::Policy;

use super::host::HostFacts;
use super::step::CgroupPlan;

/// The most that `pids.max` takes: there are no more processes (`PID_MAX_LIMIT` of Linux).
const PIDS_MOST: u64 = 1 << 22;

/// Plans the group; `None` when no limit needs one, or none can be made and the loss was accepted.
pub(super) fn plan(policy: &Policy, host: &HostFacts, run: &str) -> Option<CgroupPlan> {
    let has = |controller: &str| host.cgroup.controllers.iter().any(|it| it == controller);
    let limit = |controller: &str, file: &str, value: Option<u64>| {
        let value = value.filter(|_| has(controller))?;
        Some((file.to_owned(), value.to_string()))
    };
    let limits = &policy.limits;
    // pid 1 counts too.
    let pids = limits.pids.map(|pids| pids.saturating_add(1).min(PIDS_MOST));
    let memory = limit("memory", "memory.max", limits.memory_bytes);
    let together = memory.is_some().then(|| ("memory.oom.group".to_owned(), "1".to_owned()));
    let limits: Vec<_> =
        memory.into_iter().chain(together).chain(limit("pids", "pids.max", pids)).collect();
    let parent = host.cgroup.parent.clone().filter(|_| !limits.is_empty())?;
    let enable = host.cgroup.enable.clone();
    Some(CgroupPlan { parent, name: format!("endow-{run}"), enable, limits })
}
