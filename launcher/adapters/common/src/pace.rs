//! How often something may be done.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A bound on how much is done in a span of time.
#[derive(Debug)]
pub struct Pace {
    most: usize,
    within: Duration,
    past: VecDeque<Instant>,
}

impl Pace {
    /// Allows so much within any such span.
    pub fn new(most: usize, within: Duration) -> Self {
        Self { most, within, past: VecDeque::with_capacity(most) }
    }

    /// Returns whether one more may be done now, and notes that it is.
    pub fn step(&mut self, now: Instant) -> bool {
        while self.past.front().is_some_and(|past| now.duration_since(*past) >= self.within) {
            self.past.pop_front();
        }
        let fits = self.past.len() < self.most;
        if fits {
            self.past.push_back(now);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_done_within_a_span() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut pace = Pace::new(2, 10 * second);
        let steps = [0, 1, 2, 9, 10, 10, 11, 12, 20].map(|at| pace.step(start + at * second));
        assert_eq!(steps, [true, true, false, false, true, false, true, false, true]);
    }
}
