//! The deny patterns as the walk asks them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::{Origin, PatternRule, PatternSet, ProtectSet};
use endow_vfs::names::NameRules;
use endow_vfs::traps::may_be_held;
use sha2::{Digest, Sha256};

/// The directory of git's in a work tree.
const GIT: &str = ".git";

/// Compiled patterns, and what is spared from them.
pub(super) struct Rules<'a> {
    pub(super) patterns: &'a PatternSet,
    pub(super) written: &'a [PatternRule],
    /// What is noted on the way besides repositories, where the tree is live.
    pub(super) protect: Option<&'a ProtectSet>,
    /// The whole tree is walked, whatever the patterns are.
    pub(super) is_whole: bool,
    /// The directory whose own path has the beginning of a pattern.
    pub(super) below: Option<&'a Path>,
    /// What git tracks of the names that built-in patterns would hide.
    pub(super) spared: BTreeSet<PathBuf>,
}

impl<'a> Rules<'a> {
    /// Takes patterns that nobody wrote: `written` is to be added.
    pub(super) fn of(patterns: &'a PatternSet) -> Self {
        let (written, spared) = (&[][..], BTreeSet::new());
        Self { patterns, written, protect: None, is_whole: false, below: None, spared }
    }

    /// Returns what the patterns say below a directory, where that is more than these.
    pub(super) fn narrower(&self, root: &Path) -> Option<(PatternSet, Option<ProtectSet>)> {
        let patterns = self.patterns.narrower(root);
        let protect = self.protect.and_then(|it| it.narrower(root));
        if patterns.is_none() && protect.is_none() {
            return None;
        }
        let patterns = patterns.unwrap_or_else(|| self.patterns.clone());
        Some((patterns, protect.or_else(|| self.protect.cloned())))
    }

    /// Returns the same rules with these patterns, which count below `root`.
    pub(super) fn with<'b>(
        &self,
        (patterns, protect): &'b (PatternSet, Option<ProtectSet>),
        root: &'b Path,
    ) -> Rules<'b>
    where
        'a: 'b,
    {
        let (patterns, protect, below) = (patterns, protect.as_ref(), Some(root));
        Rules { patterns, protect, below, spared: BTreeSet::new(), ..*self }
    }
}

impl Rules<'_> {
    /// Returns the number of the pattern that decides about a name.
    pub(super) fn deciding(&self, path: &Path) -> Option<usize> {
        self.patterns.decide(path).map(|decision| decision.rule)
    }

    /// Returns whether a built-in pattern decides about a path: only those spare what is tracked.
    pub(super) fn is_builtin(&self, path: &Path) -> bool {
        let rule = self.patterns.decide(path).and_then(|it| self.written.get(it.rule));
        rule.is_some_and(|rule| matches!(rule.origin, Origin::Profile { .. }))
    }

    /// Returns whether a pattern hides a path, or a directory above it.
    pub(super) fn hides(&self, path: &Path) -> bool {
        self.patterns.hides(path)
    }

    /// Returns whether every directory is walked.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole || self.patterns.is_any_depth()
    }

    /// Returns a digest of all that a walk's result depends on, besides the tree and what is spared.
    pub(super) fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        let patterns = self.written.iter().map(|rule| rule.pattern.as_bytes());
        let noted = self.protect.iter().flat_map(|it| it.rules());
        let noted = noted.map(|rule| rule.pattern.as_bytes());
        let depth: &[u8] = if self.is_whole() { b"\0whole" } else { b"" };
        let below = self.below.iter().map(|root| root.as_os_str().as_bytes());
        let noted = noted.chain([depth]).chain(below);
        for text in
            patterns.chain([&b"\0noted with links, repositories everywhere"[..]]).chain(noted)
        {
            digest.update(text);
            digest.update([0]);
        }
        digest.finalize().into()
    }
}

impl NameRules for Rules<'_> {
    fn may_match_name(&self, above: &[u8], name: &[u8]) -> bool {
        let is_of_interest =
            |set: &ProtectSet| set.may_match_name(above, name) || set.may_lead_by_name(above, name);
        // Below a hidden directory that is spared each name is hidden unless it is spared.
        !self.spared.is_empty()
            || name == GIT.as_bytes()
            || self.patterns.may_match_name(above, name)
            || self.protect.is_some_and(is_of_interest)
    }

    fn decide(&self, relative: &[u8], _is_dir: bool) -> Option<bool> {
        let path = Path::new(OsStr::from_bytes(relative));
        if self.spared.is_empty() {
            return self.patterns.decide_entry(path).map(|decision| decision.hidden);
        }
        let hidden = self.patterns.decide(path)?.hidden;
        Some(hidden && !(self.spared.contains(path) && self.is_builtin(path)))
    }

    fn needs_walk(&self) -> bool {
        !self.patterns.is_empty() || self.is_whole
    }

    fn depth_limit(&self) -> Option<usize> {
        self.patterns.anchored_depth().filter(|_| !self.is_whole)
    }

    fn notes(&self, relative: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(relative));
        let is_noted =
            |set: &ProtectSet| set.matching_entry(path).or_else(|| set.leading(path)).is_some();
        path.file_name().is_some_and(|name| name == GIT) || self.protect.is_some_and(is_noted)
    }

    fn notes_repositories(&self) -> bool {
        true
    }

    fn notes_links(&self) -> bool {
        self.protect.is_some()
    }

    fn notes_link(&self, relative: &[u8], target: &OsStr) -> bool {
        let link = Path::new(OsStr::from_bytes(relative));
        let is_held =
            |set: &ProtectSet| may_be_held(link, target, &|path| set.guarding(path).is_some());
        self.protect.is_some_and(is_held)
    }
}
