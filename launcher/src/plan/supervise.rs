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
    let die_with_parent = request.die_with_parent;
    let network = network::served(network);
    let (renew, guards) = (std::mem::take(&mut view.renew), std::mem::take(&mut view.guards));
    SupervisePlan { limits: policy.limits.clone(), renew, guards, die_with_parent, network }
}
