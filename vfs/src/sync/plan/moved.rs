//! What a run moved to where it can't go stays where it was, so that it is in the tree at one place.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::verdicts::Verdict;
use crate::fs::Kind;
use crate::sync::change::Traits;
use crate::sync::{Change, ChangeKind, ChangeSet, Refusal};

/// Keeps the old places of what is not placed at its new one, all that was in a directory among it;
/// returns whether anything was kept that had gone.
///
/// Old and new place are told to belong together by kind, size and time of modification. A removal
/// that only looks so is kept as well, which loses nothing. With `drops`, what was not asked for is written nowhere.
pub(super) fn keep(changes: &[Change], verdicts: &mut [Verdict], drops: bool) -> bool {
    let stuck = stuck(changes, verdicts, drops);
    let mut has_kept = false;
    let mut top: Option<(&Path, &Verdict)> = None;
    for (change, verdict) in changes.iter().zip(verdicts) {
        let (ChangeKind::Deleted, Some(host)) = (change.kind, &change.host) else { continue };
        let above = top.filter(|(path, _)| change.path.starts_with(path)).map(|(_, kept)| kept);
        let Some(kept) = above.or_else(|| stuck.get(&host.traits())) else { continue };
        if above.is_none() && host.kind == Kind::Directory {
            top = Some((&change.path, kept));
        }
        if *verdict == Verdict::Go {
            *verdict = kept.clone();
            has_kept = true;
        }
    }
    has_kept
}

/// Returns where what is dropped was moved from, by the traits that `keep` goes by, and is not dropped itself: the
/// removals there must not be written back any more. Of a directory all that was in it is meant, too.
pub fn old_places(set: &ChangeSet, is_dropped: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let new = set.changes.iter().filter(|it| it.kind != ChangeKind::Attributes);
    let new = new.filter(|it| is_dropped(&it.path)).filter_map(|it| it.upper);
    let moved: HashSet<Traits> = new.map(|upper| upper.traits()).collect();
    let mut places: Vec<PathBuf> = Vec::new();
    for change in set.changes.iter().filter(|it| it.kind == ChangeKind::Deleted) {
        let is_old = change.host.is_some_and(|host| moved.contains(&host.traits()));
        let is_in_one = places.last().is_some_and(|top| change.path.starts_with(top));
        if is_old && !is_in_one && !is_dropped(&change.path) {
            places.push(change.path.clone());
        }
    }
    places
}

/// Returns what is new and not placed, with the verdict on its old place.
fn stuck(changes: &[Change], verdicts: &[Verdict], drops: bool) -> HashMap<Traits, Verdict> {
    let mut stuck = HashMap::new();
    for (change, verdict) in changes.iter().zip(verdicts) {
        let (Some(upper), Some(kept)) = (&change.upper, on_old_place(verdict, drops)) else {
            continue;
        };
        if change.kind != ChangeKind::Attributes {
            stuck.entry(upper.traits()).or_insert(kept);
        }
    }
    stuck
}

fn on_old_place(verdict: &Verdict, drops: bool) -> Option<Verdict> {
    match verdict {
        Verdict::Refused(_) => Some(Verdict::Refused(Refusal::Moved)),
        Verdict::Held(reason) => Some(Verdict::Held(reason.of_old_place())),
        Verdict::Conflict | Verdict::Blocked => Some(Verdict::Blocked),
        // What is dropped would be nowhere.
        Verdict::NotSelected if drops => Some(Verdict::Blocked),
        // What was not asked for is not: the old place was.
        Verdict::Go | Verdict::NotSelected | Verdict::NotEmpty => None,
    }
}
