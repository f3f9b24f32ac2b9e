//! Write-backs of one path after another: an undo goes on to an earlier one only where nobody wrote
//! in between.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::Seen;
use super::journal::{Act, Step};
use crate::fs::Kind;

/// Returns the numbers of steps below a root that later ones, which `is_undone` chooses, did not follow: what they
/// left was replaced by somebody else, whose version comes back.
pub(super) fn superseded<'s>(
    steps: impl Iterator<Item = &'s Step>,
    is_undone: impl Fn(&Step) -> bool,
) -> HashSet<u32> {
    // Attributes of what the same write-back made belong to that.
    let is_own = |step: &&Step| step.act != Act::Amend || step.old.is_some();
    let mut steps: Vec<&Step> = steps.filter(is_own).collect();
    steps.sort_by_key(|step| std::cmp::Reverse(step.number));
    let (mut before, mut superseded) = (HashMap::<&Path, Option<Seen>>::new(), HashSet::new());
    let mut broken: HashSet<PathBuf> = HashSet::new();
    for step in steps {
        let path = step.path.as_path();
        if let Some(found) = before.get(path)
            && !follows(*found, left_by(step))
        {
            broken.insert(path.to_owned());
        }
        if broken.contains(path) {
            superseded.insert(step.number);
        } else if is_undone(step) {
            before.insert(path, step.old);
        }
    }
    superseded
}

fn left_by(step: &Step) -> Option<Seen> {
    step.new.filter(|_| step.act != Act::Take)
}

/// Bits may be set in between; a directory is compared by what is in it.
fn follows(found: Option<Seen>, left: Option<Seen>) -> bool {
    match (found, left) {
        (None, None) => true,
        (Some(found), Some(left)) => {
            let is_directory = found.kind == Kind::Directory && left.kind == Kind::Directory;
            let is_alike = found.size == left.size && found.modified == left.modified;
            is_directory || found.is_same_inode(&left) && is_alike
        }
        _ => false,
    }
}
