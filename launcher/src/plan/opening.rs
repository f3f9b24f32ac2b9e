//! What follows from the policy alone: the kernel makes it while the host is still being asked.

use endow_policy::{Ids, Level, Network, NetworkMode, Policy, ProcessRules};
use serde::{Deserialize, Serialize};

use super::step::InitStep;
use super::{network, registries, secrets};

/// The namespaces, and what is done in them before the view is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Opening {
    /// The namespaces that are made; `None` at level `landlock`.
    pub namespaces: Option<Namespaces>,
    /// The first steps of pid 1.
    #[serde(rename = "opening")]
    pub steps: Vec<InitStep>,
}

/// The kernel namespaces of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespaces {
    /// A network namespace of its own; the others are always made.
    pub network: bool,
    /// System V and POSIX queues and memory are the host's.
    #[cfg(feature = "test-switches")]
    #[serde(skip)]
    pub shared_ipc: bool,
}

impl Namespaces {
    /// Returns whether a network namespace is missing to those that are wanted; `None` when there is too much.
    pub(crate) fn network_for(self, wanted: Self) -> Option<bool> {
        let mut given = self;
        given.network = wanted.network;
        let is_more = given == wanted && wanted.network >= self.network;
        is_more.then_some(wanted.network != self.network)
    }
}

/// Plans the beginning of the opening that most runs have, before anything of them is known: whatever their network is.
pub fn first(own: Ids) -> Opening {
    let rules = Network { mode: NetworkMode::Host, ..Network::default() };
    opening(&rules, &ProcessRules::default(), own)
}

/// Plans the opening of a run of a user with these numbers.
pub fn opening(rules: &Network, process: &ProcessRules, own: Ids) -> Opening {
    let apart = rules.mode != NetworkMode::Host;
    let inside = process.ids.filter(|ids| *ids != own);
    let mut steps = vec![InitStep::IdMaps { uid: own.uid, gid: own.gid, inside }];
    steps.extend([InitStep::NewRoot, InitStep::NewProc, InitStep::NewDevpts]);
    if apart {
        steps.push(InitStep::LoopbackUp);
        steps.extend(network::opening(rules));
    }
    let namespaces = Namespaces {
        network: apart,
        #[cfg(feature = "test-switches")]
        shared_ipc: false,
    };
    Opening { namespaces: Some(namespaces), steps }
}

impl Opening {
    /// Nothing is made: the run stays among the host's processes and files.
    pub(super) fn in_place() -> Self {
        Self { namespaces: None, steps: Vec::new() }
    }
}

/// Returns whether a run can be opened before it is planned: a control group must be there first,
/// so must be what tools say of registries and what is read from descriptors, and at level `landlock` there is nothing to open.
pub fn opens_early(policy: &Policy) -> bool {
    let limits = &policy.limits;
    let grouped = limits.memory_bytes.is_some() || limits.pids.is_some();
    let asks = registries::asked(&policy.network).next().is_some();
    let handed = secrets::are_handed(policy);
    !grouped && !asks && !handed && policy.require.level != Level::Landlock
}
