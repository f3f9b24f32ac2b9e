//! Controls: the sweep notices a layer that is not there.

use super::kinds;
use super::outcome::Outcome;
use super::sweep::Sweep;

fn is_noticed(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Wrong(_))
}

/// A kernel that says yes and does nothing: each of these calls is a layer by itself, or a mount of
/// which some part is seen.
#[test]
fn calls_that_only_say_that_they_were_made_are_noticed() {
    let sweep = Sweep::of(kinds::DEFAULT);
    for name in ["landlock_restrict_self", "capset", "keyctl"] {
        let outcomes = sweep.pretending(name);
        assert!(!outcomes.is_empty() && outcomes.iter().all(is_noticed), "{name}: {outcomes:?}");
    }
    let outcomes = sweep.pretending("mount_setattr");
    assert!(outcomes.iter().all(is_noticed), "{outcomes:?}");
}

#[cfg(feature = "switch-tests")]
mod layers {
    use super::*;

    #[test]
    fn taken_away_are_noticed() {
        let sweep = Sweep::of(kinds::HIDDEN);
        for layer in [
            "mount-flags",
            "mounts",
            "hidden",
            "proc-covers",
            "userns-count",
            "network-namespace",
            "ipc-namespace",
            "capabilities",
            "landlock",
            "not-dumpable",
            "seccomp",
        ] {
            let outcome = sweep.with(&["--test-without", layer]);
            assert!(is_noticed(&outcome), "{layer}: {outcome:?}");
        }
    }
}
