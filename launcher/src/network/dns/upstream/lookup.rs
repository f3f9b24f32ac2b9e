//! A lookup: both families of one name at once.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::config::ResolverConfig;
use super::half::{Ended, Half};
use super::sent::Family;
use super::watched::Watch;
use super::{FAILED_SECONDS, LookupId, NOTHING_SECONDS, Outcome};
use crate::network::dns::name::Name;

/// How long a lookup may take in all, aliases and slow servers included.
const LOOKUP: Duration = Duration::from_secs(30);

/// How long the other family is waited for when one has addresses: some servers never answer when
/// they are asked for IPv6.
const OTHER_FAMILY: Duration = Duration::from_millis(300);

/// With what a step of a lookup is made.
pub(super) struct Step<'a> {
    pub(super) config: &'a ResolverConfig,
    pub(super) watch: &'a Watch,
    pub(super) now: Instant,
}

/// One name.
#[derive(Debug)]
pub(super) struct Lookup {
    id: LookupId,
    name: String,
    halves: [Half; 2],
    until: Instant,
    /// It asks servers of another network.
    is_outdated: bool,
}

impl Lookup {
    /// Asks for both families.
    pub(super) fn start(
        id: LookupId,
        (name, wire): (String, &Name),
        first: usize,
        step: &Step<'_>,
    ) -> Self {
        let halves =
            [Family::V4, Family::V6].map(|family| Half::start(family, wire.clone(), first, step));
        Self { id, name, halves, until: step.now + LOOKUP, is_outdated: false }
    }

    /// Looks at the socket of this token, if it is one of this lookup.
    pub(super) fn ready(&mut self, token: u64, step: &Step<'_>) {
        self.halves.iter_mut().for_each(|half| half.ready(token, step));
        if self.halves.iter().any(|half| matches!(half.ended(), Some(Ended::Addresses { .. }))) {
            self.until = self.until.min(step.now + OTHER_FAMILY);
        }
    }

    /// Goes on from servers that took too long, or ends what did in all.
    pub(super) fn expire(&mut self, step: &Step<'_>) {
        if self.until <= step.now {
            return self.halves.iter_mut().for_each(Half::give_up);
        }
        self.halves.iter_mut().for_each(|half| half.expire(step));
    }

    /// Hears that names are looked up in another way by now.
    pub(super) fn outdate(&mut self) {
        self.is_outdated = true;
    }

    /// Whether what it finds is only for those who wait for it.
    pub(super) fn is_outdated(&self) -> bool {
        self.is_outdated
    }

    pub(super) fn id(&self) -> LookupId {
        self.id
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn into_name(self) -> String {
        self.name
    }

    /// Returns when something is over; `None` when all is.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let first = self.halves.iter().filter_map(Half::deadline).min();
        first.map(|first| first.min(self.until))
    }

    /// Returns what was found and how long to believe it; `None` while a server is asked.
    pub(super) fn outcome(&self, now: Instant) -> Option<(Outcome, Instant)> {
        let [v4, v6] = &self.halves;
        Some(join([v4.ended()?, v6.ended()?], now))
    }
}

/// What two halves say together.
fn join(ended: [&Ended; 2], now: Instant) -> (Outcome, Instant) {
    let after = |seconds: u32| now + Duration::from_secs(seconds.into());
    let failure = ended.iter().find_map(|ended| match ended {
        Ended::Failed(failure) => Some(*failure),
        _ => None,
    });
    if let Some((addresses, seconds)) = addresses(ended) {
        let most = if failure.is_some() { NOTHING_SECONDS } else { seconds };
        let expires = after(seconds.min(most));
        return (Outcome::Addresses { addresses, expires }, expires);
    }
    let denied = ended.iter().filter(|ended| matches!(ended, Ended::NoSuchName)).count();
    match (denied, failure) {
        (2, _) | (1, Some(_)) => (Outcome::NoSuchName, after(NOTHING_SECONDS)),
        (_, Some(failure)) => (Outcome::Failed(failure), after(FAILED_SECONDS)),
        (_, None) => (Outcome::NoAddress, after(NOTHING_SECONDS)),
    }
}

fn addresses(ended: [&Ended; 2]) -> Option<(Vec<IpAddr>, u32)> {
    let found = || {
        ended.into_iter().filter_map(|ended| match ended {
            Ended::Addresses { addresses, seconds } => Some((addresses, *seconds)),
            _ => None,
        })
    };
    let seconds = found().map(|(_, seconds)| seconds).min()?;
    Some((found().flat_map(|(addresses, _)| addresses.iter().copied()).collect(), seconds))
}

#[cfg(test)]
mod tests {
    use super::super::Failure;
    use super::*;

    /// Joins two halves, in both orders: what came, and for how many seconds.
    fn check(v4: &Ended, v6: &Ended, expected: &Outcome, seconds: u64) {
        let now = Instant::now();
        for ended in [[v4, v6], [v6, v4]] {
            let (outcome, until) = join(ended, now);
            assert_eq!(until, now + Duration::from_secs(seconds), "{ended:?}");
            match (&outcome, expected) {
                (
                    Outcome::Addresses { addresses, expires },
                    Outcome::Addresses { addresses: expected, .. },
                ) => assert_eq!((addresses, *expires), (expected, until)),
                _ => assert_eq!(outcome, *expected),
            }
        }
    }

    #[test]
    fn halves_that_disagree_are_joined() {
        let address: IpAddr = [192, 0, 2, 1].into();
        let some = Ended::Addresses { addresses: vec![address], seconds: 60 };
        let failed = Ended::Failed(Failure::Server);
        let found = Outcome::Addresses { addresses: vec![address], expires: Instant::now() };
        check(&some, &Ended::NoAddress, &found, 60);
        check(&some, &Ended::NoSuchName, &found, 60);
        check(&some, &failed, &found, 10);
        check(&Ended::NoSuchName, &Ended::NoSuchName, &Outcome::NoSuchName, 10);
        check(&Ended::NoSuchName, &Ended::NoAddress, &Outcome::NoAddress, 10);
        check(&Ended::NoSuchName, &failed, &Outcome::NoSuchName, 10);
        check(&Ended::NoAddress, &Ended::NoAddress, &Outcome::NoAddress, 10);
        check(&Ended::NoAddress, &failed, &Outcome::Failed(Failure::Server), 1);
    }

    #[test]
    fn the_shorter_life_counts() {
        let now = Instant::now();
        let [v4, v6] = [[192, 0, 2, 1].into(), IpAddr::from([1; 16])];
        let of = |address: IpAddr, seconds| Ended::Addresses { addresses: vec![address], seconds };
        let (outcome, until) = join([&of(v4, 9), &of(v6, 5)], now);
        let expires = now + Duration::from_secs(5);
        assert_eq!(until, expires);
        assert_eq!(outcome, Outcome::Addresses { addresses: vec![v4, v6], expires });
    }
}
