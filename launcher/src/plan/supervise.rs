//! What the supervisor does while the command runs.

use endow_policy::{Network, Policy};

use super::host::ExecRequest;
use super::network;
use super::step::SupervisePlan;
use super::view::ViewPlan;

/// Plans the supervisor's own duties.
pub(super) fn plan(
    policy: &Policy,
    network: Network,
    request: &ExecRequest,
    view: &mut ViewPlan,
) -> SupervisePlan {
    SupervisePlan {
        limits: policy.limits.clone(),
        renew: std::mem::take(&mut view.renew),
        guards: std::mem::take(&mut view.guards),
        die_with_parent: request.die_with_parent,
        interrupt_ends: policy.process.interrupt_ends,
        network: network::served(network),
    }
}
