//! Patterns select what git's own sparse checkout does.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::snapshot::{Bounds, SnapshotError};

type Paths = BTreeSet<Vec<u8>>;

/// A work tree with names that patterns of few letters can meet.
fn letters() -> Scratch {
    let scratch = Scratch::new();
    let dir = scratch.path();
    git(dir, &["init", "-q", "-b", "main"]);
    for above in ["", "a/", "b/", "a/b/", "a/b/a/", "b/a_b/", "ab/", "ab/--/", "a/a/a/a/"] {
        for name in ["x", "ax", "a.b", "ba", "]", "-", "!", "#a", "a b", "a\\", "B", "*", "\u{e4}"]
        {
            write(&dir.join(above).join(name), name);
        }
        std::os::unix::fs::symlink("a", dir.join(above).join("link")).expect("a link");
    }
    commit(dir, "all");
    scratch
}

/// What git's sparse checkout leaves in the work tree.
fn checked_out(dir: &Path, patterns: &[String]) -> Paths {
    let args = ["sparse-checkout", "set", "--no-cone", "--skip-checks", "--stdin"];
    bytes_of_git(dir, &args, patterns.join("\n").as_bytes());
    let (mut found, mut open) = (Paths::new(), vec![dir.to_owned()]);
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(at).expect("a directory") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(dir).expect("below").as_os_str().as_bytes().to_vec();
            if name == b".git" {
                continue;
            }
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            }
            found.insert(name);
        }
    }
    found
}

fn selected(dir: &Path, rev: &str, patterns: &[String]) -> Result<Paths, GitError> {
    let repository = open(dir);
    let tree = repository.resolve(rev)?.tree;
    let found = repository.selection(&tree, &Sparse::new(patterns), &Options::default())?;
    Ok(found.entries().iter().map(|it| it.path.as_os_str().as_bytes().to_vec()).collect())
}

fn patterns(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn a_pattern() -> impl Strategy<Value = String> {
    let parts = vec![
        "a",
        "b",
        "x",
        "ab",
        ".",
        "-",
        "/",
        "/",
        "*",
        "**",
        "**/",
        "/**",
        "/**/",
        "?",
        "[ab]",
        "[!a]",
        "[^b]",
        "[a-b]",
        "[]]",
        "[]-a]",
        "[[:alpha:]]",
        "[[:punct:]]",
        "[[:nope:]]",
        "[[:a]",
        "[a\\]]",
        "[",
        "\\a",
        "\\*",
        "\\",
        "!",
        "#",
        " ",
        "]",
        "\u{e4}",
        "B",
    ];
    let body = prop::collection::vec(prop::sample::select(parts), 1..6).prop_map(|it| it.concat());
    let whole = (prop::sample::select(vec!["", "", "/", "!", "!/"]), body)
        .prop_map(|(begin, body)| format!("{begin}{body}"));
    // What the policy refuses is no pattern.
    whole.prop_filter("a pattern", |text| {
        let plain = text.strip_prefix('!').unwrap_or(text);
        !text.starts_with('#') && !text.ends_with(' ') && !plain.is_empty() && plain != "/"
    })
}

#[test]
fn random_patterns_select_what_git_checks_out() {
    let scratch = letters();
    let lists = prop::collection::vec(a_pattern(), 1..6);
    let mut runner = TestRunner::new(Config { cases: 150, ..Config::default() });
    let checked = runner.run(&lists, |list| {
        let ours = selected(scratch.path(), "HEAD", &list).expect("a selection");
        let of_git = checked_out(scratch.path(), &list);
        prop_assert_eq!(ours, of_git, "{:?}", list);
        Ok(())
    });
    checked.expect("the same paths");
}

#[test]
fn last_match_decides_and_directories_follow() {
    let scratch = letters();
    let dir = scratch.path();
    let rows = [
        ("/*", "a/b/x", "nowhere"),
        ("/* !a/", "b/x", "a/x"),
        ("a/b/ !a/b/a/", "a/b/x", "a/b/a/x"),
        ("/* !/* /a/b/x", "a/b/x", "a/x"),
        ("!a/ x", "a/x", "a/ax"),
        ("link", "a/link", "a/x"),
        ("a**/b/x", "a/b/x", "b/x"),
        ("**/--/x", "ab/--/x", "ab/x"),
    ];
    for (list, there, absent) in rows {
        let list = patterns(list);
        let ours = selected(dir, "HEAD", &list).expect("a selection");
        assert_eq!(ours, checked_out(dir, &list), "{list:?}");
        assert!(ours.contains(there.as_bytes()) && !ours.contains(absent.as_bytes()), "{list:?}");
    }
    assert_eq!(selected(dir, "HEAD", &patterns("link/")), Ok(Paths::new()));
}

#[test]
fn submodules_are_directories() {
    let scratch = small();
    let dir = scratch.path();
    let commit_id = said(dir, &["rev-parse", "HEAD"]);
    let entry = |path: &str| format!("160000,{commit_id},{path}");
    git(dir, &["update-index", "--add", "--cacheinfo", &entry("a/sub")]);
    git(dir, &["update-index", "--add", "--cacheinfo", &entry("other")]);
    git(dir, &["commit", "-q", "-m", "submodules"]);
    for (list, expected) in
        [("sub/", "a a/sub"), ("other", "other"), ("a/ !sub/", "a a/b a/b/file")]
    {
        let list = patterns(list);
        let expected: Paths = expected.split(' ').map(|it| it.as_bytes().to_vec()).collect();
        assert_eq!(selected(dir, "HEAD", &list).expect("a selection"), expected, "{list:?}");
        // Git looks at the work tree to know that a submodule is a directory.
        for path in ["a/sub", "other"] {
            std::fs::create_dir_all(dir.join(path)).expect("made");
        }
        let args = ["sparse-checkout", "set", "--no-cone", "--skip-checks", "--stdin"];
        bytes_of_git(dir, &args, list.join("\n").as_bytes());
        let listed = said(dir, &["ls-files", "-t"]);
        let of_git = listed.lines().filter_map(|line| line.strip_prefix("H "));
        let ours = |path: &str| expected.contains(path.as_bytes());
        assert!(of_git.clone().count() > 0 && of_git.clone().all(ours), "{list:?}: {listed}");
    }
}

#[test]
fn directories_that_can_hold_nothing_are_not_read() {
    let scratch = letters();
    let dir = scratch.path();
    let removed = said(dir, &["rev-parse", "HEAD:a"]);
    std::fs::remove_file(dir.join(".git/objects").join(loose_path(&id(&removed))))
        .expect("removed");
    for list in ["/b/", "/*/ !/a/ !x", "/ab/**/x", "/b/**/a*"] {
        let found = selected(dir, "HEAD", &patterns(list));
        assert!(found.expect("a selection").len() > 1, "{list}");
    }
    for list in ["x", "/a/x", "*/x", "**/x", "/[ab]/x"] {
        let found = selected(dir, "HEAD", &patterns(list));
        assert_eq!(found, Err(GitError::Missing { id: id(&removed) }), "{list}");
    }
}

#[test]
fn patterns_take_no_time_that_grows_with_their_stars() {
    let scratch = Scratch::new();
    let dir = scratch.path();
    git(dir, &["init", "-q", "-b", "main"]);
    let long = format!("{}/{}", "a/".repeat(40), "a".repeat(200));
    write(&dir.join(&long), "x");
    (0..600).for_each(|number| write(&dir.join(number.to_string()), "x"));
    commit(dir, "deep");
    let mut list = vec![
        format!("/{}b", "**/a/".repeat(100)),
        format!("{}b", "*a".repeat(250)),
        format!("/{}b", "a*/**/".repeat(100)),
    ];
    list.extend(vec![format!("/{}b", "**/".repeat(330)); 250]);
    let begun = Instant::now();
    assert_eq!(selected(dir, "HEAD", &list).expect("a selection"), Paths::new());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn tree_without_an_end_is_refused_though_nothing_is_selected() {
    let scratch = small();
    let dir = scratch.path();
    let mut below = said(dir, &["rev-parse", "HEAD:a/b"]);
    for _ in 0..40 {
        let lines: String = (0..8).map(|at| format!("040000 tree {below}\td{at}\n")).collect();
        below = git_with(dir, &["mktree"], lines.as_bytes());
    }
    let repository = open(dir);
    let bounds = Bounds { entries: 10_000, ..Bounds::default() };
    let selection = |list: &str| {
        let sparse = Sparse::new(&patterns(list));
        repository.selection(&id(&below), &sparse, &Options { bounds })
    };
    let refused = selection("nowhere").expect_err("a refusal");
    assert!(matches!(refused, GitError::Snapshot(SnapshotError::TooLarge { .. })), "{refused:?}");
    // What is not looked into has no end that counts.
    assert_eq!(selection("/nowhere").expect("a selection").entries().len(), 0);
}
