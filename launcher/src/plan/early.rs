//! What most views begin with: `/proc` and `/dev` depend on nothing that a policy names, so that pid 1
//! makes them while the host is still being asked about the rest.

use std::collections::BTreeMap;

use endow_policy::{Level, Policy};

use super::host::{CgroupFact, HardLimits, HostFacts, KernelFiles, UserFacts};
use super::place::Placement;
use super::step::InitStep;
use super::view;

/// Plans the first steps of pid 1 for a view whose root is endow's own. Where the plan begins in
/// another way, what was made by them is given up with the process that made it.
pub fn early(policy: &Policy, files: &KernelFiles) -> Vec<InitStep> {
    if policy.require.level == Level::Landlock {
        return Vec::new();
    }
    let host = facts(files);
    view::first_steps(policy, &Placement::default(), &host).unwrap_or_default()
}

/// What the first steps depend on, and nothing else.
fn facts(files: &KernelFiles) -> HostFacts {
    HostFacts {
        kernel: files.kernel.clone(),
        user: UserFacts { uid: 0, gid: 0, groups: Vec::new(), most: HardLimits::default() },
        paths: files.paths.clone(),
        policies: Vec::new(),
        hidden: BTreeMap::new(),
        buffered: BTreeMap::new(),
        trees: BTreeMap::new(),
        registries: BTreeMap::new(),
        proc_entries: files.proc_entries.clone(),
        terminal: files.terminal.clone(),
        streams: Vec::new(),
        pipeline: false,
        contents: BTreeMap::new(),
        repositories: BTreeMap::new(),
        live_names: BTreeMap::new(),
        led: BTreeMap::new(),
        cgroup: CgroupFact::default(),
        outer_level: None,
    }
}
