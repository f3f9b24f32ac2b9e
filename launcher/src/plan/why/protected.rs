//! Names of live mounts that may be read and not changed: somebody else runs them later.

use std::collections::BTreeMap;
use std::path::PathBuf;

use endow_policy::{Access, GuestPath, HostPath, PatternRule, ProtectSet};

use super::Operation;
use super::answer::Layer;
use super::node::Missing;
use super::tell::{Outcome, Questions, shell_word};
use crate::plan::granted_as::GrantedAs;

impl Questions<'_> {
    /// Returns the pattern for which a name of a live mount is read-only.
    pub(super) fn protecting(&self, outcome: &Outcome) -> Option<&PatternRule> {
        match outcome.refusals.first() {
            Some((_, Layer::Mount)) => self.protected(&outcome.at),
            _ => None,
        }
    }

    /// Returns the pattern for which such a name would be taken out of a live mount again.
    pub(super) fn protecting_unmade(
        &self,
        outcome: &Outcome,
        to: Operation,
    ) -> Option<&PatternRule> {
        self.protected(unmade(outcome, to)?)
    }

    /// Returns the rule that keeps a name of a live mount as it is, in words.
    pub fn protecting_rule(&self, at: &GuestPath) -> Option<String> {
        let (set, path) = self.in_protected(at)?;
        set.matching(&path).map(protects)
    }

    /// Returns the pattern that a name of a live mount matches, or that the way to it belongs to.
    pub(super) fn protected(&self, at: &GuestPath) -> Option<&PatternRule> {
        let (set, path) = self.in_protected(at)?;
        set.guarding(&path)
    }

    /// Says what becomes of a change that a protect pattern does not keep from being made.
    pub(super) fn later(&self, at: &GuestPath) -> Option<String> {
        let placed = self.covering(at)?;
        if placed.is_live() {
            let rule = protects(self.protected(at)?);
            return Some(format!("; what is made is taken away again: {rule}"));
        }
        let is_kept = placed.spec.access == Access::Cow && !placed.spec.options.discard;
        let source = placed.source.as_ref().filter(|_| is_kept && placed.is_directory())?;
        let rule = protects(self.set(&source.path)?.guarding(at.below(&placed.spec.at)?)?);
        Some(format!("; a change is held for review: {rule}"))
    }

    /// Returns the patterns, and a name of a live mount as they see it.
    fn in_protected(&self, at: &GuestPath) -> Option<(&ProtectSet, PathBuf)> {
        let placed = self.covering(at).filter(|placed| placed.is_live())?;
        let source = &placed.source.as_ref()?.path;
        let names = self.host.live_names.get(source)?;
        let path = names.prefix.join(at.below(&placed.spec.at)?);
        Some((self.set(source)?, path))
    }

    fn set(&self, source: &HostPath) -> Option<&ProtectSet> {
        self.protect.get_or_init(|| self.protects()).get(source)
    }

    /// Compiles the patterns for each directory that the command can change.
    fn protects(&self) -> BTreeMap<HostPath, ProtectSet> {
        let granted = GrantedAs::of(self.policy, &self.host.paths);
        let compiled = |root: &HostPath| {
            let set = ProtectSet::new(self.host.protecting(self.policy, root)).ok()?;
            Some((root.clone(), set.below_all(&granted.all(root))))
        };
        let mounts = self.plan.placement.mounts.iter();
        let changed = mounts.filter(|placed| placed.spec.access != Access::Ro);
        let sources = changed.filter_map(|placed| Some(&placed.source.as_ref()?.path));
        sources.filter_map(compiled).collect()
    }
}

/// Returns the place of a name that is to be made below directories that are not there yet.
pub(super) fn unmade(outcome: &Outcome, to: Operation) -> Option<&GuestPath> {
    let is_unmade = to == Operation::Write && outcome.why == Some(Missing::NotThere);
    outcome.wanted.as_ref().filter(|_| is_unmade)
}

/// The rule in words, with who wrote it.
pub(super) fn protects(rule: &PatternRule) -> String {
    format!("protect {} ({})", rule.pattern, rule.origin)
}

/// The flag that lifts it.
pub(super) fn unprotect(rule: &PatternRule) -> String {
    format!("--unprotect {}", shell_word(&rule.pattern))
}
