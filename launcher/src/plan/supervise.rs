//! What the supervisor does while the command runs.

use endow_policy::{Network, Policy};

use super::host::ExecRequest;
use super::network;
use super::step::{Renew, SupervisePlan};

/// Plans the supervisor's own duties.
pub(super) fn plan(
    policy: &Policy,
    network: Network,
    request: &ExecRequest,
    renew: Vec<Renew>,
) -> SupervisePlan {
    let die_with_parent = request.die_with_parent;
    let network = network::served(network);
    SupervisePlan { limits: policy.limits.clone(), renew, die_with_parent, network }
}
