//! Three versions of a text become one, or none when both sides changed the same lines.
//!
//! Own, on the line differences that `endow diff` uses: crates that merge take no time limit, and a
//! command can write texts that take hours to compare.

use std::time::Instant;

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::NotMerged;

/// Merges what is text on all sides.
pub(super) fn merge_texts(
    base: &[u8],
    sides: [&[u8]; 2],
    until: Instant,
) -> Result<Vec<u8>, NotMerged> {
    if [base, sides[0], sides[1]].iter().any(|bytes| bytes.contains(&0)) {
        return Err(NotMerged::NoText);
    }
    // A comparison that is given up finds more that is not the same.
    let why = || if Instant::now() >= until { NotMerged::Time } else { NotMerged::SameLines };
    merge(base, sides, until).ok_or_else(why)
}

/// Returns what both sides made of `base`. Changes of one place must be the same on both sides,
/// and changed lines that touch are one place.
fn merge(base: &[u8], sides: [&[u8]; 2], until: Instant) -> Option<Vec<u8>> {
    let base = lines(base);
    let sides = sides.map(lines);
    let [one, other] = &sides;
    let places = [places(&base, one, until)?, places(&base, other, until)?];
    let mut merger = Merger { base: &base, sides: [one, other], at: [0; 3], text: Vec::new() };
    for line in 0..base.len() {
        let kept = places.each_ref().map(|places| places.get(line).copied().flatten());
        if let [Some(one), Some(other)] = kept {
            merger.meet([line, one, other])?;
            merger.keep();
        }
    }
    merger.meet([base.len(), one.len(), other.len()])?;
    Some(merger.text)
}

/// Divides a text into lines, each with its end.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Returns where each line of `base` stands in `side`, if it does. A comparison that is given up in
/// time finds less; `None` when it finds what is not so.
fn places(base: &[&[u8]], side: &[&[u8]], until: Instant) -> Option<Vec<Option<usize>>> {
    let mut places = vec![None; base.len()];
    let mut next = 0;
    for op in capture_diff_slices_deadline(Algorithm::Myers, base, side, Some(until)) {
        let DiffOp::Equal { old_index, new_index, len } = op else { continue };
        for (old, new) in (old_index..old_index + len).zip(new_index..) {
            if new < next || base.get(old)? != side.get(new)? {
                return None;
            }
            *places.get_mut(old)? = Some(new);
            next = new + 1;
        }
    }
    Some(places)
}

/// Goes through the three texts from one line that all have to the next.
struct Merger<'m, 't> {
    base: &'m [&'t [u8]],
    sides: [&'m [&'t [u8]]; 2],
    /// How far it came in `base` and in both sides.
    at: [usize; 3],
    text: Vec<u8>,
}

impl Merger<'_, '_> {
    /// Takes what lies before these lines from the side that changed it.
    fn meet(&mut self, [base, one, other]: [usize; 3]) -> Option<()> {
        let old = self.base.get(self.at[0]..base)?;
        let ours = self.sides[0].get(self.at[1]..one)?;
        let theirs = self.sides[1].get(self.at[2]..other)?;
        let chosen = if ours == old {
            theirs
        } else if theirs == old || theirs == ours {
            ours
        } else {
            return None;
        };
        self.text.extend(chosen.iter().copied().flatten());
        self.at = [base, one, other];
        Some(())
    }

    /// Takes the line that all have.
    fn keep(&mut self) {
        self.text.extend_from_slice(self.base.get(self.at[0]).copied().unwrap_or_default());
        self.at = self.at.map(|at| at + 1);
    }
}

#[cfg(test)]
mod tests;
