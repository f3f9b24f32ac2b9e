//! Two texts as hunks of a unified difference.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

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
    let lines = marked(&lines(old), &lines(new));
    let mut behind = (0, [0, 0]);
    spans(&lines).into_iter().map(|span| hunk(&lines, span, &mut behind)).collect()
}

/// Returns where changes are, with the lines around them; those that touch are one.
fn spans(lines: &[Line<'_>]) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    for (at, _) in lines.iter().enumerate().filter(|(_, (mark, _))| *mark != Mark::Same) {
        let (start, end) = (at.saturating_sub(CONTEXT), (at + 1 + CONTEXT).min(lines.len()));
        match spans.last_mut() {
            Some(last) if start <= last.end => last.end = end,
            _ => spans.push(start..end),
        }
    }
    spans
}

/// Returns how many lines are added and removed.
pub(super) fn count(old: &[u8], new: &[u8]) -> (u64, u64) {
    let lines = marked(&lines(old), &lines(new));
    (many(&lines, Mark::Added), many(&lines, Mark::Removed))
}

fn many(lines: &[Line<'_>], mark: Mark) -> u64 {
    u64::try_from(lines.iter().filter(|(it, _)| *it == mark).count()).unwrap_or(u64::MAX)
}

/// A line with its end, and what it is.
type Line<'a> = (Mark, &'a [u8]);

/// Returns all lines of both texts in one order, each with its mark.
fn marked<'a>(old: &[&'a [u8]], new: &[&'a [u8]]) -> Vec<Line<'a>> {
    let deadline = Instant::now().checked_add(PATIENCE);
    let ops = capture_diff_slices_deadline(Algorithm::Myers, old, new, deadline);
    merged(&ops, old, new).unwrap_or_else(|| {
        let removed = old.iter().map(|line| (Mark::Removed, *line));
        removed.chain(new.iter().map(|line| (Mark::Added, *line))).collect()
    })
}

/// Follows the operations by their lengths alone: where one of them is empty on a side, its place
/// on that side need not be right. `None` when they do not lead from one text to the other.
fn merged<'a>(ops: &[DiffOp], old: &[&'a [u8]], new: &[&'a [u8]]) -> Option<Vec<Line<'a>>> {
    let mut lines = Vec::with_capacity(old.len().max(new.len()));
    let (mut before, mut after) = (old, new);
    for op in ops {
        let (removed, rest) = before.split_at_checked(op.old_range().len())?;
        before = rest;
        let (added, rest) = after.split_at_checked(op.new_range().len())?;
        after = rest;
        if matches!(op, DiffOp::Equal { .. }) {
            if removed != added {
                return None;
            }
            lines.extend(removed.iter().map(|line| (Mark::Same, *line)));
        } else {
            lines.extend(removed.iter().map(|line| (Mark::Removed, *line)));
            lines.extend(added.iter().map(|line| (Mark::Added, *line)));
        }
    }
    (before.is_empty() && after.is_empty()).then_some(lines)
}

/// `behind` is how far the hunks before went, in all lines and in those of each side.
fn hunk<'a>(all: &[Line<'a>], span: Range<usize>, behind: &mut (usize, [usize; 2])) -> Hunk<'a> {
    let above = all.get(behind.0..span.start).unwrap_or_default();
    let lines = all.get(span.clone()).unwrap_or_default();
    let [old, new] = sides(above);
    let start = [behind.1[0] + old, behind.1[1] + new];
    let [old, new] = sides(lines);
    *behind = (span.end, [start[0] + old, start[1] + new]);
    let head = format!("@@ -{} +{} @@", range(start[0], old), range(start[1], new));
    Hunk { head, lines: lines.to_vec() }
}

/// Counts the lines of the old and of the new side.
fn sides(lines: &[Line<'_>]) -> [usize; 2] {
    let without = |other| lines.iter().filter(|(mark, _)| *mark != other).count();
    [without(Mark::Added), without(Mark::Removed)]
}

/// Lines are counted from 1; an empty range stands behind the line before it.
fn range(start: usize, length: usize) -> String {
    match length {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}
