//! From verdicts to operations in order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::verdicts::{Verdicts, makes_directory, removes_directory};
use super::{Amend, Operation, Place, SyncPlan, Take};
use crate::fs::Kind;
use crate::sync::{Attributes, Change, ChangeKind, ChangeSet, Rules, Seen};

/// Adds the operations that carry the verdicts out.
pub(super) fn add(plan: &mut SyncPlan, set: &ChangeSet, verdicts: &Verdicts, rules: &Rules<'_>) {
    let mut builder = Builder { set, verdicts, rules, touched: BTreeSet::new() };
    let places = builder.places();
    let takes = builder.takes();
    let (files, dirs) = builder.amends();
    plan.parents = builder.parents();
    let root = set.directories.get(Path::new("")).filter(|root| !root.is_changed);
    plan.root = root.map(|root| root.host);
    plan.operations.extend(places.into_iter().map(Operation::Place));
    plan.operations.extend(takes.into_iter().rev().map(Operation::Take));
    plan.operations.extend(files.into_iter().map(Operation::Amend));
    plan.operations.extend(dirs.into_values().rev().map(Operation::Amend));
}

struct Builder<'a> {
    set: &'a ChangeSet,
    verdicts: &'a Verdicts,
    rules: &'a Rules<'a>,
    /// Directories in which names come or go.
    touched: BTreeSet<&'a Path>,
}

impl<'a> Builder<'a> {
    fn going(&self) -> impl Iterator<Item = (usize, &'a Change)> + use<'a, '_> {
        let changes = self.set.changes.iter().enumerate();
        changes.filter(|(at, _)| self.verdicts.goes(*at))
    }

    fn places(&mut self) -> Vec<Place> {
        let mut places = Vec::new();
        let mut touched = BTreeSet::new();
        for (at, change) in self.going() {
            let is_placed = change.kind != ChangeKind::Deleted && !change.is_amended();
            let (true, Some(upper)) = (is_placed, change.upper) else { continue };
            let below = if removes_directory(change) { self.below(at) } else { Vec::new() };
            let (path, kind, group) = (change.path.clone(), change.kind, change.group);
            let merged = change.conflict.and_then(|_| self.rules.merged(change));
            places.push(Place { path, kind, upper, group, over: change.host, below, merged });
            touched.extend(change.path.parent());
        }
        self.touched.append(&mut touched);
        places.sort_by_key(|place| self.set.git_dirs.rank(&place.path));
        places
    }

    fn takes(&mut self) -> Vec<Take> {
        let mut takes = Vec::new();
        let mut inside: Option<&Path> = None;
        let mut touched = BTreeSet::new();
        for (at, change) in self.going() {
            if inside.is_some_and(|top| change.path.starts_with(top)) {
                continue;
            }
            if removes_directory(change) {
                inside = Some(&change.path);
            }
            if let (ChangeKind::Deleted, Some(host)) = (change.kind, change.host) {
                takes.push(Take { path: change.path.clone(), host, below: self.below(at) });
                touched.extend(change.path.parent());
            }
        }
        self.touched.append(&mut touched);
        takes
    }

    /// Returns what goes with a removed directory.
    fn below(&self, top: usize) -> Vec<(PathBuf, Seen)> {
        let mut changes = self.set.changes.iter().skip(top);
        let Some(top) = changes.next() else { return Vec::new() };
        let inside = changes.map_while(|change| {
            let path = change.path.strip_prefix(&top.path).ok()?;
            change.host.map(|host| (path.to_owned(), host))
        });
        inside.collect()
    }

    fn amends(&self) -> (Vec<Amend>, BTreeMap<&'a Path, Amend>) {
        let (mut files, mut dirs) = (Vec::new(), BTreeMap::new());
        let removed = self.removed();
        for path in &self.touched {
            dirs.extend(self.restore(path, &removed).map(|amend| (*path, amend)));
        }
        for (_, change) in self.going() {
            let path = change.path.as_path();
            if makes_directory(change) {
                dirs.insert(path, finish(change));
            } else if change.is_amended() {
                match change.node() {
                    Kind::Directory => drop(dirs.insert(path, amend(change))),
                    _ => files.push(amend(change)),
                }
            }
        }
        (files, dirs)
    }

    /// Returns how a directory gets the time that it has in the layer, after names came and went.
    /// Where the host's own changes gave it another, or the run removed it, its time is only
    /// noted for an undo.
    fn restore(&self, path: &Path, removed: &BTreeMap<&Path, Seen>) -> Option<Amend> {
        let modified =
            |seen: Seen| Attributes { modified: Some(seen.modified), ..Default::default() };
        let (host, after) = match self.set.directories.get(path) {
            Some(found) if found.is_changed => (found.host, Attributes::default()),
            Some(found) => (found.host, modified(found.upper)),
            None => (*removed.get(path)?, Attributes::default()),
        };
        let (path, before) = (path.to_owned(), modified(host));
        Some(Amend { path, is_change: false, host: Some(host), before, after })
    }

    fn removed(&self) -> BTreeMap<&'a Path, Seen> {
        let removed = self.set.changes.iter().filter(|change| change.kind == ChangeKind::Deleted);
        removed.filter_map(|change| Some((change.path.as_path(), change.host?))).collect()
    }

    fn parents(&self) -> BTreeMap<PathBuf, Seen> {
        let mut parents = BTreeMap::new();
        let removed = self.removed();
        let amended = self.going().filter(|(_, change)| change.is_amended());
        let amended = amended.filter_map(|(_, change)| change.path.parent());
        for path in self.touched.iter().copied().chain(amended) {
            let known = self.set.directories.get(path).map(|directory| directory.host);
            let known = known.or_else(|| removed.get(path).copied());
            parents.extend(known.map(|seen| (path.to_owned(), seen)));
        }
        parents
    }
}

/// Returns how a new directory is finished once all is in it.
fn finish(change: &Change) -> Amend {
    let after = change.upper.map(|upper| Attributes {
        mode: Some(upper.mode),
        modified: Some(upper.modified),
        user: Some(change.user.upper.clone()).filter(|user| !user.is_empty()),
    });
    let (path, before) = (change.path.clone(), Attributes::default());
    Amend { path, is_change: false, host: None, before, after: after.unwrap_or_default() }
}

fn amend(change: &Change) -> Amend {
    let side = |seen: Option<Seen>, user: &Vec<_>| Attributes {
        mode: seen.filter(|_| change.differs.mode).map(|seen| seen.mode),
        modified: seen.map(|seen| seen.modified),
        user: change.differs.user.then(|| user.clone()),
    };
    Amend {
        path: change.path.clone(),
        is_change: !change.is_trace(),
        host: change.host,
        before: side(change.host, &change.user.host),
        after: side(change.upper, &change.user.upper),
    }
}
