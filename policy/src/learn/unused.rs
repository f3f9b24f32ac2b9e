//! Grants that no run used.

use std::collections::{BTreeMap, BTreeSet};

/// What one run had, and what it used of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lesson {
    /// The grants that it had, each with whether it was used: paths of mounts and words of hosts.
    pub grants: BTreeMap<String, bool>,
}

/// A grant that was never used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unused {
    /// The grant, as it is written.
    pub grant: String,
    /// How many runs had it.
    pub runs: usize,
}

/// Returns which of `grants` was used in no run that had it. One that no run had is not among them:
/// nothing is known of it.
pub fn unused(grants: &BTreeSet<String>, lessons: &[Lesson]) -> Vec<Unused> {
    let judged = |grant: &String| {
        let mut had = lessons.iter().filter_map(|lesson| lesson.grants.get(grant)).peekable();
        had.peek()?;
        let uses: Vec<bool> = had.copied().collect();
        let never = !uses.contains(&true);
        never.then(|| Unused { grant: grant.clone(), runs: uses.len() })
    };
    grants.iter().filter_map(judged).collect()
}
