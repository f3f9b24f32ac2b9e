//! The same policy over throw-away layers: nothing of a run reaches the host.

use crate::resolve::answered_inside;
use crate::{Access, BackendSpec, MountSpec, NetworkMode, Policy, SyncMode};

/// Returns the policy for a run of which nothing but its needs remains. What could be changed on the
/// host is changed in a layer that is dropped. With no network a server inside answers that no host is
/// allowed, so that the hosts that are asked for have names.
#[must_use]
pub fn rehearsal(mut policy: Policy) -> Policy {
    policy.mounts.iter_mut().for_each(throw_away);
    policy.checkpoint = false;
    policy.sync.mode = SyncMode::Discard;
    if policy.network.mode == NetworkMode::None {
        policy.network.mode = NetworkMode::Allow;
        answered_inside(policy.mounts.iter_mut());
    }
    policy
}

fn throw_away(mount: &mut MountSpec) {
    let physical = matches!(mount.backend, BackendSpec::Physical { .. });
    if physical && mount.access != Access::Ro && !mount.options.socket {
        mount.access = Access::Cow;
        mount.options.discard = true;
    }
}
