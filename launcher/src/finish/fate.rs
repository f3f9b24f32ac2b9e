//! What becomes of a run's changes: decided by how it ended.

use endow_policy::SyncMode;

use crate::supervise::{Ended, Outcome};

/// What becomes of a run's changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// They are dropped.
    Drop,
    /// They wait for the user.
    Keep,
    /// They are written back.
    WriteBack,
}

/// Decides. Whatever ended the command, `apply` leaves what the bare command would have left;
/// a user who gave the run up, a layer that is full, and descriptors that were lost leave the decision open.
pub(crate) fn fate(mode: SyncMode, ended: &Ended) -> Fate {
    match (mode, ended.outcome) {
        (SyncMode::Discard, _) | (_, Outcome::SetupFailed(_)) => Fate::Drop,
        _ if ended.given_up => Fate::Keep,
        (SyncMode::Review, _) | (_, Outcome::LayerFull | Outcome::Short) => Fate::Keep,
        (SyncMode::Apply, _) | (SyncMode::ApplyOk, Outcome::Exited(0)) => Fate::WriteBack,
        (SyncMode::ApplyOk, _) => Fate::Keep,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::{Stage, StepFailure};
    use crate::supervise::Counted;

    fn ended(outcome: Outcome) -> Ended {
        let counted = Counted::Layers;
        Ended { outcome, leftovers: 0, usage: None, given_up: false, no_keyring: false, counted }
    }

    #[test]
    fn fate_follows_mode_and_end() {
        use Fate::{Drop, Keep, WriteBack};
        let failure = StepFailure { stage: Stage::Exec, step: 0, detail: 0, errno: 2 };
        let rows = [
            (Outcome::Exited(0), [WriteBack, WriteBack, Keep, Drop]),
            (Outcome::Exited(1), [WriteBack, Keep, Keep, Drop]),
            (Outcome::Signaled(9), [WriteBack, Keep, Keep, Drop]),
            (Outcome::TimedOut, [WriteBack, Keep, Keep, Drop]),
            (Outcome::Lost, [WriteBack, Keep, Keep, Drop]),
            (Outcome::OutOfMemory, [WriteBack, Keep, Keep, Drop]),
            (Outcome::LayerFull, [Keep, Keep, Keep, Drop]),
            (Outcome::Short, [Keep, Keep, Keep, Drop]),
            (Outcome::SetupFailed(failure), [Drop, Drop, Drop, Drop]),
        ];
        for (outcome, expected) in rows {
            for (mode, expected) in SyncMode::ALL.iter().zip(expected) {
                assert_eq!(fate(*mode, &ended(outcome)), expected, "{outcome:?} {mode:?}");
            }
        }
        let given_up = Ended { given_up: true, ..ended(Outcome::Signaled(9)) };
        assert_eq!(fate(SyncMode::Apply, &given_up), Keep);
        assert_eq!(fate(SyncMode::Discard, &given_up), Drop);
    }
}
