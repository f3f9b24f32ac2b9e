//! What of live mounts was not searched for protected names when the run ended, or still has them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::exit;
use super::report::{Finished, text};
use crate::plan::Plan;
use crate::supervise::{Missed, Outcome, Why};

impl Missed {
    /// Returns its place in the view.
    pub(crate) fn place(&self, plan: &Plan) -> PathBuf {
        let guard = plan.supervise.guards.get(self.guard);
        let at = guard.map_or(Path::new(""), |guard| guard.at.as_path());
        if self.path.as_os_str().is_empty() { at.to_owned() } else { at.join(&self.path) }
    }
}

/// Returns the exit code: where a protected name is still there it may steer a program outside, so a success is none.
/// What could not be searched is told: it may have been so before the run.
pub(super) fn weigh(run: &Finished, code: ExitCode) -> ExitCode {
    let succeeded = matches!(run.ended.outcome, Outcome::Exited(0));
    let is_short = succeeded && run.missed.iter().any(|it| it.why == Why::Stays);
    if is_short { ExitCode::from(exit::NOT_WRITTEN_BACK) } else { code }
}

/// Returns the report's `missed`.
pub(super) fn list(missed: &[Missed], plan: &Plan) -> Value {
    let one =
        |it: &Missed| json!({"path": text(it.place(plan).as_os_str()), "reason": it.why.word()});
    missed.iter().map(one).collect()
}

/// Returns the report's `unsearched`: mounts of which something was not searched.
pub(super) fn mounts(missed: &[Missed], plan: &Plan) -> Value {
    let unsearched = missed.iter().filter(|it| it.why == Why::Unsearched).map(|it| it.guard);
    let numbers: BTreeSet<usize> = unsearched.collect();
    let guards = numbers.into_iter().filter_map(|number| plan.supervise.guards.get(number));
    guards.map(|it| text(it.at.as_path().as_os_str())).collect()
}
