//! Many paths as few mounts: names below one directory become that directory, unless that would show
//! what nobody should see.

use std::collections::{BTreeMap, BTreeSet};

use super::danger::Dangers;
use super::need::{PathNeed, Usage, What};
use crate::GuestPath;

/// How many names of a directory, each asked for, stand for the whole directory.
const MANY: usize = 4;

/// A mount that gives one need or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) at: GuestPath,
    pub(super) usage: Usage,
    /// How many needs lie there.
    pub(super) needs: usize,
}

/// Returns the places to mount, none of which lies in another that gives as much.
pub(super) fn gather(needs: &[&PathNeed], dangers: &Dangers) -> Vec<Place> {
    let writes = places(needs, Usage::Write, dangers);
    let mut all = writes.clone();
    let covered = |at: &GuestPath| writes.iter().any(|place| at.is_within(&place.at));
    let unwritten: Vec<&PathNeed> = needs.iter().copied().filter(|it| !covered(&it.at)).collect();
    all.extend(places(&unwritten, Usage::Read, dangers));
    all.extend(places(needs, Usage::Connect, dangers));
    all
}

fn places(needs: &[&PathNeed], usage: Usage, dangers: &Dangers) -> Vec<Place> {
    let of_usage = needs.iter().filter(|need| need.usage == usage);
    let names: BTreeMap<GuestPath, What> =
        of_usage.map(|need| (need.at.clone(), need.what)).collect();
    let mut tops: BTreeSet<GuestPath> = outermost(names.keys());
    if usage != Usage::Connect {
        while let Some(directory) = crowded(&tops, usage, dangers) {
            tops.retain(|at| !at.is_within(&directory));
            tops.insert(directory);
        }
    }
    let many = |at: &GuestPath| names.keys().filter(|name| name.is_within(at)).count();
    tops.into_iter().map(|at| Place { needs: many(&at), usage, at }).collect()
}

/// Paths in order have a directory right before what is below it.
fn outermost<'a>(names: impl Iterator<Item = &'a GuestPath>) -> BTreeSet<GuestPath> {
    let mut tops: BTreeSet<GuestPath> = BTreeSet::new();
    for name in names {
        if tops.last().is_none_or(|last| !name.is_within(last)) {
            tops.insert(name.clone());
        }
    }
    tops
}

/// Returns the deepest directory of which many names were asked for and that may be granted.
fn crowded(tops: &BTreeSet<GuestPath>, usage: Usage, dangers: &Dangers) -> Option<GuestPath> {
    let mut counts: BTreeMap<GuestPath, usize> = BTreeMap::new();
    for directory in tops.iter().filter_map(GuestPath::parent) {
        *counts.entry(directory).or_default() += 1;
    }
    let crowded = counts.into_iter().filter(|(_, count)| *count >= MANY);
    let safe = crowded.filter(|(at, _)| is_safe(at, usage, dangers));
    safe.map(|(at, _)| at).max_by_key(|at| at.as_bytes().len())
}

/// Directly below the root stands too much to be granted by guess.
fn is_safe(at: &GuestPath, usage: Usage, dangers: &Dangers) -> bool {
    let is_top = at.parent().is_none_or(|above| above.is_root());
    !is_top && dangers.of(at, usage).is_none()
}
