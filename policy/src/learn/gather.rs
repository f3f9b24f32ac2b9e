//! Many paths as few mounts: names below one directory become that directory, unless that would show
//! what nobody should see.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::danger::Dangers;
use super::need::{PathNeed, Usage};
use crate::GuestPath;

/// How many names of a directory, each asked for, stand for the whole directory.
const MANY: usize = 4;

/// What was asked for, each with the place that links lead to.
type Names<'a> = BTreeMap<&'a GuestPath, Option<&'a GuestPath>>;

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
    let names: Names<'_> = of_usage.map(|need| (&need.at, need.leads_to.as_ref())).collect();
    let mut tops: BTreeSet<GuestPath> = outermost(names.keys().copied());
    if usage != Usage::Connect {
        while let Some(directory) = crowded(&tops, &names, (usage, dangers)) {
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
fn crowded(
    tops: &BTreeSet<GuestPath>,
    names: &Names<'_>,
    (usage, dangers): (Usage, &Dangers),
) -> Option<GuestPath> {
    let mut counts: BTreeMap<GuestPath, usize> = BTreeMap::new();
    for directory in tops.iter().filter_map(GuestPath::parent) {
        *counts.entry(directory).or_default() += 1;
    }
    let crowded = counts.into_iter().filter(|(_, count)| *count >= MANY);
    let safe = |at: &GuestPath| is_safe(at, usage, dangers);
    let safe = crowded.filter(|(at, _)| safe(at) && real_places(at, names).iter().all(safe));
    safe.map(|(at, _)| at).max_by_key(|at| at.as_bytes().len())
}

/// Returns where a directory may be, by where links led from names below it: it may be a link itself, to
/// what its own name says nothing of.
fn real_places(directory: &GuestPath, names: &Names<'_>) -> BTreeSet<GuestPath> {
    let below =
        names.range::<GuestPath, _>(directory..).take_while(|(at, _)| at.is_within(directory));
    below.filter_map(|(at, to)| above((*to)?, at.below(directory)?)).collect()
}

/// Takes the names off a path that lead there from the directory, or the last one where others do.
fn above(to: &GuestPath, below: &Path) -> Option<GuestPath> {
    let depth = if to.as_path().ends_with(below) { below.iter().count() } else { 1 };
    GuestPath::new(to.as_path().ancestors().nth(depth)?).ok()
}

/// Directly below the root stands too much to be granted by guess.
fn is_safe(at: &GuestPath, usage: Usage, dangers: &Dangers) -> bool {
    let is_top = at.parent().is_none_or(|above| above.is_root());
    !is_top && dangers.of(at, usage).is_none()
}
