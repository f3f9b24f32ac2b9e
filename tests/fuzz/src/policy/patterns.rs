//! Patterns of paths, asked for the same in several ways.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use endow_policy::{Origin, PatternRule, PatternSet};

/// The first line is a path, the others are patterns.
pub(super) fn patterns(input: &[u8]) {
    let mut lines = input.split(|byte| *byte == b'\n');
    let path = lines.next().unwrap_or_default();
    let rules = lines.take(16).filter_map(|line| std::str::from_utf8(line).ok());
    let rules = rules.map(|line| PatternRule { pattern: line.to_owned(), origin: Origin::Default });
    let rules: Vec<PatternRule> = rules.collect();
    let set = match PatternSet::new(&rules) {
        Ok(set) => set,
        Err(error) => {
            assert!(rules.contains(&PatternRule { pattern: error.pattern, origin: error.origin }));
            return assert!(error.fault.to_string().starts_with("pattern"));
        }
    };
    assert_eq!(set.is_empty(), rules.is_empty());
    ask(&set, path);
    alone(&rules, path);
}

fn ask(set: &PatternSet, bytes: &[u8]) {
    let path = Path::new(OsStr::from_bytes(bytes));
    let entry = set.decide_entry(path);
    assert_eq!(set.hides(path), set.decide(path).is_some_and(|it| it.hidden));
    let names: Vec<&[u8]> =
        bytes.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b".")).collect();
    if let Some((last, above)) = names.split_last() {
        let above = above.last().copied().unwrap_or_default();
        assert!(entry.is_none() || set.may_match_name(above, last), "a name that can't match does");
    } else {
        assert!(entry.is_none(), "the root is never hidden");
    }
    if let Some(depth) = set.anchored_depth() {
        let deep = names.len() > depth && names.iter().all(|name| name.len() < 256);
        // Deeper, only what stands above decides.
        let above = names.iter().take(depth).copied().collect::<Vec<_>>().join(&b'/');
        let above = set.hides(Path::new(OsStr::from_bytes(&above)));
        assert!(!deep || set.hides(path) == above, "something is hidden deeper than {depth}");
    }
    // Below what is hidden, all is.
    let below = set.hides(&path.join("x"));
    assert!(names.is_empty() || !set.hides(path) || below);
    // ASCII letters match in either case.
    let upper = bytes.to_ascii_uppercase();
    let other = set.decide(Path::new(OsStr::from_bytes(&upper)));
    assert_eq!(other, set.decide(path), "case makes a difference");
}

/// The last pattern that matches alone decides. What lies below a hidden directory is not asked about,
/// as long as no other pattern opens it again.
fn alone(rules: &[PatternRule], bytes: &[u8]) {
    if rules.iter().any(|rule| rule.pattern.contains("**")) {
        return;
    }
    let path = Path::new(OsStr::from_bytes(bytes));
    let matches = |rule: &&PatternRule| {
        let set = PatternSet::new(std::slice::from_ref(*rule)).expect("it was taken before");
        set.decide_entry(path).is_some()
    };
    let last = rules.iter().rposition(|rule| matches(&rule));
    let set = PatternSet::new(rules).expect("they were taken before");
    assert_eq!(set.decide_entry(path).map(|it| it.rule), last);
}
