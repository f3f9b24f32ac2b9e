//! How long nobody is asked about a key after a no: a command that asks again and again is not to wear the
//! user down.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::key::PublicKey;

/// How long after the first no, and after many of them.
const SHORTEST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_mins(1);

/// The keys that were refused last. There are as many as the agent has.
#[derive(Debug, Default)]
pub(crate) struct Quiet(BTreeMap<PublicKey, Pause>);

#[derive(Clone, Copy, Debug)]
struct Pause {
    length: Duration,
    until: Instant,
}

impl Quiet {
    /// Returns whether nobody is asked about a key.
    pub(crate) fn lasts(&self, key: &PublicKey, now: Instant) -> bool {
        self.0.get(key).is_some_and(|pause| now < pause.until)
    }

    /// Hears an answer. Each further no doubles the time, until there is a yes or a while without one.
    pub(crate) fn hear(&mut self, key: &PublicKey, is_yes: bool, now: Instant) {
        let last = self.0.remove(key).filter(|last| now < last.until + LONGEST);
        if !is_yes {
            let length = last.map_or(SHORTEST, |last| LONGEST.min(2 * last.length));
            self.0.insert(key.clone(), Pause { length, until: now + length });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn time_after_a_no_doubles_until_a_yes() {
        let [key, other] =
            [1, 2].map(|number| PublicKey::of(&testing::key(number)).expect("a key"));
        let (mut quiet, mut now) = (Quiet::default(), Instant::now());
        assert!(!quiet.lasts(&key, now));
        for seconds in [2, 4, 8, 16, 32, 60, 60] {
            quiet.hear(&key, false, now);
            assert!(
                quiet.lasts(&key, now + Duration::from_millis(1000 * seconds - 1)),
                "{seconds}"
            );
            now += Duration::from_secs(seconds);
            assert!(!quiet.lasts(&key, now) && !quiet.lasts(&other, now), "{seconds}");
        }
        quiet.hear(&key, true, now);
        assert!(!quiet.lasts(&key, now));
        quiet.hear(&key, false, now);
        assert!(!quiet.lasts(&key, now + SHORTEST));
        // A while ago is forgotten.
        quiet.hear(&key, false, now + SHORTEST);
        now += 4 * LONGEST;
        quiet.hear(&key, false, now);
        assert!(!quiet.lasts(&key, now + SHORTEST));
    }
}
