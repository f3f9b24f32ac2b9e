//! Deciding what of a run's changes is made: pure.

mod moved;
mod operations;
mod verdicts;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::{
    Attributes, Change, ChangeKind, ChangeSet, HeldPath, LeftOut, OnConflict, Refused, Resolved,
    Rules, Seen, Winner,
};
pub use moved::old_places;
use verdicts::{Verdict, Verdicts};

/// What is done to a tree, in order, and what is not and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncPlan {
    /// The operations: new content parents first, removals deepest first, attributes bottom-up.
    pub operations: Vec<Operation>,
    /// The host's directories that operations name things in.
    pub parents: BTreeMap<PathBuf, Seen>,
    /// The root of the target, where the host did not change it.
    pub root: Option<Seen>,
    /// Conflicts, those included that the run won.
    pub conflicts: Vec<Resolved>,
    /// What can't be written back.
    pub refused: Vec<Refused>,
    /// What waits for a review.
    pub held: Vec<HeldPath>,
    /// What else is not done.
    pub left_out: Vec<LeftOut>,
    /// A new directory comes with all that is in it, by one rename.
    pub whole: bool,
    /// New content is copied, so that what becomes of the layer later, such as its removal, changes
    /// nothing of the tree's files. Somebody who compares their times would take it for a change.
    pub apart: bool,
    /// Directories of the target that are closed to their owner are opened meanwhile.
    pub opens: bool,
}

/// One effect on the target's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Puts new content at a path.
    Place(Place),
    /// Takes something away, a directory with all that is in it.
    Take(Take),
    /// Sets mode, time or attributes of what stays.
    Amend(Amend),
}

/// New content for a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where.
    pub path: PathBuf,
    /// What the run had done.
    pub kind: ChangeKind,
    /// What stands in the layer.
    pub upper: Seen,
    /// The layer's inode, when several names of the layer share it.
    pub group: Option<u64>,
    /// What is displaced by it.
    pub over: Option<Seen>,
    /// All that is in the displaced directory, by paths below it.
    pub below: Vec<(PathBuf, Seen)>,
    /// What it gets in place of what the layer has; all else is as in the layer.
    pub merged: Option<Arc<[u8]>>,
}

/// A removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Take {
    /// Where.
    pub path: PathBuf,
    /// What is removed.
    pub host: Seen,
    /// All that is in the removed directory, by paths below it.
    pub below: Vec<(PathBuf, Seen)>,
}

/// A change of attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amend {
    /// Where.
    pub path: PathBuf,
    /// Whether the run changed them, and not only what is in the directory.
    pub is_change: bool,
    /// What they are set on; `None` for a directory that this plan makes.
    pub host: Option<Seen>,
    /// What they are.
    pub before: Attributes,
    /// What they become.
    pub after: Attributes,
}

/// Decides what is done with the changes of one mount.
///
/// With [`OnConflict::Abort`] a conflict empties the plan; that the plans of a run's other mounts
/// are given up with it is the caller's part, by [`SyncPlan::abandon`].
pub fn plan(changes: &ChangeSet, rules: &Rules<'_>) -> SyncPlan {
    let verdicts = Verdicts::of(changes, rules);
    let mut plan = SyncPlan::default();
    for (at, change) in changes.changes.iter().enumerate() {
        let path = change.path.clone();
        let kind = change.kind;
        match verdicts.of_change(at) {
            Verdict::Go | Verdict::Conflict => {}
            Verdict::Refused(reason) => plan.refused.push(Refused { path, reason: *reason }),
            Verdict::Held(reason) => {
                plan.held.push(HeldPath { path, kind, reason: reason.clone() });
            }
            Verdict::NotSelected if change.is_trace() => {}
            Verdict::NotSelected if rules.by_name => {
                plan.left_out.push(LeftOut::NotSelected(path));
            }
            Verdict::NotSelected => plan.left_out.push(LeftOut::Dropped(path)),
            Verdict::NotEmpty => plan.left_out.push(LeftOut::NotEmpty(path)),
            Verdict::Blocked => plan.left_out.push(LeftOut::Blocked(path)),
        }
        plan.conflicts.extend(resolved(&verdicts, at, change, rules));
    }
    operations::add(&mut plan, changes, &verdicts, rules);
    if rules.on_conflict == OnConflict::Abort && !plan.conflicts.is_empty() {
        plan.abandon();
    }
    plan
}

fn resolved(
    verdicts: &Verdicts,
    at: usize,
    change: &Change,
    rules: &Rules<'_>,
) -> Option<Resolved> {
    let winner = match verdicts.of_change(at) {
        Verdict::Conflict => Winner::Host,
        Verdict::Go if rules.merged(change).is_some() => Winner::Merged,
        Verdict::Go => Winner::Guest,
        _ => return None,
    };
    let (path, kind) = (change.path.clone(), change.kind);
    change.conflict.map(|conflict| Resolved { path, kind, conflict, winner })
}

impl SyncPlan {
    /// Gives the plan up: nothing of it is done, and all that was to be done is left out.
    pub fn abandon(&mut self) {
        self.parents.clear();
        for operation in self.operations.drain(..) {
            if let Some(path) = operation.into_change() {
                self.left_out.push(LeftOut::Aborted(path));
            }
        }
        for conflict in &mut self.conflicts {
            conflict.winner = Winner::Host;
        }
    }

    /// Returns whether a conflict was decided for the host.
    pub fn has_conflicts(&self) -> bool {
        self.conflicts.iter().any(|conflict| conflict.winner == Winner::Host)
    }
}

impl Operation {
    /// Returns where it takes effect.
    pub fn path(&self) -> &std::path::Path {
        match self {
            Self::Place(place) => &place.path,
            Self::Take(take) => &take.path,
            Self::Amend(amend) => &amend.path,
        }
    }

    fn into_change(self) -> Option<PathBuf> {
        match self {
            Self::Place(place) => Some(place.path),
            Self::Take(take) => Some(take.path),
            Self::Amend(amend) => amend.is_change.then_some(amend.path),
        }
    }
}
