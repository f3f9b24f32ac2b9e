//! How much of a run is written back and how much waits, when a part was taken back or dropped.

use endow_vfs::state::ChangeCounts;
use endow_vfs::sync::ChangeKind;

use super::locked::Picked;
use crate::cli::error::CommandError;
use crate::finish::{Looked, WrittenBack};

/// Returns what is written back now, and what a checkpoint can take back.
pub(crate) fn applied(picked: &Picked) -> Result<ChangeCounts, CommandError> {
    let ledger = picked.ledger()?;
    let mut counts = ChangeCounts::default();
    for (_, kind) in picked.targets.numbers().flat_map(|number| ledger.applied(number)) {
        match kind {
            ChangeKind::Created => counts.created += 1,
            ChangeKind::Deleted => counts.deleted += 1,
            _ => counts.modified += 1,
        }
    }
    Ok(counts)
}

/// Returns what waits.
pub(crate) fn waiting(looked: &[Looked]) -> ChangeCounts {
    WrittenBack::waiting(looked, &[]).counts()
}

/// Returns how much more is written back by `now` than by `before`.
pub(crate) fn beyond(now: ChangeCounts, before: ChangeCounts) -> ChangeCounts {
    ChangeCounts {
        created: now.created.saturating_sub(before.created),
        modified: now.modified.saturating_sub(before.modified),
        deleted: now.deleted.saturating_sub(before.deleted),
        left: 0,
    }
}

/// Returns counts less what is gone from `before` to `now`: what else is in them, as changes of trees, stays.
pub(crate) fn less(
    counts: ChangeCounts,
    (before, now): (ChangeCounts, ChangeCounts),
) -> ChangeCounts {
    let less = |count: u64, was: u64, is: u64| count.saturating_sub(was.saturating_sub(is));
    ChangeCounts {
        created: less(counts.created, before.created, now.created),
        modified: less(counts.modified, before.modified, now.modified),
        deleted: less(counts.deleted, before.deleted, now.deleted),
        left: less(counts.left, before.left, now.left),
    }
}
