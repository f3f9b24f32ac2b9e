//! What would show a path that no mount shows.

use std::path::Path;

use endow_policy::{GuestPath, PatternSet};

use super::Operation;
use super::answer::Layer;
use super::node::Missing;
use super::tell::{Outcome, Questions, quoted};

impl Questions<'_> {
    /// Returns the place that the remedy of an answer would grant, if it would grant one.
    pub fn to_grant(&self, path: &Path, operation: Operation) -> Option<GuestPath> {
        let outcome = self.outcome(path, operation);
        let layer = outcome.refusals.first().map(|(_, layer)| *layer);
        let is_missing = layer == Some(Layer::View);
        let is_closed = layer == Some(Layer::Landlock) && self.is_ungranted(&outcome);
        self.granted(&outcome).filter(|_| is_missing || is_closed).cloned()
    }

    /// The flag that grants it.
    pub(super) fn grant(&self, outcome: &Outcome, operation: Operation) -> Option<String> {
        let flag = match operation {
            Operation::Write => "--rw",
            Operation::Connect => "--socket",
            Operation::Read | Operation::Execute => "--ro",
        };
        self.granted(outcome).map(|at| format!("{flag} {}", quoted(at)))
    }

    /// The first directory that is missing, or the path itself where a pattern would hide it in that.
    fn granted<'o>(&self, outcome: &'o Outcome) -> Option<&'o GuestPath> {
        if outcome.why == Some(Missing::NotThere) {
            return None;
        }
        let hidden = outcome.wanted.as_ref().filter(|at| self.would_hide(&outcome.at, at));
        Some(hidden.unwrap_or(&outcome.at)).filter(|at| self.host_has(at))
    }

    /// Whether a mount of this directory would hide a path below it.
    fn would_hide(&self, mount: &GuestPath, at: &GuestPath) -> bool {
        let deny = PatternSet::new(&self.policy.deny).ok();
        let below = at.below(mount);
        deny.zip(below).is_some_and(|(deny, below)| deny.below(mount.as_path()).hides(below))
    }
}
