//! What may not be the run's: something changed there after its end.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::sync::journal::{Act, Ledger};

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// It stays.
    Stays,
    /// It is taken back as all else.
    Goes,
}

/// What of it stays in one mount.
#[derive(Debug, Default)]
pub(super) struct Doubtful {
    /// What is gone, with all that was in it.
    gone: HashSet<PathBuf>,
    /// Directories that have other bits.
    amended: HashSet<PathBuf>,
}

impl Doubtful {
    pub(super) fn of(ledger: &Ledger, mount: u32, doubt: Doubt) -> Self {
        let mut doubtful = Self::default();
        let steps = ledger.steps(mount).filter(|step| step.in_doubt && step.change.is_some());
        for step in steps.filter(|_| doubt == Doubt::Stays) {
            let is_gone = step.act == Act::Take;
            let paths = if is_gone { &mut doubtful.gone } else { &mut doubtful.amended };
            paths.insert(step.path.clone());
        }
        doubtful
    }

    pub(super) fn has(&self, path: &Path) -> bool {
        self.amended.contains(path) || path.ancestors().any(|above| self.gone.contains(above))
    }

    /// Returns those that are chosen, sorted.
    pub(super) fn among(&self, chosen: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
        let all = self.gone.iter().chain(&self.amended).filter(|path| chosen(path));
        let mut all: Vec<PathBuf> = all.cloned().collect();
        all.sort();
        all
    }
}
