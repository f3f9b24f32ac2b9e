//! What was not done in live mounts when the run ended: what was not searched for protected names or still has them, and
//! hidden names that can be seen.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::exit;
use crate::cli::report::{Finished, text};
use crate::plan::Plan;
use crate::supervise::{Back, Missed, Moved, Notice, Outcome, Why};

impl Missed {
    /// Returns its place in the view.
    pub(crate) fn place(&self, plan: &Plan) -> PathBuf {
        let guard = plan.supervise.guards.get(self.guard);
        let at = guard.map_or(Path::new(""), |guard| guard.at.as_path());
        if self.path.as_os_str().is_empty() { at.to_owned() } else { at.join(&self.path) }
    }
}

/// What was not done in live mounts.
#[derive(Debug, Default)]
pub(crate) struct NotDone {
    /// What was not searched for protected names, or still has them.
    missed: Vec<Missed>,
    /// Hidden names that are still where the command has moved them, in the view, and nothing hides them there.
    shown: Vec<PathBuf>,
    /// What made way for hidden names, where it is now: nobody knows whether the command has made it.
    displaced: Vec<PathBuf>,
}

impl NotDone {
    /// Takes note of what is told.
    pub(crate) fn note(&mut self, notice: &Notice) {
        match notice {
            Notice::Missed(missed) => self.missed.push(missed.clone()),
            Notice::Moved(Moved { to, back, .. }) => match back {
                Err(_) => self.shown.push(to.clone()),
                Ok(Back::For(aside)) => self.displaced.push(aside.clone()),
                Ok(Back::Free) => {}
            },
            _ => {}
        }
    }

    /// Returns the report's `missed`.
    pub(crate) fn list(&self, plan: &Plan) -> Value {
        let one = |path: &Path, reason| json!({"path": text(path.as_os_str()), "reason": reason});
        let missed = self.missed.iter().map(|it| one(&it.place(plan), it.why.word()));
        let shown = self.shown.iter().map(|path| one(path, "shown"));
        let displaced = self.displaced.iter().map(|path| one(path, "displaced"));
        missed.chain(shown).chain(displaced).collect()
    }

    /// Returns the report's `unsearched`: mounts of which something was not searched.
    pub(crate) fn mounts(&self, plan: &Plan) -> Value {
        let unsearched = self.missed.iter().filter(|it| it.why == Why::Unsearched);
        let numbers: BTreeSet<usize> = unsearched.map(|it| it.guard).collect();
        let guards = numbers.into_iter().filter_map(|number| plan.supervise.guards.get(number));
        guards.map(|it| text(it.at.as_path().as_os_str())).collect()
    }
}

/// Returns the exit code: where a protected name is still there it may steer a program outside, and what was hidden can be
/// read by the next run, so a success is none. What could not be searched is told: it may have been so before the run.
pub(crate) fn weigh(run: &Finished, code: ExitCode) -> ExitCode {
    let succeeded = matches!(run.ran.ended.outcome, Outcome::Exited(0));
    let NotDone { missed, shown, displaced } = &run.ran.not_done;
    let stays = |it: &Missed| it.why == Why::Stays;
    let is_short = missed.iter().any(stays) || !shown.is_empty() || !displaced.is_empty();
    if succeeded && is_short { ExitCode::from(exit::NOT_WRITTEN_BACK) } else { code }
}
