//! What the supervisor does while the command runs.

use endow_policy::Policy;

use super::step::{Renew, SupervisePlan};

/// Plans the supervisor's own duties.
pub(super) fn plan(policy: &Policy, renew: Vec<Renew>) -> SupervisePlan {
    SupervisePlan { limits: policy.limits.clone(), renew, die_with_parent: policy.process.die_with_parent }
}
