//! The deny patterns as the walk asks them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::{Origin, PatternRule, PatternSet};
use endow_vfs::names::NameRules;
use sha2::{Digest, Sha256};

/// Compiled patterns, and what is spared from them.
pub(super) struct Rules<'a> {
    pub(super) patterns: &'a PatternSet,
    pub(super) written: &'a [PatternRule],
    /// What git tracks of the names that built-in patterns would hide.
    pub(super) spared: BTreeSet<PathBuf>,
}

impl Rules<'_> {
    /// Returns the number of the pattern that decides about a name.
    pub(super) fn deciding(&self, path: &Path) -> Option<usize> {
        self.patterns.decide_entry(path).map(|decision| decision.rule)
    }

    /// Returns whether a built-in pattern decides about a path: only those spare what is tracked.
    pub(super) fn is_builtin(&self, path: &Path) -> bool {
        let rule = self.patterns.decide(path).and_then(|it| self.written.get(it.rule));
        rule.is_some_and(|rule| matches!(rule.origin, Origin::Profile { .. }))
    }

    /// Returns whether a pattern hides a name, the directories above it left aside.
    pub(super) fn hides(&self, path: &Path) -> bool {
        self.patterns.decide_entry(path).is_some_and(|decision| decision.hidden)
    }

    /// Returns a digest of all that a walk's result depends on, besides the tree.
    pub(super) fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        let patterns = self.written.iter().map(|rule| rule.pattern.as_bytes());
        let spared = self.spared.iter().map(|path| path.as_os_str().as_bytes());
        for text in patterns.chain([&b"\0spared"[..]]).chain(spared) {
            digest.update(text);
            digest.update([0]);
        }
        digest.finalize().into()
    }
}

impl NameRules for Rules<'_> {
    fn may_match_name(&self, name: &[u8]) -> bool {
        self.patterns.may_match_name(name)
    }

    fn decide(&self, relative: &[u8], _is_dir: bool) -> Option<bool> {
        let path = Path::new(OsStr::from_bytes(relative));
        let hidden = self.patterns.decide_entry(path).map(|decision| decision.hidden)?;
        Some(hidden && !(self.spared.contains(path) && self.is_builtin(path)))
    }

    fn needs_walk(&self) -> bool {
        !self.patterns.is_empty()
    }

    fn depth_limit(&self) -> Option<usize> {
        self.patterns.anchored_depth()
    }
}
