//! Two texts as hunks of a unified difference.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};

/// Lines around a change.
const CONTEXT: usize = 3;
/// Texts that are hard to compare are compared roughly after this time.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a line of a hunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// On both sides.
    Same,
    /// On the old side only.
    Removed,
    /// On the new side only.
    Added,
}

/// One hunk: its head and its lines with their ends.
pub(super) struct Hunk<'a> {
    pub(super) head: String,
    pub(super) lines: Vec<(Mark, &'a [u8])>,
}

/// Divides a text into lines, each with its end.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Returns the hunks that lead from one text to another.
pub(super) fn hunks<'a>(old: &'a [u8], new: &'a [u8]) -> Vec<Hunk<'a>> {
    let (old, new) = (lines(old), lines(new));
    let ops = compare(&old, &new);
    group_diff_ops(ops, CONTEXT).iter().map(|ops| hunk(ops, &old, &new)).collect()
}

/// Returns how many lines are added and removed.
pub(super) fn count(old: &[u8], new: &[u8]) -> (u64, u64) {
    let (old, new) = (lines(old), lines(new));
    let mut counts = (0, 0);
    for op in compare(&old, &new) {
        if !matches!(op, DiffOp::Equal { .. }) {
            counts.0 += u64::try_from(op.new_range().len()).unwrap_or(u64::MAX);
            counts.1 += u64::try_from(op.old_range().len()).unwrap_or(u64::MAX);
        }
    }
    counts
}

fn compare(old: &[&[u8]], new: &[&[u8]]) -> Vec<DiffOp> {
    let deadline = Instant::now().checked_add(PATIENCE);
    capture_diff_slices_deadline(Algorithm::Myers, old, new, deadline)
}

fn hunk<'a>(ops: &[DiffOp], old: &[&'a [u8]], new: &[&'a [u8]]) -> Hunk<'a> {
    let mut lines = Vec::new();
    for op in ops {
        let (removed, added) = (op.old_range(), op.new_range());
        let removed = old.get(removed).unwrap_or_default();
        let added = new.get(added).unwrap_or_default();
        if matches!(op, DiffOp::Equal { .. }) {
            lines.extend(removed.iter().map(|line| (Mark::Same, *line)));
        } else {
            lines.extend(removed.iter().map(|line| (Mark::Removed, *line)));
            lines.extend(added.iter().map(|line| (Mark::Added, *line)));
        }
    }
    Hunk { head: head(ops), lines }
}

fn head(ops: &[DiffOp]) -> String {
    let (Some(first), Some(last)) = (ops.first(), ops.last()) else { return String::new() };
    let old = range(first.old_range().start, last.old_range().end);
    let new = range(first.new_range().start, last.new_range().end);
    format!("@@ -{old} +{new} @@")
}

/// Lines are counted from 1; an empty range stands behind the line before it.
fn range(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}
