//! Names of live mounts that may be read and not changed: somebody else runs them later.

use std::collections::BTreeMap;
use std::path::PathBuf;

use endow_policy::{GuestPath, HostPath, PatternRule, ProtectSet};

use super::answer::Layer;
use super::tell::{Outcome, Questions, shell_word};

impl Questions<'_> {
    /// Returns the pattern for which a name of a live mount is read-only.
    pub(super) fn protecting(&self, outcome: &Outcome) -> Option<&PatternRule> {
        match outcome.refusals.first() {
            Some((_, Layer::Mount)) => self.protected(&outcome.at),
            _ => None,
        }
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

    /// Returns the patterns, and a name of a live mount as they see it.
    fn in_protected(&self, at: &GuestPath) -> Option<(&ProtectSet, PathBuf)> {
        let placed = self.covering(at).filter(|placed| placed.is_live())?;
        let source = &placed.source.as_ref()?.path;
        let names = self.host.live_names.get(source)?;
        let path = names.prefix.join(at.below(&placed.spec.at)?);
        let set = self.protect.get_or_init(|| self.protects()).get(source)?;
        Some((set, path))
    }

    /// Compiles the patterns for each live mount.
    fn protects(&self) -> BTreeMap<HostPath, ProtectSet> {
        let compiled = |root: &HostPath| {
            let set = ProtectSet::new(self.host.protecting(self.policy, root)).ok()?;
            Some((root.clone(), set.below(root.as_path())))
        };
        self.host.live_names.keys().filter_map(compiled).collect()
    }
}

/// The rule in words, with who wrote it.
pub(super) fn protects(rule: &PatternRule) -> String {
    format!("protect {} ({})", rule.pattern, rule.origin)
}

/// The flag that lifts it.
pub(super) fn unprotect(rule: &PatternRule) -> String {
    format!("--unprotect {}", shell_word(&rule.pattern))
}
