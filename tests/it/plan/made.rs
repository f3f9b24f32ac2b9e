//! What is planned for every case on every host, once for all tests.

use std::sync::{Arc, LazyLock};

use endow::plan::host::HostFacts;
use endow::plan::{Plan, PlanError};
use endow_policy::Policy;

use super::cases::{CASES, Case, request};
use super::hosts::{HOSTS, Host};

/// A case on a host.
pub(super) struct Made {
    pub(super) case: &'static Case,
    pub(super) host: &'static Host,
    pub(super) policy: Arc<Policy>,
    pub(super) facts: HostFacts,
    pub(super) plan: Result<Plan, PlanError>,
}

impl Made {
    /// Names both.
    pub(super) fn name(&self) -> String {
        format!("{} on {}", self.case.name, self.host.name)
    }
}

/// Returns those of one case after those of another, each on the hosts in their order.
pub(super) fn made() -> &'static [Made] {
    static ALL: LazyLock<Vec<Made>> = LazyLock::new(|| CASES.iter().flat_map(on_hosts).collect());
    &ALL
}

fn on_hosts(case: &'static Case) -> impl Iterator<Item = Made> {
    let policy = Arc::new(case.policy());
    HOSTS.iter().map(move |host| {
        let facts = host.facts(&policy);
        let plan = endow::plan::plan(&policy, &facts, &request());
        Made { case, host, policy: Arc::clone(&policy), facts, plan }
    })
}
