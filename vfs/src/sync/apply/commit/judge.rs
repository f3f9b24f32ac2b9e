//! Looking what of a batch is done, of one that is given up. The stage tells it, as in a resume.

use std::os::fd::AsFd;
use std::path::Path;

use super::{Carrier, Outcome};
use crate::fs::{Errno, Fs, Kind, Result};
use crate::sync::apply::workplace::{Workplace, name};
use crate::sync::collect::io;
use crate::sync::journal::{Act, Batch, Direction, Step};
use crate::sync::{Conflict, Seen, SyncError};

/// What a step is that is not done, and will not be.
pub(in crate::sync) const GIVEN_UP: Outcome = Outcome::Failed(Errno::CANCELED);

/// Says of each step of a batch whether it is done, and does none.
pub(in crate::sync) fn judge(
    fs: &dyn Fs,
    workplaces: &mut [Workplace<'_>],
    batch: &Batch,
) -> std::result::Result<Vec<Vec<Outcome>>, SyncError> {
    let mut all = Vec::new();
    for (workplace, part) in workplaces.iter_mut().zip(&batch.mounts) {
        let mut carrier = Carrier::new(fs, workplace, part, (batch.direction, true));
        let outcomes = part.steps.iter().map(|step| {
            let outcome = carrier.judge(step).map_err(io("look at", &step.path))?;
            let is_directory = step.node == Kind::Directory && step.act != Act::Amend;
            if outcome != Outcome::Done && is_directory {
                carrier.lost.insert(step.path.clone());
            }
            Ok(outcome)
        });
        let outcomes = outcomes.collect::<std::result::Result<Vec<_>, SyncError>>();
        let closed = workplace.close(fs);
        all.push(outcomes?);
        closed.map_err(io("close", Path::new("")))?;
    }
    Ok(all)
}

impl Carrier<'_, '_> {
    fn judge(&mut self, step: &Step) -> Result<Outcome> {
        let is_apply = self.direction == Direction::Apply;
        let is_lost = |above: &Path| self.lost.contains(above);
        if is_apply && step.path.parent().is_some_and(is_lost) {
            return Ok(Outcome::Lost(Conflict::Ancestor));
        }
        if is_apply && let Some(outcome) = Self::decided(step) {
            return Ok(outcome);
        }
        match step.act {
            Act::Amend => Ok(self.judge_amend(step)),
            _ if self.lacks_its_stage(step)? => self.without_stage(step),
            Act::Put | Act::Swap if self.is_staged(step)? => Ok(GIVEN_UP),
            Act::Put => Ok(Outcome::Done),
            Act::Swap | Act::Take if !self.is_taken(&name(step.number))? => Ok(GIVEN_UP),
            Act::Swap | Act::Take if self.is_expected(step)? => Ok(Outcome::Done),
            Act::Swap | Act::Take => Ok(Outcome::Kept(Conflict::Changed)),
        }
    }

    /// Of attributes the entry itself tells; one that can't be looked at has none set.
    pub(super) fn judge_amend(&mut self, step: &Step) -> Outcome {
        let found = self.workplace.root.above(&step.path);
        let found = found.and_then(|(dir, leaf)| self.fs.node(dir.as_fd(), leaf));
        let is_set = found.is_ok_and(|node| {
            let seen = Seen::from(&node);
            step.new.is_some_and(|on| seen.is_same_inode(&on))
                && step.after.mode.is_none_or(|mode| mode == seen.mode)
                && step.after.modified.is_none_or(|modified| modified == seen.modified)
        });
        if is_set { Outcome::Done } else { Outcome::Skipped }
    }
}
