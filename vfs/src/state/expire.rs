//! Which runs have been kept long enough.

use std::time::{Duration, SystemTime};

use super::{RunId, RunState};

/// How much is kept of runs that are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The most runs.
    pub runs: u64,
    /// The longest time since they ended.
    pub age: Duration,
    /// The most bytes of all together.
    pub bytes: u64,
}

/// A run, as far as this decision goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Which run.
    pub id: RunId,
    /// What has become of its changes.
    pub state: RunState,
    /// When it ended.
    pub ended: SystemTime,
    /// What it takes on the disk.
    pub bytes: u64,
}

impl RunState {
    /// Returns whether nothing is lost with a run in this state but the means to undo it.
    pub fn is_settled(self) -> bool {
        match self {
            Self::Applied | Self::Discarded | Self::Undone => true,
            Self::Running | Self::Waiting | Self::Interrupted => false,
        }
    }
}

/// Returns the runs that are beyond a bound, the oldest first; none whose changes are not settled.
pub fn expired(runs: &[Settled], bounds: Bounds, now: SystemTime) -> Vec<RunId> {
    let mut settled: Vec<&Settled> = runs.iter().filter(|run| run.state.is_settled()).collect();
    settled.sort_by(|a, b| (a.ended, &a.id).cmp(&(b.ended, &b.id)));
    // The newest are kept as long as there is room; what is behind the first without is not.
    let (mut count, mut bytes) = (0u64, 0u64);
    let kept = settled.iter().rev().take_while(|run| {
        count += 1;
        bytes = bytes.saturating_add(run.bytes);
        let is_old = now.duration_since(run.ended).is_ok_and(|age| age > bounds.age);
        count <= bounds.runs && bytes <= bounds.bytes && !is_old
    });
    let kept = kept.count();
    settled.truncate(settled.len() - kept);
    settled.into_iter().map(|run| run.id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use proptest::prelude::*;

    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    fn run(day: u32, state: RunState, bytes: u64) -> Settled {
        let ended = UNIX_EPOCH + day * DAY;
        Settled { id: RunId::new(ended, [0; 5]), state, ended, bytes }
    }

    fn days(runs: &[Settled], bounds: Bounds, today: u32) -> Vec<u64> {
        let ids = expired(runs, bounds, UNIX_EPOCH + today * DAY);
        let day = |id: &RunId| id.time().duration_since(UNIX_EPOCH).expect("later").as_secs();
        ids.iter().map(|id| day(id) / DAY.as_secs()).collect()
    }

    #[test]
    fn oldest_go_first_by_each_bound() {
        let bounds = Bounds { runs: 10, age: 100 * DAY, bytes: 1000 };
        let runs: Vec<Settled> = [3, 1, 4, 2].map(|day| run(day, RunState::Applied, 100)).to_vec();
        assert!(days(&runs, bounds, 5).is_empty());
        assert_eq!(days(&runs, Bounds { runs: 2, ..bounds }, 5), [1, 2]);
        assert_eq!(days(&runs, Bounds { runs: 0, ..bounds }, 5), [1, 2, 3, 4]);
        assert_eq!(days(&runs, Bounds { bytes: 399, ..bounds }, 5), [1]);
        assert_eq!(days(&runs, Bounds { age: 2 * DAY, ..bounds }, 5), [1, 2]);
    }

    #[test]
    fn a_clock_that_was_set_back_removes_nothing() {
        let runs = [run(9, RunState::Applied, 1)];
        let bounds = Bounds { runs: 1, age: DAY, bytes: 1 };
        assert!(days(&runs, bounds, 1).is_empty());
    }

    proptest! {
        #[test]
        fn unsettled_changes_always_stay(
            states in proptest::collection::vec(0usize..RunState::ALL.len(), 0..20),
            most in 0u64..5,
        ) {
            let runs: Vec<Settled> =
                states.iter().zip(1u32..).map(|(at, day)| run(day, RunState::ALL[*at], 10)).collect();
            let bounds = Bounds { runs: most, age: DAY * 30, bytes: 35 };
            let gone = expired(&runs, bounds, UNIX_EPOCH + 25 * DAY);
            for run in &runs {
                prop_assert!(run.state.is_settled() || !gone.contains(&run.id));
            }
            let settled = runs.iter().filter(|run| run.state.is_settled()).count();
            let left = u64::try_from(settled - gone.len()).expect("few");
            prop_assert!(left <= most && left * 10 <= 35);
        }
    }
}
