//! What runs asked for and did not get: kept for each project, and turned into a proposal.

mod lessons;
mod missed;
mod needs;
mod proposed;
mod target;
mod used;

pub(crate) use lessons::{Kept, Lessons};
pub(crate) use missed::Missed;
pub(crate) use proposed::{Proposed, propose};
pub(crate) use used::grants;

use crate::cli::report::Finished;
use crate::network::Log;
use crate::supervise::Observed;

impl Kept {
    /// Returns what is remembered of a run whose paths were observed.
    pub(crate) fn of(run: &Finished, observed: &Observed) -> Self {
        let denials = observed.denials.iter().filter_map(|it| Missed::of_denial(&it.denial));
        let entries = run.ran.connections.iter().flat_map(Log::entries);
        let missed = denials.chain(entries.filter_map(Missed::of_connection)).collect();
        Self { missed, lesson: used::lesson(run, observed) }
    }
}
