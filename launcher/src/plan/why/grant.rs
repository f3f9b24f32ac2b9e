//! What would show a path that no mount shows.

use std::path::Path;

use endow_policy::GuestPath;

use super::Operation;
use super::answer::Layer;
use super::entry::EntryKind;
use super::node::Missing;
use super::tell::{Outcome, Questions, quoted};

impl Questions<'_> {
    /// Returns the place that the remedy of an answer would grant, if it would grant one.
    pub fn to_grant(&self, path: &Path, operation: Operation) -> Option<GuestPath> {
        let outcome = self.outcome(path, operation);
        let layer = outcome.refusals.first().map(|(_, layer)| *layer);
        let is_missing = layer == Some(Layer::View);
        let is_closed = layer == Some(Layer::Landlock) && self.is_ungranted(&outcome);
        self.granted(&outcome, operation).filter(|_| is_missing || is_closed)
    }

    /// The flag that grants it.
    pub(super) fn grant(&self, outcome: &Outcome, operation: Operation) -> Option<String> {
        let flag = match operation {
            Operation::Write => "--rw",
            Operation::Connect => "--socket",
            Operation::Read | Operation::Execute => "--ro",
        };
        self.granted(outcome, operation).map(|at| format!("{flag} {}", quoted(&at)))
    }

    /// The path itself, or for a name that is to be made the nearest directory above: of what is missing, that opens
    /// least. What the user may not look at, no grant opens.
    fn granted(&self, outcome: &Outcome, operation: Operation) -> Option<GuestPath> {
        if outcome.why == Some(Missing::NotThere) {
            return None;
        }
        let asked = outcome.wanted.as_ref().unwrap_or(&outcome.at).as_path();
        let missing = asked.ancestors().take_while(|it| it.starts_with(outcome.at.as_path()));
        for at in missing.filter_map(|it| GuestPath::new(it).ok()) {
            match self.tree.look(&at.to_host()) {
                Ok(entry) if at.as_path() == asked || entry.kind == EntryKind::Directory => {
                    return Some(at);
                }
                Err(libc::ENOENT) if operation == Operation::Write => {}
                _ => return None,
            }
        }
        None
    }
}
