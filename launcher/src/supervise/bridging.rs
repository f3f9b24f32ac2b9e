//! The bridges of a run, whose process is told where this machine is.

use std::os::fd::{BorrowedFd, OwnedFd};

use endow_policy::{BridgeNews, Nearby};

use crate::adapters::{Asked, Bridges, End};
use crate::network::nearby::Surroundings;

/// The process that serves bridges, and what it knows.
#[derive(Debug)]
pub(crate) struct Bridging {
    bridges: Bridges,
    surroundings: Option<Surroundings>,
    known: Nearby,
}

impl Bridging {
    /// Takes the process, with what it was told of its surroundings. Without these it is told no more.
    pub(crate) fn new(bridges: Bridges, surroundings: Option<Surroundings>, known: Nearby) -> Self {
        Self { bridges, surroundings, known }
    }

    /// Returns what tells that the process has ended.
    pub(super) fn end(&self) -> Option<End> {
        self.bridges.end()
    }

    /// Returns what becomes readable when there is something to do.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let near = self.surroundings.as_ref().map(Surroundings::descriptor);
        self.bridges.descriptor().into_iter().chain(near)
    }

    /// Tells the process what is near now, before it hears of more requests; returns what was asked for.
    pub(super) fn look(&mut self) -> Vec<(BridgeNews, Option<OwnedFd>)> {
        if let Some(now) = self.surroundings.as_mut().map(Surroundings::now)
            && *now != self.known
            && self.bridges.surround(now).is_ok()
        {
            self.known = now.clone();
        }
        self.bridges.news()
    }

    /// Ends the process, and returns what was asked for; tells what of it came last.
    pub(super) fn finish(self, told: &mut dyn FnMut(BridgeNews)) -> Asked {
        self.bridges.finish(told)
    }
}
