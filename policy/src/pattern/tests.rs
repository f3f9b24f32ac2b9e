//! The matcher against a table, and against a slow one that says what is meant.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;

pub(super) fn set(patterns: &[&str]) -> PatternSet {
    PatternSet::new(&rules(patterns)).unwrap_or_else(|error| panic!("{error}"))
}

fn rules(patterns: &[&str]) -> Vec<PatternRule> {
    let origin = Origin::Flag(Arc::from("--deny"));
    let rule =
        |pattern: &&str| PatternRule { pattern: (*pattern).to_owned(), origin: origin.clone() };
    patterns.iter().map(rule).collect()
}

fn hides(patterns: &[&str], path: &str) -> bool {
    set(patterns).hides(Path::new(path))
}

#[test]
fn single_patterns() {
    #[rustfmt::skip]
    let table = [
        // No slash: any depth.
        (".env", ".env", true), (".env", "a/.env", true), (".env", "a/b/c/.env", true),
        (".env", ".envrc", false), (".env", "x.env", false), (".env", "env", false),
        // What lies below.
        (".ssh", ".ssh/id_rsa", true), (".ssh", "a/.ssh/x/y", true), (".ssh", "a.ssh/x", false),
        // Letters in either case.
        (".env", ".ENV", true), ("*.PEM", "a.pem", true), ("[A-C]x", "bX", true), ("[a-c]", "D", false),
        // Star within a name.
        ("*.pem", "a.pem", true), ("*.pem", ".pem", true), ("*.pem", "a.pem.txt", false),
        ("*.pem", "d/a.pem", true), ("a*c", "abc", true), ("a*c", "ac", true), ("a*c", "a/c", false),
        ("*", "anything", true), ("*", ".hidden", true), ("a*b*c", "aXbYc", true), ("a*b*c", "aXcYb", false),
        ("*a*a*", "banana", true), ("*ab", "aab", true), ("*aab", "aaaab", true), ("x*", "ax", false),
        // Question mark.
        ("?", "a", true), ("?", "é", true), ("?", "ab", false), ("a?c", "abc", true), ("a?c", "a/c", false), ("?.pem", ".pem", false),
        // Classes.
        ("[ab]", "a", true), ("[ab]", "c", false), ("[!ab]", "c", true), ("[^ab]", "a", false),
        ("[a-c]1", "b1", true), ("[]]", "]", true), ("[!]]", "]", false), ("[a-]", "-", true),
        ("[*]", "*", true), ("[*]", "a", false), ("[é]", "é", true), ("[à-ü]", "é", true),
        // Escapes.
        ("\\*", "*", true), ("\\*", "a", false), ("\\!x", "!x", true), ("a\\?", "a?", true), ("\\{a,b\\}", "{a,b}", true),
        // A slash anchors.
        ("a/b", "a/b", true), ("a/b", "x/a/b", false), ("/a", "a", true), ("/a", "x/a", false),
        ("a/*", "a/b", true), ("a/*", "a", false), ("a/*", "a/b/c", true), ("a/*/c", "a/b/c", true), ("a/*/c", "a/c", false),
        // Double star.
        ("**/a", "a", true), ("**/a", "x/y/a", true), ("a/**", "a", true), ("a/**", "a/b/c", true),
        ("a/**", "b/a", false), ("a/**", "ab", false), ("a/**/b", "a/b", true), ("a/**/b", "a/x/y/b", true),
        ("a/**/b", "a/x/y", false), ("**", "x", true), ("**/a/**", "x/a/y", true), ("**/a/**/b", "a/b", true),
        ("**/**/a", "a", true), ("**/a/*", "a", false), ("**/a/*/**/b", "a/x/b", true), ("**/x/y", "x/x/y", true),
        // Choices.
        ("*.{pem,key}", "a.key", true), ("*.{pem,key}", "a.txt", false), ("{a,b}/c", "b/c", true),
        ("{a,b/c}/d", "b/c/d", true), ("x{,y}", "x", true), ("x{,y}", "xy", true), ("{a,{b,c}}", "c", true),
        ("id_{rsa,dsa}", "id_rsa", true), ("id_{rsa,dsa}", "id_rsa.pub", false), ("{x}", "x", true),
        // Odd names.
        ("*", "new\nline", true), ("a b", "a b", true), ("{a,b}", "{a,b}", false), ("x", "./x", true), ("x", "a//x", true),
        ("x", "", false), ("**", "", false), ("*", ".", false),
    ];
    assert!(table.len() >= 60);
    for (pattern, path, expected) in table {
        assert_eq!(hides(&[pattern], path), expected, "{pattern} on {path:?}");
        assert_eq!(
            reference::hides(&rules(&[pattern]), path),
            expected,
            "slow: {pattern} on {path:?}"
        );
    }
}

#[test]
fn patterns_in_order() {
    for (patterns, path, expected) in [
        (&["*.env", "!a.env"][..], "a.env", false),
        (&["*.env", "!a.env"], "b.env", true),
        (&["!a.env", "*.env"], "a.env", true),
        (&["*.env", "!a.env", "a.*"], "a.env", true),
        (&["s/**", "!s/public"], "s/public", true),
        (&["s/*", "!s/public"], "s/public", false),
        (&["s/*", "!s/public"], "s/public/x", false),
        (&["s/**", "!s"], "s", false),
        (&["s/**", "!s"], "s/x", true),
        (&["!x"], "x", false),
        (&[], "x", false),
    ] {
        assert_eq!(hides(patterns, path), expected, "{patterns:?} on {path}");
    }
}

#[test]
fn decisions_name_the_rule() {
    let set = set(&["*.pem", "secrets/**", "!ca.pem"]);
    let decide = |path: &str| set.decide(Path::new(path)).map(|d| (d.hidden, d.rule));
    assert_eq!(decide("x.pem"), Some((true, 0)));
    assert_eq!(decide("ca.pem"), Some((false, 2)));
    assert_eq!(decide("secrets/ca.pem"), Some((true, 1)));
    assert_eq!(decide("other"), None);
}

#[test]
fn names_that_are_not_utf8() {
    use std::os::unix::ffi::OsStrExt;
    let path = |bytes: &'static [u8]| Path::new(std::ffi::OsStr::from_bytes(bytes));
    assert!(set(&["*.pem"]).hides(path(b"\xff.pem")));
    assert!(set(&["?.pem"]).hides(path(b"\xff.PEM")));
    assert!(!set(&["[a-z].pem"]).hides(path(b"\xff.pem")));
    assert!(set(&["[!a-z].pem"]).hides(path(b"\xff.pem")));
}

#[test]
fn names_that_a_file_system_folds() {
    let patterns = ["**/.git/hooks/**", "**/.github/workflows/**", "*.key", "!my.key"];
    for path in [
        ".g\u{200c}it/hooks/x",
        "a/.GIT/hoo\u{212a}\u{17f}",
        ".github/wor\u{212a}\u{fb02}ows",
        ".github/work\u{fb02}ows/ci.yml",
        "a.\u{212a}ey",
        // What is hidden stays so, whatever pattern with `!` it may be taken for.
        "m\u{200b}y.key",
    ] {
        assert!(hides(&patterns, path), "{path:?}");
    }
    for path in ["my.key", ".g\u{131}t/hooks/x", "m\u{fc}\u{df}li.txt", "\u{fb01}le"] {
        assert!(!hides(&patterns, path), "{path:?}");
    }
    let set = PatternSet::new(&rules(&patterns)).expect("compiled");
    assert!(set.may_match_name(b".git", "hoo\u{212a}s".as_bytes()));
    assert!(set.may_match_name(".g\u{200c}it".as_bytes(), b"hooks"));
}

#[test]
fn faults() {
    for (pattern, fault) in [
        ("", PatternFault::Empty),
        ("!", PatternFault::Empty),
        ("/", PatternFault::Empty),
        ("{a,}", PatternFault::Empty),
        ("a/", PatternFault::TrailingSlash),
        ("[a", PatternFault::OpenClass),
        ("[]", PatternFault::OpenClass),
        ("[a/b]", PatternFault::OpenClass),
        ("[b-a]", PatternFault::EmptyRange),
        ("[[:alpha:]]", PatternFault::NamedClass),
        ("x[!0[:space:]]*", PatternFault::NamedClass),
        ("{a", PatternFault::OpenChoice),
        ("{a,{b}", PatternFault::OpenChoice),
        ("**a", PatternFault::PartialDoubleStar),
        ("a**/b", PatternFault::PartialDoubleStar),
        ("***", PatternFault::PartialDoubleStar),
        ("a/./b", PatternFault::DotName),
        ("..", PatternFault::DotName),
        ("a//b", PatternFault::DotName),
        ("//a", PatternFault::DotName),
        ("a\\", PatternFault::OpenEscape),
        ("a\0", PatternFault::Nul),
    ] {
        assert_eq!(check(pattern), Err(fault), "{pattern}");
    }
    assert_eq!(check(&"{a,b}".repeat(20)), Err(PatternFault::TooManyChoices));
    assert_eq!(check(&"{".repeat(4096)), Err(PatternFault::OpenChoice));
    assert_eq!(check(&"a".repeat(4096)), Ok(()));
    assert_eq!(check(&"a".repeat(4097)), Err(PatternFault::TooLong));
}

#[test]
fn prefilter_by_name() {
    let plain = set(&["**/.ssh/**", "*.pem", ".env", "a/b"]);
    for name in [".ssh", ".SSH", "x.pem", "X.PEM", ".env", "b"] {
        assert!(plain.may_match_name(b"a", name.as_bytes()), "{name}");
    }
    for name in ["ssh", "x.pe", "x.pem.x", "a", "readme", ""] {
        assert!(!plain.may_match_name(b"a", name.as_bytes()), "{name}");
    }
    // What stands right above a name with wildcards is asked, too.
    let below = set(&["**/hooks/*", "x*/y*", "**/z?/**"]);
    for (above, name) in [("hooks", "x"), ("HOOKS", "x"), ("xa", "yb"), ("a", "zb")] {
        assert!(below.may_match_name(above.as_bytes(), name.as_bytes()), "{above}/{name}");
    }
    for (above, name) in [("hook", "x"), ("", "x"), ("hooks/a", "x"), ("a", "z")] {
        assert!(!below.may_match_name(above.as_bytes(), name.as_bytes()), "{above}/{name}");
    }
    // Only `!` on the directory itself makes everything below a question.
    assert!(!set(&["**/.ssh/**", "!x.pem"]).may_match_name(b"a", b"readme"));
    assert!(set(&["**/.ssh/**", "!.ssh"]).may_match_name(b"a", b"readme"));
    assert!(set(&["**"]).may_match_name(b"a", b"readme"));
}

#[test]
fn depth_of_a_walk() {
    assert_eq!(set(&["/a", "b/c", "b/*/d", "x/y/**"]).anchored_depth(), Some(3));
    assert_eq!(set(&[]).anchored_depth(), Some(0));
    assert!(set(&["a"]).is_any_depth());
    assert!(set(&["a/**/b"]).is_any_depth());
    assert!(set(&["**"]).is_any_depth());
    assert!(!set(&["a/**"]).is_any_depth());
}

#[test]
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a bound on time needs the clock"
)]
fn hostile_patterns_are_fast() {
    let start = std::time::Instant::now();
    let stars = set(&["a*a*a*a*a*a*a*a*a*a*a*a*b"]);
    assert!(!stars.hides(Path::new(&"a".repeat(255))));
    let deep = format!("{}x", "**/".repeat(20));
    let path = "a/".repeat(200);
    assert!(!set(&[&deep]).hides(Path::new(&path)));
    let mixed = format!("{}x", "**/a/".repeat(20));
    assert!(!set(&[&mixed]).hides(Path::new(&path)));
    assert!(start.elapsed().as_millis() < 500, "{:?}", start.elapsed());
}

#[test]
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a bound on time needs the clock"
)]
fn ten_thousand_patterns_are_fast() {
    let patterns: Vec<String> = (0..10_000).map(|n| format!("**/secret-{n}/**")).collect();
    let set = set(&patterns.iter().map(String::as_str).collect::<Vec<_>>());
    let start = std::time::Instant::now();
    for n in 0..10_000 {
        let path = format!("src/module-{n}/file-{n}.rs");
        assert!(!set.hides(Path::new(&path)));
    }
    assert!(set.hides(Path::new("x/secret-77/y")));
    assert!(start.elapsed().as_millis() < 2000, "{:?}", start.elapsed());
}

/// What patterns mean, said slowly: choices by recursion, every match by trying all ways.
mod reference {
    use super::super::PatternRule;

    pub(super) fn hides(rules: &[PatternRule], path: &str) -> bool {
        let names: Vec<&str> = path.split('/').filter(|n| !n.is_empty() && *n != ".").collect();
        (1..=names.len()).any(|end| own(rules, &names[..end]))
    }

    fn own(rules: &[PatternRule], names: &[&str]) -> bool {
        let last = rules.iter().rev().find(|rule| {
            let body = rule.pattern.strip_prefix('!').unwrap_or(&rule.pattern);
            choices(body).iter().any(|choice| anywhere(choice, names))
        });
        last.is_some_and(|rule| !rule.pattern.starts_with('!'))
    }

    /// Braces multiplied out from the left.
    fn choices(pattern: &str) -> Vec<String> {
        let letters: Vec<char> = pattern.chars().collect();
        let mut at = 0;
        while at < letters.len() {
            match letters[at] {
                '\\' => at += 1,
                '[' => at += 2 + letters[at + 2..].iter().position(|l| *l == ']').expect("checked"),
                '{' => return braces(&letters, at),
                _ => {}
            }
            at += 1;
        }
        vec![pattern.to_owned()]
    }

    fn braces(letters: &[char], open: usize) -> Vec<String> {
        let (mut depth, mut starts) = (0, vec![open + 1]);
        let close = (open..letters.len()).find(|at| {
            match letters[*at] {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => starts.push(at + 1),
                _ => {}
            }
            depth == 0
        });
        let close = close.expect("checked");
        let text = |letters: &[char]| letters.iter().collect::<String>();
        let mut all = Vec::new();
        for (index, start) in starts.iter().enumerate() {
            let end = starts.get(index + 1).map_or(close, |next| next - 1);
            let (before, after) = (text(&letters[..open]), text(&letters[close + 1..]));
            all.extend(choices(&format!("{before}{}{after}", text(&letters[*start..end]))));
        }
        all
    }

    fn anywhere(pattern: &str, names: &[&str]) -> bool {
        let parts: Vec<&str> = pattern.strip_prefix('/').unwrap_or(pattern).split('/').collect();
        if pattern.contains('/') {
            return path(&parts, names);
        }
        (0..names.len()).any(|from| path(&parts, &names[from..]))
    }

    fn path(parts: &[&str], names: &[&str]) -> bool {
        match (parts, names) {
            ([], []) => true,
            (["**", rest @ ..], _) => (0..=names.len()).any(|skip| path(rest, &names[skip..])),
            ([part, rest @ ..], [first, names @ ..]) => {
                let part: Vec<char> = part.to_lowercase().chars().collect();
                let first: Vec<char> = first.to_lowercase().chars().collect();
                name(&part, &first) && path(rest, names)
            }
            _ => false,
        }
    }

    fn name(part: &[char], text: &[char]) -> bool {
        match part {
            [] => text.is_empty(),
            ['*', rest @ ..] => (0..=text.len()).any(|skip| name(rest, &text[skip..])),
            ['?', rest @ ..] => !text.is_empty() && name(rest, &text[1..]),
            ['[', ..] => class(part, text),
            ['\\', letter, rest @ ..] | [letter, rest @ ..] => {
                text.first() == Some(letter) && name(rest, &text[1..])
            }
        }
    }

    fn class(part: &[char], text: &[char]) -> bool {
        let negated = matches!(part[1], '!' | '^');
        let from = 1 + usize::from(negated);
        let end = (from + 1..part.len()).find(|at| part[*at] == ']').expect("checked");
        let Some(letter) = text.first() else { return false };
        let mut within = false;
        let mut at = from;
        while at < end {
            let ranged = at + 2 < end && part[at + 1] == '-';
            let high = if ranged { part[at + 2] } else { part[at] };
            within |= part[at] <= *letter && *letter <= high;
            at += if ranged { 3 } else { 1 };
        }
        within != negated && name(&part[end + 1..], &text[1..])
    }
}

fn pattern() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("**".to_owned()),
        "[ab*?.]{1,4}".prop_filter("`**` stands alone", |text| !text.contains("**")),
        "[a-c]{0,1}\\{[ab]{1,2},[bc.]{1,2}\\}",
        "\\[!?[a-c]\\][ab]?",
    ];
    let parts = prop::collection::vec(part, 1..4);
    (any::<bool>(), any::<bool>(), parts).prop_filter_map("a good pattern", |(no, root, parts)| {
        let mark = if no { "!" } else { "" };
        let slash = if root { "/" } else { "" };
        let text = format!("{mark}{slash}{}", parts.join("/"));
        check(&text).is_ok().then_some(text)
    })
}

/// No name of a directory is `.` or `..`.
fn path() -> impl Strategy<Value = String> {
    prop::collection::vec("[abcA.]{0,2}[abcA]", 1..5).prop_map(|names| names.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_reference(patterns in prop::collection::vec(pattern(), 0..4), path in path()) {
        let texts: Vec<&str> = patterns.iter().map(String::as_str).collect();
        prop_assert_eq!(hides(&texts, &path), reference::hides(&rules(&texts), &path));
    }

    #[test]
    fn more_patterns_never_show_more(
        patterns in prop::collection::vec(pattern(), 0..4), more in pattern(), at in 0_usize..5, path in path(),
    ) {
        let mut texts: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let before = hides(&texts, &path);
        texts.insert(at.min(texts.len()), more.trim_start_matches('!'));
        prop_assert!(!before || hides(&texts, &path));
    }

    #[test]
    fn what_compiles_protects_and_takes_nothing_from_the_others(more in pattern()) {
        let texts = ["**/.git/hooks/**", more.trim_start_matches('!')];
        let set = ProtectSet::new(&rules(&texts)).expect("compiled");
        prop_assert!(set.matching(Path::new("a/.git/hooks/x")).is_some());
        prop_assert!(set.leading(Path::new("a/.git")).is_some());
    }

    #[test]
    fn prefilter_loses_nothing(patterns in prop::collection::vec(pattern(), 0..4), path in path()) {
        let set = set(&patterns.iter().map(String::as_str).collect::<Vec<_>>());
        let names: Vec<&str> = path.split('/').collect();
        let mut seen_hidden = false;
        for end in 1..=names.len() {
            // A walker stops at the first hidden directory.
            let above = end.checked_sub(2).map_or("", |above| names[above]);
            let hidden = set.may_match_name(above.as_bytes(), names[end - 1].as_bytes())
                && set.decide_entry(Path::new(&names[..end].join("/"))).is_some_and(|d| d.hidden);
            seen_hidden |= hidden;
        }
        prop_assert_eq!(seen_hidden, set.hides(Path::new(&path)));
    }

    #[test]
    fn any_text_compiles_or_is_refused(text in "\\PC{0,40}", path in "\\PC{0,40}") {
        if let Ok(set) = PatternSet::new(&rules(&[&text])) {
            set.hides(Path::new(&path));
        }
    }

    #[test]
    fn words_match_as_names(pattern in "[ab*?]{0,6}", name in "[ab]{0,8}") {
        let slow = {
            fn go(p: &[u8], n: &[u8]) -> bool {
                match p {
                    [] => n.is_empty(),
                    [b'*', rest @ ..] => (0..=n.len()).any(|skip| go(rest, &n[skip..])),
                    [b'?', rest @ ..] => !n.is_empty() && go(rest, &n[1..]),
                    [b, rest @ ..] => n.first() == Some(b) && go(rest, &n[1..]),
                }
            }
            go(pattern.as_bytes(), name.as_bytes())
        };
        prop_assert_eq!(matches_word(pattern.as_bytes(), name.as_bytes()), slow);
    }
}
