//! Protected names, and the names that lead to them.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::set::names;
use super::{PatternError, PatternRule, PatternSet};

/// Compiled patterns of protected names.
#[derive(Clone, Debug)]
pub struct ProtectSet {
    rules: Arc<[PatternRule]>,
    names: PatternSet,
    /// The beginnings of patterns, by the numbers of their rules: a link in the place of one of these
    /// would lead what the pattern guards elsewhere.
    ways: PatternSet,
    /// The paths of the directory below which these hold, where they say more there.
    roots: Vec<PathBuf>,
}

impl ProtectSet {
    /// Compiles patterns; the order counts.
    ///
    /// # Errors
    /// The first pattern that can't be used.
    pub fn new(rules: &[PatternRule]) -> Result<Self, PatternError> {
        let names = PatternSet::new(rules)?;
        let (ways, roots) = (names.beginnings(), Vec::new());
        Ok(Self { rules: rules.into(), names, ways, roots })
    }

    /// Returns what the patterns say below a directory, whose own path may have the beginning of one.
    #[must_use]
    pub fn below(&self, root: &Path) -> Self {
        self.below_all(&[root])
    }

    /// Like [`below`](Self::below) for a directory that has several paths.
    #[must_use]
    pub fn below_all(&self, roots: &[&Path]) -> Self {
        self.narrower(roots).unwrap_or_else(|| self.clone())
    }

    /// Like [`below_all`](Self::below_all); `None` when it says no more than these.
    pub fn narrower(&self, roots: &[&Path]) -> Option<Self> {
        if !roots.iter().any(|root| self.may_begin_above(root)) {
            return None;
        }
        let (names, ways) = (self.names.narrower(roots), self.ways.narrower(roots));
        if names.is_none() && ways.is_none() {
            return None;
        }
        let names = names.unwrap_or_else(|| self.names.clone());
        let ways = ways.unwrap_or_else(|| self.ways.clone());
        let all = self.roots.iter().cloned();
        let roots = all.chain(roots.iter().map(|root| (*root).to_owned())).collect();
        Some(Self { rules: self.rules.clone(), names, ways, roots })
    }

    /// Returns `false` only when no name of a directory's path is one with which a pattern begins.
    fn may_begin_above(&self, root: &Path) -> bool {
        let names = names(root.as_os_str().as_bytes());
        let above = std::iter::once(&b""[..]).chain(names.iter().copied());
        above.zip(&names).any(|(above, name)| self.ways.may_match_name(above, name))
    }

    /// Returns the pattern that protects a path or a directory above it.
    pub fn matching(&self, path: &Path) -> Option<&PatternRule> {
        let decision = self.names.decide(path).filter(|decision| decision.hidden)?;
        self.rules.get(decision.rule)
    }

    /// Like [`matching`](Self::matching), the directories above the path left aside.
    pub fn matching_entry(&self, path: &Path) -> Option<&PatternRule> {
        let decision = self.names.decide_entry(path).filter(|decision| decision.hidden)?;
        self.rules.get(decision.rule)
    }

    /// Returns whether a pattern with `!` has the last word about a path.
    pub fn readmits(&self, path: &Path) -> bool {
        self.names.decide(path).is_some_and(|decision| !decision.hidden)
    }

    /// Returns the pattern to whose names a path leads: a link in its place would lead elsewhere.
    pub fn leading(&self, path: &Path) -> Option<&PatternRule> {
        let decision = self.ways.decide_entry(path).filter(|decision| decision.hidden)?;
        self.rules.get(decision.rule)
    }

    /// Returns the pattern that protects a path, or to whose names it leads.
    pub fn guarding(&self, path: &Path) -> Option<&PatternRule> {
        self.matching(path).or_else(|| self.leading(path))
    }

    /// Returns `false` only when no pattern protects an entry of this name in a directory called
    /// `above`, anywhere.
    pub fn may_match_name(&self, above: &[u8], name: &[u8]) -> bool {
        self.names.may_match_name(above, name)
    }

    /// Returns `false` only when no entry of this name in a directory called `above` leads to a protected one,
    /// anywhere.
    pub fn may_lead_by_name(&self, above: &[u8], name: &[u8]) -> bool {
        self.ways.may_match_name(above, name)
    }

    /// Returns whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns the paths of the directory below which these say more than elsewhere.
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Returns the patterns, in order.
    pub fn rules(&self) -> &[PatternRule] {
        &self.rules
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Origin;

    fn set(patterns: &[&str]) -> ProtectSet {
        let rule = |text: &&str| PatternRule { pattern: (*text).into(), origin: Origin::Default };
        let rules: Vec<PatternRule> = patterns.iter().map(rule).collect();
        ProtectSet::new(&rules).expect("compiled")
    }

    #[test]
    fn beginnings_are_all_that_lead_to_a_name() {
        for (pattern, leading, others) in [
            ("**/.cargo/config{,.toml}", &[".cargo", "a/.cargo"][..], &["a", ".cargo/config"][..]),
            ("**/.github/workflows/**", &[".github", "a/.github/workflows"], &["workflows", "a"]),
            ("endow.toml", &[], &["endow.toml", "a"]),
            ("a/b/c", &["a", "a/b"], &["x/a", "b", "a/b/c"]),
            ("/a/b", &["a"], &["a/b", "x/a"]),
            ("/a", &[], &["a", "b"]),
            ("**/{x/y,z}/d", &["x", "x/y", "z", "a/z"], &["y", "d", "z/d"]),
            ("{a/b,c}", &["a"], &["c", "b", "x/a"]),
            ("a/**/b", &["a"], &["a/c", "b"]),
            ("a\\*/b", &["a*"], &["a", "ab"]),
            ("[ab]/c", &["a", "b"], &["c", "d"]),
        ] {
            let set = set(&[pattern]);
            let leads = |path: &&&str| set.leading(Path::new(path)).is_some();
            assert_eq!(leading.iter().filter(leads).count(), leading.len(), "{pattern}");
            assert_eq!(others.iter().filter(leads).count(), 0, "{pattern}");
        }
    }

    #[test]
    fn names_and_what_leads_to_them_are_told_apart() {
        let set = set(&["**/.cargo/config{,.toml}", ".envrc", "!sub/.envrc"]);
        let text = |rule: Option<&PatternRule>| rule.map(|rule| rule.pattern.clone());
        let name = |path: &str| text(set.matching(Path::new(path)));
        assert_eq!(name("a/.cargo/config.toml").as_deref(), Some("**/.cargo/config{,.toml}"));
        assert_eq!(name(".ENVRC").as_deref(), Some(".envrc"));
        assert_eq!(name("sub/.envrc"), None);
        assert_eq!(name("a/.cargo"), None);
        let way = |path: &str| text(set.leading(Path::new(path)));
        assert_eq!(way("a/.cargo").as_deref(), Some("**/.cargo/config{,.toml}"));
        assert_eq!(way("a/.cargo/config"), None);
        assert!(
            set.may_match_name(b".cargo", b"config") && !set.may_match_name(b"src", b"main.rs")
        );
        assert!(
            set.may_lead_by_name(b"a", b".cargo") && !set.may_lead_by_name(b".cargo", b"config")
        );
    }
}
