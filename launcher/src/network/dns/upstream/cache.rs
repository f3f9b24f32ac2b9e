//! What was found, for as long as it is believed.

use std::collections::HashMap;
use std::time::Instant;

use super::Outcome;

/// The most names. Each has at most 32 addresses, so that all of it stays below 4 MiB.
const NAMES_MAX: usize = 4096;

/// Names and what was found of them.
#[derive(Debug, Default)]
pub(super) struct Cache {
    found: HashMap<String, (Outcome, Instant)>,
}

impl Cache {
    /// Returns what is still believed of a name.
    pub(super) fn find(&self, name: &str, now: Instant) -> Option<Outcome> {
        let (outcome, until) = self.found.get(name)?;
        (now < *until).then(|| outcome.clone())
    }

    /// Remembers what was found, in the place of what would be forgotten next if there is none.
    pub(super) fn keep(&mut self, name: String, outcome: Outcome, until: Instant, now: Instant) {
        if self.found.len() >= NAMES_MAX && !self.found.contains_key(&name) {
            self.make_room(now);
        }
        self.found.insert(name, (outcome, until));
    }

    fn make_room(&mut self, now: Instant) {
        self.found.retain(|_, (_, until)| now < *until);
        if self.found.len() >= NAMES_MAX {
            let first = self.found.iter().min_by_key(|(_, (_, until))| *until);
            let first = first.map(|(name, _)| name.clone());
            first.and_then(|name| self.found.remove(&name));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_expired_is_not_believed() {
        let now = Instant::now();
        let mut cache = Cache::default();
        let until = now + Duration::from_secs(2);
        cache.keep("a.test".to_owned(), Outcome::NoAddress, until, now);
        assert_eq!(cache.find("a.test", now), Some(Outcome::NoAddress));
        assert_eq!(cache.find("a.test", until), None);
        assert_eq!(cache.find("b.test", now), None);
    }

    #[test]
    fn a_full_cache_forgets_what_expires_first() {
        let now = Instant::now();
        let mut cache = Cache::default();
        let second = Duration::from_secs(1);
        for number in 0..2 * NAMES_MAX {
            let until = now + second * u32::try_from(number + 1).unwrap();
            cache.keep(format!("{number}.test"), Outcome::NoAddress, until, now);
        }
        assert_eq!(cache.found.len(), NAMES_MAX);
        assert_eq!(cache.find(&format!("{}.test", NAMES_MAX - 1), now), None);
        assert!(cache.find(&format!("{NAMES_MAX}.test"), now).is_some());
        let later = now + second * u32::try_from(3 * NAMES_MAX).unwrap();
        cache.keep("a.test".to_owned(), Outcome::NoAddress, later + second, later);
        assert_eq!(cache.found.len(), 1);
    }
}
