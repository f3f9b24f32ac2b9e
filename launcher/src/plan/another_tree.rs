//! The same plan for another tree: what runs one action after another need not decide everything anew for each.

use std::ffi::OsString;

use endow_policy::{BackendSpec, GuestPath, Level};

use super::Plan;
use super::step::{ExecSpec, InitStep, PrepareStep, Source};
use super::tree::{Presented, TreeFact};

/// What another run shows in the place of a tree, and what it executes.
#[derive(Clone, Debug)]
pub struct Another<'a> {
    /// Where the tree stands.
    pub at: &'a GuestPath,
    /// What the policy calls it.
    pub backend: &'a BackendSpec,
    /// The tree.
    pub fact: &'a TreeFact,
    /// The command and its arguments.
    pub argv: &'a [OsString],
}

impl Plan {
    /// Makes this the plan of a run that differs in nothing else; returns whether that is possible. Where it is
    /// not, nothing is changed, and the other run is planned like any.
    ///
    /// That is possible for a run that leaves no name of its own in its plan, whose command is called the same,
    /// for a tree that is presented in the same way.
    #[must_use]
    pub fn show(&mut self, another: &Another<'_>) -> bool {
        let old = self.placement.at(another.at).and_then(|placed| placed.tree.clone());
        let Some(old) = old.filter(|old| self.can_show(old, another)) else { return false };
        if let Some(placed) = self.placement.at_mut(another.at) {
            placed.spec.backend = another.backend.clone();
            placed.tree = Some(Box::new(another.fact.clone()));
        }
        let layers = old.layers().into_iter().zip(another.fact.layers());
        let layers: Vec<(Source, Source)> = layers.collect();
        let shown = self.init.iter_mut().map(InitStep::shown);
        for source in shown.filter(|(at, _)| *at == Some(another.at)).flat_map(|(_, shown)| shown) {
            if let Some((_, new)) = layers.iter().find(|(old, _)| old == source) {
                *source = new.clone();
            }
        }
        let prepared = self.prepare.iter_mut().filter_map(|step| match step {
            PrepareStep::Tree { tree, .. } => Some(tree),
            _ => None,
        });
        let changed = self.trees.iter_mut().map(|changed| &mut changed.tree);
        for tree in prepared.chain(changed).filter(|tree| **tree == *old) {
            tree.clone_from(another.fact);
        }
        self.exec = self.environment.exec(another.argv);
        true
    }

    fn can_show(&self, old: &TreeFact, another: &Another<'_>) -> bool {
        let is_same_command = match &self.exec {
            ExecSpec::Command { argv, .. } => argv.first() == another.argv.first(),
            ExecSpec::Helper { .. } => false,
        };
        let layers = old.layers();
        let has_any = |fact: &TreeFact| fact.layers().iter().any(|layer| layers.contains(layer));
        let shown = self.placement.mounts.iter().filter_map(|it| it.tree.as_deref());
        let shown = shown.filter(|fact| has_any(fact));
        // A working copy of a repository has more of its tree than its files.
        let is_content = matches!(another.backend, BackendSpec::Cas { .. }) && old.copy.is_none();
        let is_possible = is_same_command && is_content && !self.names_its_run();
        is_possible && shown.count() == 1 && alike(old, another.fact)
    }

    /// Returns whether a run of another name would have another plan.
    fn names_its_run(&self) -> bool {
        let is_grouped = self.prepare.iter().any(|step| matches!(step, PrepareStep::Cgroup(_)));
        let is_told = self.environment.names_run();
        is_grouped || is_told || self.enforcement.level == Level::Landlock
    }
}

impl InitStep {
    /// Returns what a step shows that may be of a tree, and where.
    fn shown(&mut self) -> (Option<&GuestPath>, &mut [Source]) {
        match self {
            Self::Bind { source, at, .. } => (Some(at), std::slice::from_mut(source)),
            Self::Overlay { lower, at, .. } => (Some(at), lower),
            _ => (None, &mut []),
        }
    }
}

/// Returns whether two trees differ in nothing but what they are and where they lie.
fn alike(old: &TreeFact, new: &TreeFact) -> bool {
    let called_as_old = TreeFact {
        id: old.id.clone(),
        key: old.key.clone(),
        root: old.root.clone(),
        is_made: old.is_made,
        parts: old.parts.clone(),
        presented_as: old.presented_as.clone(),
        ..new.clone()
    };
    let mut parts = old.parts.iter().zip(&new.parts);
    // Stubs are mounted otherwise than copies.
    let are_stubs = |fact: &TreeFact| matches!(fact.presented_as, Presented::Stubs { .. });
    called_as_old == *old
        && are_stubs(old) == are_stubs(new)
        && old.parts.len() == new.parts.len()
        && parts.all(|(old, new)| alike(old, new))
}
