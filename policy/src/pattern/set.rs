//! Many patterns, asked together.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use super::below::below;
use super::compile::{Compiled, Rule, compile};
use super::fold::folded;
use super::last::{Choice, LastNames};
use super::{PatternError, PatternRule};

/// What the patterns say about one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The path is hidden; otherwise a pattern with `!` re-admits it.
    pub hidden: bool,
    /// The index of the pattern that decides.
    pub rule: usize,
}

/// Compiled patterns, shared by their copies. Asking costs time for the patterns whose last name could match, so that
/// ten thousand patterns of plain names cost about as much as ten.
#[derive(Clone, Debug)]
pub struct PatternSet {
    rules: Arc<[Rule]>,
    last: Arc<LastNames>,
}

impl PatternSet {
    /// Compiles patterns; the order counts.
    ///
    /// # Errors
    /// The first pattern that can't be used.
    pub fn new(patterns: &[PatternRule]) -> Result<Self, PatternError> {
        let compiled = patterns.iter().map(|rule| {
            compile(&rule.pattern).map_err(|fault| PatternError {
                pattern: rule.pattern.clone(),
                origin: rule.origin.clone(),
                fault,
            })
        });
        let rules = compiled.collect::<Result<Vec<_>, _>>()?;
        Ok(Self::of(rules))
    }

    pub(super) fn of(rules: Vec<Rule>) -> Self {
        let last = Arc::new(LastNames::of(&rules));
        Self { rules: rules.into(), last }
    }

    /// Returns what the patterns say below a directory, whose own path may have the beginning of one.
    #[must_use]
    pub fn below(&self, root: &Path) -> Self {
        self.narrower(&[root]).unwrap_or_else(|| self.clone())
    }

    /// Like [`below`](Self::below) for a directory that has several paths; `None` when it says no more than these.
    pub fn narrower(&self, roots: &[&Path]) -> Option<Self> {
        below(&self.rules, roots).map(Self::of)
    }

    /// Returns what leads to the names that these match, by the same numbers.
    pub(super) fn beginnings(&self) -> Self {
        Self::of(self.rules.iter().map(Rule::beginnings).collect())
    }

    /// Returns what holds for a path relative to the mount's root, its directories included;
    /// `None` when no pattern speaks of it. The root itself is never hidden.
    pub fn decide(&self, relative: &Path) -> Option<Decision> {
        strictest(relative, |names| {
            let mut above = (1..names.len()).filter_map(|end| self.decide_names(&names[..end]));
            above.find(|decision| decision.hidden).or_else(|| self.decide_names(names))
        })
    }

    /// Like [`decide`](Self::decide) for a walker that has not entered hidden directories: the
    /// directories above the path are taken as visible.
    pub fn decide_entry(&self, relative: &Path) -> Option<Decision> {
        strictest(relative, |names| self.decide_names(names))
    }

    /// Returns whether a path is hidden.
    pub fn hides(&self, relative: &Path) -> bool {
        self.decide(relative).is_some_and(|decision| decision.hidden)
    }

    /// Returns `false` only when no pattern can decide about an entry of this name in a directory
    /// called `above`, anywhere. At the mount's root that is empty.
    pub fn may_match_name(&self, above: &[u8], name: &[u8]) -> bool {
        let may = |above: &[u8], name: &[u8]| self.last.candidates(above, name).next().is_some();
        let is_plain = above.is_ascii() && name.is_ascii();
        may(above, name) || (!is_plain && may(&folded(above), &folded(name)))
    }

    /// Returns whether some pattern can match at any depth, so that only a walk of the whole
    /// tree finds everything.
    pub fn is_any_depth(&self) -> bool {
        self.anchored_depth().is_none()
    }

    /// Returns how many names deep a walk must look when every pattern is anchored at the
    /// mount's root; `None` when some pattern matches at any depth.
    pub fn anchored_depth(&self) -> Option<usize> {
        let readmits = self.rules.iter().any(|rule| !rule.hides);
        let mut deepest = 0;
        for choice in self.rules.iter().flat_map(|rule| &rule.choices) {
            if readmits && choice.last_name().1 {
                return None;
            }
            deepest = deepest.max(choice.depth()?);
        }
        Some(deepest)
    }

    /// Returns whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub(super) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    fn decide_names(&self, names: &[&[u8]]) -> Option<Decision> {
        let (last, above) = names.split_last()?;
        let mut best: Option<usize> = None;
        for place in self.last.candidates(above.last().copied().unwrap_or_default(), last) {
            if best.is_none_or(|best| place.rule > best) && self.pattern(place).matches(names) {
                best = Some(place.rule);
            }
        }
        best.map(|rule| Decision { hidden: self.rules[rule].hides, rule })
    }

    fn pattern(&self, place: Choice) -> &Compiled {
        &self.rules[place.rule].choices[place.choice]
    }
}

/// Decides by the names as they are, and as a folding file system may take them: no way of writing a name
/// gets around a pattern that hides.
fn strictest(relative: &Path, decide: impl Fn(&[&[u8]]) -> Option<Decision>) -> Option<Decision> {
    let bytes = relative.as_os_str().as_bytes();
    let decided = decide(&names(bytes));
    let is_hidden = |decision: &Decision| decision.hidden;
    if bytes.is_ascii() || decided.as_ref().is_some_and(is_hidden) {
        return decided;
    }
    decide(&names(&folded(bytes))).filter(is_hidden).or(decided)
}

pub(super) fn names(relative: &[u8]) -> Vec<&[u8]> {
    relative.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".").collect()
}
