//! After a move: whether what went is what was expected there, and back with it if not.

use super::{Carrier, Outcome, outcome_of};
use crate::fs::{At, Result};
use crate::sync::apply::workplace::name;
use crate::sync::journal::{Act, Step};
use crate::sync::{Conflict, Seen};

/// It stays with the undo data.
const KEPT: Outcome = Outcome::Kept(Conflict::Changed);

impl Carrier<'_, '_> {
    /// Judges a step whose move is made. From here on no error means that nothing was done.
    pub(super) fn displaced(&mut self, step: &Step) -> Result<Outcome> {
        if self.is_expected(step)? { Ok(Outcome::Done) } else { self.put_back(step) }
    }

    /// Returns whether what was displaced is what was expected there; what nobody can tell of is not.
    pub(super) fn is_expected(&mut self, step: &Step) -> Result<bool> {
        match self.is_displaced(step) {
            Err(errno) if outcome_of(errno).is_some() => Ok(false),
            result => result,
        }
    }

    fn put_back(&mut self, step: &Step) -> Result<Outcome> {
        let (dir, leaf) = match self.parent(step) {
            Err(errno) if outcome_of(errno).is_some() => return Ok(KEPT),
            result => result?,
        };
        let is_back = match step.act {
            Act::Take => self.rename_back(step, dir.at(leaf)),
            _ => self.exchange_back(step, dir.at(leaf)),
        };
        Ok(if is_back { Outcome::Lost(Conflict::Changed) } else { KEPT })
    }

    fn rename_back(&mut self, step: &Step, target: At<'_>) -> bool {
        let fs = self.fs;
        let back = |staged: At<'_>, target: At<'_>| fs.rename_new(staged, target);
        self.moving(step, target, back, &name(step.number)).is_ok()
    }

    fn exchange_back(&mut self, step: &Step, target: At<'_>) -> bool {
        let (fs, number) = (self.fs, name(step.number));
        let exchange = |staged: At<'_>, target: At<'_>| fs.exchange(staged, target);
        if self.moving(step, target, exchange, &number).is_err() {
            return false;
        }
        let back = fs.node(self.workplace.stage(), &number).map(|node| Seen::from(&node));
        // What somebody put there meanwhile is newer than what went.
        back.is_ok_and(|seen| step.has_left(&seen)) || {
            let _ = self.moving(step, target, exchange, &number);
            false
        }
    }
}
