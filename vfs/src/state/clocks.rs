//! Two clocks at the start of a run, by which it is found that one of them was set back.

use serde::{Deserialize, Serialize};

use super::Moment;

/// What a step of the clock may be at most to stay unnoticed: a leap second is one.
const STEP: i128 = 1_000_000_000;

/// What two clocks showed at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// The one that files get their times from.
    pub real: Moment,
    /// The one that nobody sets: since the machine started, its sleep included.
    pub boot: Moment,
    /// The first was found to be set back when the run ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub set_back: bool,
}

impl Clocks {
    /// Returns whether the clock was set back between this time and `now`, as far as that can be
    /// told: one that was set forward again meanwhile is not found.
    #[must_use]
    pub fn was_set_back(&self, now: &Self) -> bool {
        let real = nanoseconds(now.real) - nanoseconds(self.real);
        let boot = nanoseconds(now.boot) - nanoseconds(self.boot);
        // The machine was started since: at least so much has passed.
        let passed = if boot < 0 { nanoseconds(now.boot) } else { boot };
        self.set_back || real + STEP < passed
    }
}

fn nanoseconds(moment: Moment) -> i128 {
    i128::from(moment.seconds) * 1_000_000_000 + i128::from(moment.nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(real: i64, boot: i64) -> Clocks {
        let moment = |seconds| Moment { seconds, nanoseconds: 500_000_000 };
        Clocks { real: moment(real), boot: moment(boot), set_back: false }
    }

    #[test]
    fn step_back_is_found_and_nothing_else() {
        let start = at(1_000_000, 5000);
        for (now, expected) in [
            (at(1_000_000, 5000), false),
            (at(1_000_100, 5100), false),
            // A leap second; a step forward; hours asleep, which both clocks count.
            (at(1_000_099, 5100), false),
            (at(1_003_700, 5100), false),
            (at(1_086_400, 91_400), false),
            (at(1_000_098, 5100), true),
            (at(996_500, 5100), true),
            (at(0, 5001), true),
            // Started again, for longer or shorter than before.
            (at(1_000_100, 40), false),
            (at(1_009_000, 8000), false),
            (at(1_000_010, 40), true),
            (at(0, 40), true),
        ] {
            assert_eq!(start.was_set_back(&now), expected, "{now:?}");
        }
        let known = Clocks { set_back: true, ..start };
        assert!(known.was_set_back(&at(1_000_100, 5100)), "found before");
    }
}
