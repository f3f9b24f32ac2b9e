//! Names that wait until fewer lookups are under way.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::LookupId;
use crate::network::dns::name::Name;

/// The most names that wait.
pub(super) const QUEUED_MAX: usize = 1024;

/// How long one waits: who asked has given up by then.
const PATIENCE: Duration = Duration::from_secs(30);

/// A name that waits.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) id: LookupId,
    pub(super) name: String,
    pub(super) wire: Name,
    until: Instant,
}

/// All of them, each once, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Queue(VecDeque<Queued>);

impl Queue {
    /// Lets a name wait. Returns whether there was room.
    pub(super) fn add(&mut self, id: LookupId, name: String, wire: Name, now: Instant) -> bool {
        let has_room = self.0.len() < QUEUED_MAX;
        if has_room {
            self.0.push_back(Queued { id, name, wire, until: now + PATIENCE });
        }
        has_room
    }

    /// Returns which lookup a name waits for.
    pub(super) fn find(&self, name: &str) -> Option<LookupId> {
        self.0.iter().find(|queued| queued.name == name).map(|queued| queued.id)
    }

    /// Takes the name that waited for longest.
    pub(super) fn take(&mut self) -> Option<Queued> {
        self.0.pop_front()
    }

    /// Takes the names that waited for too long.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<Queued> {
        let late = self.0.iter().take_while(|queued| queued.until <= now).count();
        self.0.drain(..late).collect()
    }

    /// Returns when the first has waited for too long.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.front().map(|queued| queued.until)
    }
}
