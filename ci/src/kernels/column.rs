//! What became of one kernel: a column of the table.

use std::collections::BTreeMap;

use serde_json::Value;

use super::machine::Machine;
use super::told::Told;
use crate::test::Counts;

/// A kernel, and what was seen on it.
pub(super) struct Column {
    pub(super) name: String,
    /// The package, or that it is the running one.
    pub(super) package: String,
    /// Which endow was tried.
    pub(super) commit: String,
    pub(super) how: String,
    pub(super) release: String,
    pub(super) machines: Vec<Row>,
}

/// What was seen on one kind of machine.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// What `endow doctor` said, each time.
    pub(super) diagnoses: Vec<Value>,
    pub(super) counts: Counts,
}

impl Row {
    /// Reads what a guest told.
    pub(super) fn of(machine: &Machine, told: &Told) -> Self {
        let mut row = Self { name: machine.name, diagnoses: Vec::new(), counts: Counts::default() };
        for job in &told.jobs {
            match serde_json::from_str(&job.lines.join("\n")) {
                Ok(diagnosis) => row.diagnoses.push(diagnosis),
                Err(_) => row.counts += job.counts(),
            }
        }
        row
    }

    /// The levels that `endow doctor` named.
    pub(super) fn levels(&self) -> String {
        let levels = self.diagnoses.iter().map(|it| it["level"].as_str().unwrap_or("none"));
        levels.collect::<Vec<_>>().join(", then ")
    }

    /// How many tests did not run for a reason.
    pub(super) fn skips(&self) -> BTreeMap<&str, usize> {
        let mut skips = BTreeMap::new();
        for reason in self.counts.notes.iter().filter_map(|note| Some(note.split_once(": ")?.1)) {
            *skips.entry(reason).or_default() += 1;
        }
        skips
    }
}
