//! Some of many patterns: those of one author, those that lead into a directory.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::compile::{Compiled, Part, Rule};
use super::fold::folded;
use super::set::{PatternSet, names};

impl PatternSet {
    /// Returns what the chosen patterns say, by the same numbers; `None` when they hide nothing.
    pub fn only(&self, is_chosen: impl Fn(usize) -> bool) -> Option<Self> {
        self.some(|number, rule| if is_chosen(number) { rule.choices.clone() } else { Vec::new() })
    }

    /// Returns what is said of directories of this name on purpose, by the same numbers: by patterns that have
    /// the name, or that match at no depth but one. `None` when these hide nothing.
    #[must_use]
    pub fn leading_into(&self, name: &str) -> Option<Self> {
        let leads = |choice: &Compiled| choice.depth().is_some() || choice.has_name(name);
        self.some(|_, rule| {
            let choices = rule.choices.iter().filter(|choice| !rule.hides || leads(choice));
            choices.cloned().collect()
        })
    }

    /// Returns `false` only when no pattern that hides can match below a directory.
    #[must_use]
    pub fn may_hide_below(&self, relative: &Path) -> bool {
        let bytes = relative.as_os_str().as_bytes();
        let hiding = || self.rules().iter().filter(|rule| rule.hides).flat_map(|it| &it.choices);
        let may = |path: &[u8]| hiding().any(|choice| choice.goes_on_below(&names(path)));
        may(bytes) || (!bytes.is_ascii() && may(&folded(bytes)))
    }

    fn some(&self, choices: impl Fn(usize, &Rule) -> Vec<Compiled>) -> Option<Self> {
        let rules = self.rules().iter().enumerate();
        let rules = rules.map(|(number, rule)| {
            let choices = choices(number, rule);
            Rule { hides: rule.hides, choices }
        });
        let rules: Vec<Rule> = rules.collect();
        let hides = rules.iter().any(|rule| rule.hides && !rule.choices.is_empty());
        hides.then(|| Self::of(rules))
    }
}

impl Compiled {
    fn has_name(&self, name: &str) -> bool {
        let is_it = |part: &Part| match part {
            Part::Name(pattern) => pattern.plain() == Some(name.as_bytes()),
            Part::Any => false,
        };
        self.parts.iter().any(is_it)
    }

    /// Returns whether something is left of it when its beginning has matched a path.
    fn goes_on_below(&self, names: &[&[u8]]) -> bool {
        let mut begun = BTreeSet::from([0]);
        for name in names {
            begun = begun.iter().flat_map(|at| self.after(*at, name)).collect();
        }
        begun.iter().any(|at| *at < self.parts.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::set;
    use super::*;

    fn hides(set: Option<&PatternSet>, path: &str) -> bool {
        set.is_some_and(|set| set.hides(path.as_ref()))
    }

    #[test]
    fn chosen_patterns_keep_their_numbers() {
        let all = set(&[".env", "*.key", "!a.key", "b.key"]);
        let some = all.only(|number| number > 0).expect("hides");
        assert!(!hides(Some(&some), ".env") && !hides(Some(&some), "a.key"));
        assert_eq!(some.decide("b.key".as_ref()).map(|it| it.rule), Some(3));
        assert!(all.only(|number| number == 2).is_none());
    }

    #[test]
    fn patterns_lead_into_a_directory_on_purpose() {
        let all = set(&["*.key", "**/x", ".git/a", "**/.git/b", "a/*/c", "a/**/d", "!.git/a/y"]);
        let into = all.leading_into(".git").expect("hides");
        for path in [".git/a", "s/.git/b", "a/.git/c", ".git/a/z"] {
            assert!(hides(Some(&into), path), "{path}");
        }
        for path in [".git/y.key", ".git/x", "a/.git/d"] {
            assert!(!hides(Some(&into), path), "{path}");
        }
        assert!(set(&["*.key", "**/x/**"]).leading_into(".git").is_none());
    }

    #[test]
    fn patterns_that_go_on_below_a_directory_are_known() {
        for (pattern, path, expected) in [
            ("*.key", "vendor", true),
            ("vendor/a/b", "vendor", true),
            ("vendor/a/b", "vendor/a", true),
            ("vendor/a/b", "vendor/b", false),
            ("vendor/a/b", "vendor/a/b", false),
            ("vendor/*", "node_modules", false),
            ("VENDOR/*", "vendor", true),
            ("vendor/**", "vendor/a", true),
            ("{a,vendor}/b", "vendor", true),
            ("a/**/b", "a/x/vendor", true),
            ("!vendor/a", "vendor", false),
            ("vendors/b", "vendor\u{17f}", true),
        ] {
            assert_eq!(set(&[pattern]).may_hide_below(path.as_ref()), expected, "{pattern} {path}");
        }
    }
}
