//! Steps of a batch that goes on, of which nothing is in the stage any more: they are done, or were cleared since they
//! could not be, or somebody took the stage from the tree, with `git clean -fdx` for instance. What stands in the tree tells
//! which, and the copies in the run's directory are the originals.

use std::os::fd::AsFd;

use super::{Carrier, GIVEN_UP, Outcome};
use crate::fs::{Errno, Result};
use crate::sync::apply::workplace::name;
use crate::sync::journal::{Act, Direction, Step};
use crate::sync::{Conflict, Seen};

impl Carrier<'_, '_> {
    /// Returns whether the stage has nothing of a step, and should have. What is to be taken away is not there before.
    pub(super) fn lacks_its_stage(&self, step: &Step) -> Result<bool> {
        let should_have = self.is_again && (step.act != Act::Take || self.is_stage_new);
        Ok(should_have && !self.is_taken(&name(step.number))?)
    }

    /// Says what became of a step of which nothing can be done any more.
    pub(super) fn without_stage(&mut self, step: &Step) -> Result<Outcome> {
        let found = match self.standing(step) {
            // A later step closed its directory.
            Err(Errno::ACCESS) if self.direction == Direction::Apply => return Ok(Outcome::Done),
            result => result?,
        };
        let is = |wanted: Option<Seen>| {
            wanted.is_some_and(|wanted| found.is_some_and(|found| found.is_same_inode(&wanted)))
        };
        Ok(match step.act {
            Act::Put | Act::Swap if is(step.new) => Outcome::Done,
            Act::Take if found.is_none() => Outcome::Done,
            Act::Put | Act::Amend => GIVEN_UP,
            Act::Swap | Act::Take if is(step.old) => GIVEN_UP,
            Act::Swap | Act::Take => Outcome::Kept(Conflict::Changed),
        })
    }

    fn standing(&mut self, step: &Step) -> Result<Option<Seen>> {
        let found = self.workplace.root.above(&step.path);
        match found.and_then(|(dir, leaf)| self.fs.node(dir.as_fd(), leaf)) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => Ok(None),
            result => result.map(|node| Some(Seen::from(&node))),
        }
    }
}
