//! The processes of endow's own beside a run: none may end before it.

use std::os::fd::{BorrowedFd, OwnedFd};

use endow_policy::BridgeNews;

use super::bridging::Bridging;
use crate::adapters::{Asked, End, Helper};

/// The process that serves bridges, and what tells of the end of each process beside.
#[derive(Debug, Default)]
pub(crate) struct Adapters {
    bridges: Option<Bridging>,
    ends: Vec<End>,
}

impl Adapters {
    /// Hears what is asked for over bridges, and of ends.
    pub(crate) fn new(bridges: Option<Bridging>, mut ends: Vec<End>) -> Self {
        ends.extend(bridges.as_ref().and_then(Bridging::end));
        Self { bridges, ends }
    }

    /// Returns what becomes readable when there is something to do.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let bridges = self.bridges.iter().flat_map(Bridging::descriptors);
        bridges.chain(self.ends.iter().map(End::descriptor))
    }

    /// Returns the processes that have ended since this was asked last.
    pub(super) fn lost(&mut self) -> impl Iterator<Item = Helper> {
        self.ends.extract_if(.., |end| end.has_come()).map(|end| end.of)
    }

    /// Returns what was asked for over bridges since this was asked last.
    pub(super) fn look(&mut self) -> Vec<(BridgeNews, Option<OwnedFd>)> {
        self.bridges.iter_mut().flat_map(Bridging::look).collect()
    }

    /// Ends the process that serves bridges, and returns what was asked for over them, when any were open; tells what
    /// of it came last.
    pub(super) fn finish(self, told: &mut dyn FnMut(BridgeNews)) -> Option<Asked> {
        self.bridges.map(|bridges| bridges.finish(told))
    }
}
