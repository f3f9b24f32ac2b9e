//! When a supervisor lets go of what only a start needs: as soon as nobody waits for it.

use std::time::{Duration, Instant};

use super::event::Notice;
use crate::sys;

/// When it rests at the latest, where the command's own start is not seen.
const LATEST: Duration = Duration::from_millis(50);

/// A supervisor that is to rest, or has.
#[derive(Debug, Default)]
pub(super) struct Rest {
    is_wanted: bool,
    latest: Option<Instant>,
}

impl Rest {
    /// Returns a rest that is to come.
    pub(super) fn wanted() -> Self {
        Self { is_wanted: true, latest: None }
    }

    /// Hears when the command's process exists. Until it has become the command, it waits for an answer.
    pub(super) fn hear(&mut self, notice: &Notice) {
        if self.is_wanted && matches!(notice, Notice::Started) {
            self.latest = Some(Instant::now() + LATEST);
        }
    }

    /// Returns when it comes by itself.
    pub(super) fn next(&self) -> Option<Instant> {
        self.latest
    }

    /// Comes, when the command has become itself or the time is there. This takes a quarter of a millisecond.
    pub(super) fn come(&mut self, is_command: bool) {
        let is_late = self.latest.is_some_and(|latest| latest <= Instant::now());
        if self.is_wanted && (is_command || is_late) {
            sys::program::let_go();
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_comes_once_and_late_by_itself() {
        let mut rest = Rest::wanted();
        rest.come(false);
        assert!(rest.is_wanted && rest.next().is_none());
        rest.hear(&Notice::Continued);
        assert_eq!(rest.next(), None);
        rest.hear(&Notice::Started);
        rest.come(false);
        assert!(rest.is_wanted && rest.next().is_some());
        std::thread::sleep(LATEST);
        rest.come(false);
        assert!(!rest.is_wanted && rest.next().is_none());
        let mut early = Rest::wanted();
        early.come(true);
        assert!(!early.is_wanted);
        let mut unwanted = Rest::default();
        unwanted.hear(&Notice::Started);
        assert_eq!(unwanted.next(), None);
    }
}
