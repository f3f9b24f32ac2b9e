//! What follows from the policy alone: the kernel makes it while the host is still being asked.

use endow_policy::{Network, Policy};
use serde::Serialize;

use super::step::InitStep;

/// The namespaces, and what is done in them before the view is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Opening {
    /// The namespaces that are made.
    pub namespaces: Namespaces,
    /// The first steps of pid 1.
    #[serde(rename = "opening")]
    pub steps: Vec<InitStep>,
}

/// The kernel namespaces of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Namespaces {
    /// A network namespace of its own; the others are always made.
    pub network: bool,
    /// System V and POSIX queues and memory are the host's.
    #[cfg(feature = "test-switches")]
    #[serde(skip)]
    pub shared_ipc: bool,
}

/// Plans the opening of a run of the user `uid`.
pub fn opening(policy: &Policy, uid: u32, gid: u32) -> Opening {
    let network = policy.network == Network::None;
    let mut steps = vec![InitStep::IdMaps { uid, gid }];
    steps.extend(network.then_some(InitStep::LoopbackUp));
    steps.extend([InitStep::NewRoot, InitStep::NewProc, InitStep::NewDevpts]);
    let namespaces = Namespaces {
        network,
        #[cfg(feature = "test-switches")]
        shared_ipc: false,
    };
    Opening { namespaces, steps }
}

/// Returns whether a run can be opened before it is planned: a control group must be there first.
pub fn opens_early(policy: &Policy) -> bool {
    policy.limits.memory_bytes.is_none() && policy.limits.pids.is_none()
}
