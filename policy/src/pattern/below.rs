//! What patterns say below a directory whose own path begins to match them: `**/.docker/config.json` below
//! `~/.docker` is `config.json`.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::compile::{Compiled, Part, Rule};
use super::set::names;

/// Returns the rules with what they say below a directory too, by each of its paths; `None` when that is nothing more.
///
/// Only a pattern that matches at any depth has a beginning there. One that matches the root itself, or a
/// directory above it, says nothing, nor does one that matches all that is in it: whoever grants `~/.ssh` means what is in it.
pub(super) fn below(rules: &[Rule], roots: &[&Path]) -> Option<Vec<Rule>> {
    let paths: Vec<_> = roots.iter().map(|root| names(root.as_os_str().as_bytes())).collect();
    let rests = |rule: &Rule| -> Vec<Compiled> {
        let by_all = |choice| paths.iter().flat_map(move |names| rests(choice, names));
        rule.choices.iter().flat_map(by_all).collect()
    };
    let begun: Vec<Vec<Compiled>> = rules.iter().map(rests).collect();
    let with = |(rule, rests): (&Rule, Vec<Compiled>)| Rule {
        hides: rule.hides,
        choices: [&rule.choices[..], &rests].concat(),
    };
    let is_more = begun.iter().any(|rests| !rests.is_empty());
    is_more.then(|| rules.iter().zip(begun).map(with).collect())
}

/// Returns what is left of a pattern when its beginning has matched the end of a path.
fn rests(pattern: &Compiled, names: &[&[u8]]) -> Vec<Compiled> {
    let [Part::Any, first, _, ..] = &pattern.parts[..] else { return Vec::new() };
    if !names.iter().any(|name| first.is_name(name)) || pattern.covers(names) {
        return Vec::new();
    }
    let mut begun: BTreeSet<usize> = BTreeSet::from([0]);
    for name in names {
        begun = begun.iter().flat_map(|at| pattern.after(*at, name)).collect();
    }
    // The first parts are `**` and what follows it: the pattern itself.
    let rests = begun.into_iter().filter(|at| *at > 1).map(|at| pattern.parts[at..].to_vec());
    let is_all = |parts: &[Part]| matches!(parts, [Part::Name(name)] if name.is_any());
    let is_some = |parts: &Vec<Part>| !parts.is_empty() && !is_all(parts);
    rests.filter(is_some).map(|parts| Compiled { parts }).collect()
}

impl Compiled {
    /// Returns whether the pattern matches a path or a directory above it.
    fn covers(&self, names: &[&[u8]]) -> bool {
        (1..=names.len()).any(|end| self.matches(&names[..end]))
    }

    /// Returns the parts that may come next when the part `at` has met a name.
    pub(super) fn after(&self, at: usize, name: &[u8]) -> Vec<usize> {
        match self.parts.get(at) {
            Some(Part::Any) => [vec![at], self.after(at + 1, name)].concat(),
            Some(part) if part.is_name(name) => vec![at + 1],
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{PatternRule, PatternSet, ProtectSet};
    use super::*;
    use crate::Origin;

    fn rules(patterns: &[&str]) -> Vec<PatternRule> {
        let rule = |text: &&str| PatternRule { pattern: (*text).into(), origin: Origin::Default };
        patterns.iter().map(rule).collect()
    }

    fn set(patterns: &[&str], root: &str) -> PatternSet {
        PatternSet::new(&rules(patterns)).expect("compiled").below(Path::new(root))
    }

    #[test]
    fn directory_granted_alone_hides_what_its_parent_would() {
        let hides =
            |pattern: &str, root: &str, path: &str| set(&[pattern], root).hides(path.as_ref());
        assert!(hides("**/.docker/config.json", "/home/u/.docker", "config.json"));
        assert!(!hides("**/.docker/config.json", "/home/u/.docker", "sub/config.json"));
        assert!(!hides("**/.docker/config.json", "/home/u/docker", "config.json"));
        assert!(hides("**/.config/{gh,hub}/**", "/home/u/.config", "hub/x"));
        assert!(hides("**/a/b/c", "/x/a/b", "c") && hides("**/a/b/c", "/x/a", "b/c"));
        assert!(hides("**/a/**/c", "/x/a/y", "z/c") && hides("**/a/**/c", "/x/a", "c"));
        assert!(!hides("a/b", "/x/a", "b"), "it is for the root of a mount");
        assert!(!hides("/a/b", "/a", "b"));
    }

    #[test]
    fn directory_that_is_hidden_itself_shows_what_is_in_it() {
        for root in ["/home/u/.ssh", "/home/u/.ssh/keys", "/home/u/.config/gh"] {
            let set = set(&["**/.ssh/**", "**/.config/gh/**"], root);
            assert!(!set.hides("known_hosts".as_ref()), "{root}");
        }
        assert!(set(&["**/.ssh/**", "*.key"], "/home/u/.ssh").hides("a.key".as_ref()));
        let all = set(&["**/.x/*", "!**/.x/trees"], "/home/u/.x");
        assert!(
            !all.hides("a".as_ref()) && !all.hides("trees".as_ref()) && all.hides(".x/a".as_ref())
        );
    }

    #[test]
    fn rules_keep_their_numbers_and_their_order() {
        let set = set(&["*.x", "**/d/a/**", "!**/d/a/b"], "/d");
        let decided = |path: &str| set.decide_entry(path.as_ref()).map(|it| (it.hidden, it.rule));
        assert_eq!(decided("a"), Some((true, 1)));
        assert_eq!(decided("a/b"), Some((false, 2)));
        assert_eq!(decided("b"), None);
    }

    #[test]
    fn each_path_of_a_directory_counts_by_itself() {
        let patterns = ["**/.docker/config.json", "!**/shown/config.json", "**/.ssh/**"];
        let set = PatternSet::new(&rules(&patterns)).expect("compiled");
        let hides = |roots: &[&str], path: &str| {
            let roots: Vec<&Path> = roots.iter().map(Path::new).collect();
            set.narrower(&roots).is_some_and(|set| set.hides(path.as_ref()))
        };
        assert!(hides(&["/h/dotfiles/docker", "/h/.docker"], "config.json"));
        assert!(!hides(&["/h/dotfiles/docker"], "config.json"));
        assert!(!hides(&["/h/.docker", "/h/shown"], "config.json"), "the last one decides");
        assert!(!hides(&["/h/.docker", "/h/.ssh"], "key"), "whoever names it means it");
    }

    #[test]
    fn ways_begin_there_too() {
        let set = ProtectSet::new(&rules(&["**/.github/workflows/**"])).expect("compiled");
        let set = set.below(Path::new("/p/.github"));
        assert!(set.matching(Path::new("workflows/ci.yml")).is_some());
        let set = ProtectSet::new(&rules(&["**/a/b/c"])).expect("compiled");
        assert!(set.below(Path::new("/p/a")).leading(Path::new("b")).is_some());
    }

    fn pattern() -> impl Strategy<Value = String> {
        let name = || prop_oneof!["[ab]", Just("*".to_owned()), Just("**".to_owned())];
        prop::collection::vec(name(), 1..5).prop_map(|names| format!("**/{}", names.join("/")))
    }

    proptest! {
        /// As if the parent had been granted, but for what the root itself matches.
        #[test]
        fn below_is_what_the_whole_path_says(
            pattern in pattern(),
            root in prop::collection::vec("[ab]", 1..4),
            path in prop::collection::vec("[ab]", 1..4),
        ) {
            let (root, path) = (root.join("/"), path.join("/"));
            let plain = PatternSet::new(&rules(&[&pattern])).expect("compiled");
            let ancestors = Path::new(&root).ancestors().filter(|it| !it.as_os_str().is_empty());
            let is_root = ancestors.map(|it| plain.decide(it)).any(|it| it.is_some());
            let whole = plain.decide(&Path::new(&root).join(&path));
            let below = plain.below(Path::new(&root)).decide(Path::new(&path));
            let own = plain.decide(Path::new(&path));
            // What matches all that is in the root says nothing of it.
            let above = pattern.strip_suffix("/*").filter(|it| *it != "**");
            let above = above.and_then(|it| PatternSet::new(&rules(&[it])).ok());
            prop_assume!(above.is_none_or(|it| it.decide(Path::new(&root)).is_none()));
            let expected = if is_root { own } else { whole };
            prop_assert_eq!(below, expected, "{} below {}", path, root);
        }
    }
}
