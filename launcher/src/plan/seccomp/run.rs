//! Runs of neighbouring call numbers that are treated alike.

use std::collections::BTreeMap;

use super::leaf::Leaf;

/// The numbers from `first` to the next run's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) first: u32,
    pub(super) leaf: Leaf,
}

/// Returns the runs that cover all numbers; `unknown` is for those without a leaf.
pub(super) fn runs(leaves: &BTreeMap<u32, Leaf>, unknown: Leaf) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut next = 0;
    for (&number, &leaf) in leaves {
        if number > next {
            extend(&mut runs, Run { first: next, leaf: unknown });
        }
        extend(&mut runs, Run { first: number, leaf });
        next = number + 1;
    }
    extend(&mut runs, Run { first: next, leaf: unknown });
    runs
}

fn extend(runs: &mut Vec<Run>, run: Run) {
    if runs.last().is_none_or(|last| last.leaf != run.leaf) {
        runs.push(run);
    }
}
