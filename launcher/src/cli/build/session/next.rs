//! Which action of a build is next: those come first whose results somebody has.

use super::Session;
use crate::cli::build::order::Order;
use crate::cli::build::schedule::Schedule;
use crate::cli::error::CommandError;

impl Session<'_> {
    /// Returns what is to be executed next; results that are known are taken from the cache.
    pub(super) fn next(
        &mut self,
        schedule: &mut Schedule<'_>,
    ) -> Result<Option<Order>, CommandError> {
        while let Some(action) = self.next_action(schedule) {
            if let Some(order) = self.begin(action)? {
                return Ok(Some(order));
            }
            schedule.ended(action, self.is_done(action));
        }
        Ok(None)
    }

    /// Begins an action. Those come first whose results were found ahead: what needs them is looked up together
    /// then, and nothing is executed that somebody shares.
    pub(super) fn next_action(&mut self, schedule: &mut Schedule<'_>) -> Option<usize> {
        if self.found.is_empty() {
            self.look_ahead(schedule);
        }
        while let Some(action) = self.found.pop_front() {
            if schedule.begin(action) {
                return Some(action);
            }
        }
        schedule.next()
    }

    /// Looks up together the shared results of the actions that may be next.
    fn look_ahead(&mut self, schedule: &Schedule<'_>) {
        if !self.results.are_shared() {
            return;
        }
        let new = schedule.ready().filter(|number| !self.ahead.contains_key(number));
        // One that can't be named fails when it is its turn.
        let mut new: Vec<_> = new.filter_map(|it| Some((it, self.ready(it).ok()?))).collect();
        let unknown = new.iter_mut().filter(|(_, ready)| ready.known.is_none());
        let asked = unknown.filter_map(|(number, ready)| {
            let (_, digest) = ready.named.as_ref()?;
            Some(((self.action(*number), *digest), &mut ready.known))
        });
        let (asked, places): (Vec<_>, Vec<_>) = asked.unzip();
        for (known, found) in places.into_iter().zip(self.results.find_shared(&asked)) {
            *known = found;
        }
        let found = new.iter().filter(|(_, ready)| ready.known.is_some());
        self.found.extend(found.map(|(number, _)| *number));
        self.ahead.extend(new);
    }
}
