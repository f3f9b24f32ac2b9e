//! The deny patterns as the walk asks them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::{Decision, Origin, PatternError, PatternRule, PatternSet, ProtectSet};
use endow_vfs::names::{Foreign, NameRules, vendored_above};
use sha2::{Digest, Sha256};

/// The directory of git's in a work tree.
const GIT: &str = ".git";

/// Compiled patterns of names that are hidden.
#[derive(Clone, Debug)]
pub(super) struct Denied {
    patterns: PatternSet,
    /// Those that somebody wrote: they alone count below other people's code, whose keys are test data.
    own: Option<PatternSet>,
    /// Those of them that lead into what git keeps.
    into_git: Option<PatternSet>,
}

impl Denied {
    pub(super) fn new(written: &[PatternRule]) -> Result<Self, PatternError> {
        Ok(Self::of(PatternSet::new(written)?, written))
    }

    fn of(patterns: PatternSet, written: &[PatternRule]) -> Self {
        let own = patterns.only(|number| written.get(number).is_some_and(|it| !is_builtin(it)));
        let into_git = own.as_ref().and_then(|own| own.leading_into(GIT));
        Self { patterns, own, into_git }
    }

    /// Returns what holds for a path, the directories above it included.
    fn decide(&self, path: &Path) -> Option<Decision> {
        let Some(vendored) = vendored_above(path) else { return self.patterns.decide(path) };
        let above = self.patterns.decide(vendored).filter(|decision| decision.hidden);
        above.or_else(|| self.own.as_ref()?.decide(path))
    }

    /// Returns whether a walk finds a path hidden, where some directories that are called `.git` are git's.
    pub(super) fn hides(&self, path: &Path, is_git: &dyn Fn(&Path) -> bool) -> bool {
        let is_hidden = |decided: Option<Decision>| decided.is_some_and(|it| it.hidden);
        let above = path.ancestors().skip(1).filter(|it| it.file_name() == Some(GIT.as_ref()));
        match above.filter(|it| is_git(it)).last() {
            Some(git) => {
                let into = self.into_git.as_ref().and_then(|into| into.decide(path));
                is_hidden(self.decide(git)) || is_hidden(into)
            }
            None => is_hidden(self.decide(path)),
        }
    }

    /// Returns the rules that hold below a directory of these paths, where they say more there.
    pub(super) fn narrower(&self, roots: &[&Path], written: &[PatternRule]) -> Option<Self> {
        Some(Self::of(self.patterns.narrower(roots)?, written))
    }

    /// Returns the patterns that count in what is not the project's own.
    fn foreign(&self, foreign: Foreign) -> Option<&PatternSet> {
        match foreign {
            Foreign::Vendored => self.own.as_ref(),
            Foreign::Git => self.into_git.as_ref(),
        }
    }
}

/// Whether a pattern is of the list that is part of endow.
fn is_builtin(rule: &PatternRule) -> bool {
    matches!(rule.origin, Origin::Profile { .. })
}

/// Compiled patterns, and what is spared from them.
pub(super) struct Rules<'a> {
    pub(super) denied: &'a Denied,
    pub(super) written: &'a [PatternRule],
    /// What is noted on the way besides repositories, where the tree is live.
    pub(super) protect: Option<&'a ProtectSet>,
    /// The whole tree is walked, whatever the patterns are.
    pub(super) is_whole: bool,
    /// What is called `.git` is noted in other people's code, too.
    pub(super) is_over: bool,
    /// The paths of the directory, of which one has the beginning of a pattern.
    pub(super) below: &'a [&'a Path],
    /// What git tracks of the names that built-in patterns would hide.
    pub(super) spared: BTreeSet<PathBuf>,
}

impl<'a> Rules<'a> {
    pub(super) fn of(denied: &'a Denied, written: &'a [PatternRule]) -> Self {
        let spared = BTreeSet::new();
        let (is_whole, is_over) = (false, false);
        Self { denied, written, protect: None, is_whole, is_over, below: &[], spared }
    }

    /// Returns what the patterns say below a directory of these paths, where that is more than these.
    pub(super) fn narrower(&self, roots: &[&Path]) -> Option<(Denied, Option<ProtectSet>)> {
        let denied = self.denied.narrower(roots, self.written);
        let protect = self.protect.and_then(|it| it.narrower(roots));
        if denied.is_none() && protect.is_none() {
            return None;
        }
        let denied = denied.unwrap_or_else(|| self.denied.clone());
        Some((denied, protect.or_else(|| self.protect.cloned())))
    }

    /// Returns the same rules with these patterns, which count below a directory.
    pub(super) fn with<'b>(
        &self,
        (denied, protect): &'b (Denied, Option<ProtectSet>),
        below: &'b [&'b Path],
    ) -> Rules<'b>
    where
        'a: 'b,
    {
        Rules { denied, protect: protect.as_ref(), below, spared: BTreeSet::new(), ..*self }
    }
}

impl Rules<'_> {
    /// Returns the number of the pattern that decides about a name.
    pub(super) fn deciding(&self, path: &Path) -> Option<usize> {
        self.denied.decide(path).map(|decision| decision.rule)
    }

    /// Returns whether a built-in pattern decides about a path: only those spare what is tracked.
    pub(super) fn is_builtin(&self, path: &Path) -> bool {
        let rule = self.denied.decide(path).and_then(|it| self.written.get(it.rule));
        rule.is_some_and(is_builtin)
    }

    /// Returns whether a pattern hides a path, or a directory above it.
    pub(super) fn hides(&self, path: &Path) -> bool {
        self.denied.decide(path).is_some_and(|decision| decision.hidden)
    }

    /// Returns whether every directory is walked.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole || self.denied.patterns.is_any_depth()
    }

    /// Returns a digest of all that a walk's result depends on, besides the tree and what is spared.
    pub(super) fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        let mut add = |text: &[u8]| {
            digest.update(text);
            digest.update([0]);
        };
        for rule in self.written {
            add(rule.pattern.as_bytes());
            add(if is_builtin(rule) { b"built-in" } else { b"" });
        }
        add(b"\0noted with all links, repositories everywhere, also what was one");
        let noted = self.protect.iter().flat_map(|it| it.rules());
        noted.for_each(|rule| add(rule.pattern.as_bytes()));
        add(if self.is_whole() { b"\0whole" } else { b"" });
        add(if self.is_over { b"\0over" } else { b"" });
        let begun = self.protect.iter().flat_map(|it| it.roots()).map(PathBuf::as_path);
        let roots = self.below.iter().copied().chain(begun);
        roots.for_each(|root| add(root.as_os_str().as_bytes()));
        digest.finalize().into()
    }

    fn is_spared(&self, path: &Path) -> bool {
        self.spared.contains(path) && self.is_builtin(path)
    }
}

impl NameRules for Rules<'_> {
    fn may_match_name(&self, above: &[u8], name: &[u8]) -> bool {
        let is_of_interest =
            |set: &ProtectSet| set.may_match_name(above, name) || set.may_lead_by_name(above, name);
        // Below a hidden directory that is spared each name is hidden unless it is spared.
        !self.spared.is_empty()
            || name == GIT.as_bytes()
            || self.denied.patterns.may_match_name(above, name)
            || self.protect.is_some_and(is_of_interest)
    }

    fn decide(&self, relative: &[u8], _is_dir: bool) -> Option<bool> {
        let path = Path::new(OsStr::from_bytes(relative));
        if self.spared.is_empty() {
            return self.denied.patterns.decide_entry(path).map(|decision| decision.hidden);
        }
        let hidden = self.denied.decide(path)?.hidden;
        Some(hidden && !self.is_spared(path))
    }

    fn decide_foreign(&self, foreign: Foreign, relative: &[u8]) -> Option<bool> {
        let path = Path::new(OsStr::from_bytes(relative));
        if foreign == Foreign::Vendored && !self.spared.is_empty() {
            return self.decide(relative, false);
        }
        self.denied.foreign(foreign)?.decide_entry(path).map(|decision| decision.hidden)
    }

    fn enters_foreign(&self, foreign: Foreign, relative: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(relative));
        let may_hide = |set: &PatternSet| set.may_hide_below(path);
        // In a directory that is spared, all is hidden that is not.
        let is_spared = || !self.spared.is_empty() && self.hides(path);
        self.denied.foreign(foreign).is_some_and(may_hide)
            || is_spared()
            || (self.is_over && foreign == Foreign::Vendored)
    }

    fn needs_walk(&self) -> bool {
        !self.denied.patterns.is_empty() || self.is_whole
    }

    fn depth_limit(&self) -> Option<usize> {
        self.denied.patterns.anchored_depth().filter(|_| !self.is_whole)
    }

    fn notes(&self, relative: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(relative));
        let is_noted =
            |set: &ProtectSet| set.matching_entry(path).or_else(|| set.leading(path)).is_some();
        path.file_name().is_some_and(|name| name == GIT) || self.protect.is_some_and(is_noted)
    }

    fn notes_foreign(&self, foreign: Foreign, relative: &[u8]) -> bool {
        self.is_over
            && foreign == Foreign::Vendored
            && Path::new(OsStr::from_bytes(relative)).file_name() == Some(OsStr::new(GIT))
    }

    fn notes_repositories(&self) -> bool {
        true
    }

    fn notes_links(&self) -> bool {
        self.protect.is_some()
    }
}
