use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, FileTimes, Permissions};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::*;
use crate::fs::faulty::{FaultyFs, each_fault};
use crate::fs::{Errno, Fs, Kind, OsFs};
use crate::testing::{Scratch, is_root};

mod foreign;
mod moving;

/// Hides names at any depth, or down to one.
struct Names(&'static [&'static str], Option<usize>);

impl NameRules for Names {
    fn may_match_name(&self, _: &[u8], name: &[u8]) -> bool {
        self.0.iter().any(|rule| rule.as_bytes() == name)
    }

    fn decide(&self, relative: &[u8], _is_dir: bool) -> Option<bool> {
        let last = relative.rsplit(|byte| *byte == b'/').next()?;
        self.may_match_name(b"", last).then_some(true)
    }

    fn needs_walk(&self) -> bool {
        !self.0.is_empty()
    }

    fn depth_limit(&self) -> Option<usize> {
        self.1
    }
}

const SECRET: Names = Names(&["secret", ".env", ".aws"], None);

fn make(scratch: &Scratch, paths: &[&str]) {
    fs::create_dir_all(scratch.path().join("root")).expect("mkdir");
    for path in paths {
        let full = scratch.path().join("root").join(path);
        if path.ends_with('/') {
            fs::create_dir_all(&full).expect("mkdir");
        } else {
            fs::create_dir_all(full.parent().expect("a parent")).expect("mkdir");
            fs::write(&full, "").expect("write");
        }
    }
}

fn walk_with(scratch: &Scratch, rules: &dyn NameRules, options: &WalkOptions<'_>) -> Walked {
    let root = OsFs.open_dir(scratch.fd(), OsStr::new("root")).expect("open");
    walk(root.as_fd(), rules, options).expect("walked")
}

fn hidden(walked: &Walked) -> Vec<&str> {
    walked.hidden.iter().map(|name| name.path.to_str().expect("a text")).collect()
}

#[test]
fn names_are_found_at_any_depth_with_their_kind() {
    let scratch = Scratch::new();
    make(&scratch, &["secret", "a/.env", "a/b/secret/", "a/b/secret/.env", "a/b/c"]);
    symlink("/etc/passwd", scratch.path().join("root/a/secret")).expect("symlink");
    let walked = walk_with(&scratch, &SECRET, &WalkOptions::default());
    let kinds: Vec<_> = walked.hidden.iter().map(|name| name.kind).collect();
    assert_eq!(hidden(&walked), ["a/.env", "a/b/secret", "a/secret", "secret"]);
    assert_eq!(kinds, [Kind::File, Kind::Directory, Kind::Symlink, Kind::File]);
    assert_eq!((walked.entries, walked.directories), (7, 3));
}

#[test]
fn links_are_not_followed() {
    let scratch = Scratch::new();
    make(&scratch, &["a/b/"]);
    fs::create_dir(scratch.path().join("out")).expect("mkdir");
    fs::write(scratch.path().join("out/secret"), "").expect("write");
    symlink("../../out", scratch.path().join("root/a/out")).expect("symlink");
    symlink("..", scratch.path().join("root/a/up")).expect("symlink");
    assert!(walk_with(&scratch, &SECRET, &WalkOptions::default()).hidden.is_empty());
}

const PARTS: [&str; 3] = ["HEAD", "objects/", "refs/"];

fn make_git(scratch: &Scratch, directory: &str) {
    let parts = PARTS.map(|part| format!("{directory}/{part}"));
    make(scratch, &parts.each_ref().map(String::as_str));
}

/// Hides files of odd names in `d`.
struct NonText;

impl NameRules for NonText {
    fn may_match_name(&self, _: &[u8], name: &[u8]) -> bool {
        name.contains(&0xff) || name.contains(&b'\n') || name.len() == 255
    }

    fn decide(&self, relative: &[u8], is_dir: bool) -> Option<bool> {
        (!is_dir && relative.starts_with(b"d/")).then_some(true)
    }

    fn needs_walk(&self) -> bool {
        true
    }
}

#[test]
fn odd_names_are_names() {
    let scratch = Scratch::new();
    make(&scratch, &["d/x", "d/new\nline"]);
    let long = [b'n'; 255];
    for name in [&b"\xff\xfe"[..], &long] {
        fs::write(scratch.path().join("root/d").join(OsStr::from_bytes(name)), "").expect("write");
    }
    assert_eq!(walk_with(&scratch, &NonText, &WalkOptions::default()).hidden.len(), 3);
}

#[test]
fn closed_directory_is_hidden_and_noted_for_an_ordinary_user() {
    let scratch = Scratch::new();
    make(&scratch, &["closed/secret", "open/secret"]);
    let closed = scratch.path().join("root/closed");
    fs::set_permissions(&closed, Permissions::from_mode(0o0)).expect("chmod");
    let walked = walk_with(&scratch, &SECRET, &WalkOptions::default());
    if is_root() {
        assert_eq!(hidden(&walked), ["closed/secret", "open/secret"]);
    } else {
        assert_eq!(hidden(&walked), ["closed", "open/secret"]);
        assert_eq!(walked.errors, [WalkError { path: "closed".into(), errno: Errno::ACCESS }]);
    }
}

#[test]
fn too_deep_is_hidden_and_noted() {
    let scratch = Scratch::new();
    let deep = format!("{}secret", "d/".repeat(130));
    make(&scratch, &[&deep]);
    let walked = walk_with(&scratch, &SECRET, &WalkOptions::default());
    let path = Path::new(&deep).ancestors().nth(3).expect("a path");
    assert_eq!(walked.hidden, [HiddenName { path: path.into(), kind: Kind::Directory }]);
    assert_eq!(walked.errors[0].errno, Errno::NAMETOOLONG);
}

/// Where a path can be no longer, nothing could be mounted over a name.
#[test]
fn too_long_is_hidden_and_noted() {
    let scratch = Scratch::new();
    let name = "d".repeat(240);
    make(&scratch, &[&format!("{}secret", format!("{name}/").repeat(14))]);
    let walked = walk_with(&scratch, &SECRET, &WalkOptions::default());
    let path = std::path::PathBuf::from(vec![name; 13].join("/"));
    assert_eq!(walked.hidden, [HiddenName { path, kind: Kind::Directory }]);
    assert_eq!(walked.errors[0].errno, Errno::NAMETOOLONG);
}

#[test]
fn depth_of_the_rules_bounds_the_walk() {
    let scratch = Scratch::new();
    make(&scratch, &["a/secret", "a/b/secret", "secret"]);
    let walked = walk_with(&scratch, &Names(&["secret"], Some(2)), &WalkOptions::default());
    assert_eq!(hidden(&walked), ["a/secret", "secret"]);
}

#[test]
fn border_of_a_file_system_is_reported() {
    // Every Linux has another file system at /proc.
    let root = fs::File::open("/").expect("open");
    let walked =
        walk(root.as_fd(), &Names(&["none"], Some(2)), &WalkOptions::default()).expect("walked");
    assert!(walked.borders.contains(&"proc".into()), "{:?}", walked.borders);
}

#[test]
fn nothing_to_look_for_is_no_walk() {
    let scratch = Scratch::new();
    make(&scratch, &["secret"]);
    assert_eq!(walk_with(&scratch, &Names(&[], None), &WalkOptions::default()), Walked::default());
}

#[test]
fn root_that_is_no_directory_is_an_error() {
    let file = fs::File::open("/proc/self/status").expect("open");
    let result = walk(file.as_fd(), &SECRET, &WalkOptions::default());
    assert_eq!(result, Err(Errno::NOTDIR));
}

fn cached<'a>(fs: &'a dyn Fs, scratch: &'a Scratch) -> WalkOptions<'a> {
    let cache = WalkCache { fs, dir: scratch.fd(), rules: [7; 32] };
    WalkOptions { threads: 2, cache: Some(cache) }
}

fn cache_file(scratch: &Scratch) -> Option<std::path::PathBuf> {
    let entries = fs::read_dir(scratch.path()).expect("list");
    let mut paths = entries.map(|entry| entry.expect("an entry").path());
    paths.find(|path| path.file_name().is_some_and(|n| n.as_bytes().starts_with(b"names-")))
}

/// Walks with the cache a minute later, when all times are settled.
fn walk_later(scratch: &Scratch, options: &WalkOptions<'_>) -> Walked {
    walk_rules_later(scratch, &SECRET, options)
}

fn walk_rules_later(scratch: &Scratch, rules: &dyn NameRules, options: &WalkOptions<'_>) -> Walked {
    let root = OsFs.open_dir(scratch.fd(), OsStr::new("root")).expect("open");
    let later = SystemTime::now() + Duration::from_mins(1);
    super::walk::walk_at(root.as_fd(), rules, options, later).expect("walked")
}

#[test]
fn cache_knows_what_is_unchanged_and_lists_the_rest() {
    let scratch = Scratch::new();
    make(&scratch, &["a/b/secret", "a/c/x", "d/.aws/x", "e/"]);
    let first = walk_later(&scratch, &cached(&OsFs, &scratch));
    assert_eq!((first.listed, first.directories), (6, 6));
    let mode = fs::metadata(cache_file(&scratch).expect("written")).expect("there").permissions();
    assert_eq!(mode.mode() & 0o7777, 0o600);
    let second = walk_later(&scratch, &cached(&OsFs, &scratch));
    assert_eq!((second.listed, &second.hidden), (0, &first.hidden));
    assert_eq!((second.entries, second.directories), (first.entries, first.directories));
    make(&scratch, &["a/c/.env"]);
    fs::rename(scratch.path().join("root/e"), scratch.path().join("root/d/e")).expect("rename");
    let third = walk_later(&scratch, &cached(&OsFs, &scratch));
    assert_eq!(hidden(&third), ["a/b/secret", "a/c/.env", "d/.aws"]);
    // The root, `d`, `d/e` at its new place, and `a/c`.
    assert_eq!(third.listed, 4);
}

#[test]
fn cache_does_not_trust_fresh_or_forged_times() {
    let scratch = Scratch::new();
    make(&scratch, &["a/x"]);
    let dir = fs::File::open(scratch.path().join("root/a")).expect("open");
    dir.set_times(FileTimes::new().set_modified(SystemTime::UNIX_EPOCH)).expect("utimens");
    walk_with(&scratch, &SECRET, &cached(&OsFs, &scratch));
    let again = walk_with(&scratch, &SECRET, &cached(&OsFs, &scratch));
    assert_eq!(again.listed, 2, "fresh directories are listed again");
    walk_later(&scratch, &cached(&OsFs, &scratch));
    make(&scratch, &["a/secret"]);
    dir.set_times(FileTimes::new().set_modified(SystemTime::UNIX_EPOCH)).expect("utimens");
    let last = walk_later(&scratch, &cached(&OsFs, &scratch));
    assert_eq!(hidden(&last), ["a/secret"], "the change time tells");
}

#[test]
fn cache_of_other_rules_or_damaged_is_no_cache() {
    let scratch = Scratch::new();
    make(&scratch, &["a/secret", "b/"]);
    let expected = walk_later(&scratch, &cached(&OsFs, &scratch)).hidden;
    let mut other = cached(&OsFs, &scratch);
    other.cache = Some(WalkCache { fs: &OsFs, dir: scratch.fd(), rules: [8; 32] });
    assert_eq!(walk_later(&scratch, &other).listed, 3);
    assert_eq!(walk_later(&scratch, &other).listed, 0, "each has a file of its own");
    assert_eq!(walk_later(&scratch, &cached(&OsFs, &scratch)).listed, 0);
    let file = cache_file(&scratch).expect("written");
    fs::remove_file(&file).expect("removed");
    fs::remove_file(cache_file(&scratch).expect("written")).expect("removed");
    walk_later(&scratch, &cached(&OsFs, &scratch));
    let file = cache_file(&scratch).expect("written");
    let bytes = fs::read(&file).expect("read");
    for place in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x41;
        fs::write(&file, &damaged).expect("write");
        let walked = walk_later(&scratch, &cached(&OsFs, &scratch));
        assert_eq!((walked.listed, &walked.hidden), (3, &expected), "byte {place}");
        fs::write(&file, &bytes[..place]).expect("write");
        let walked = walk_later(&scratch, &cached(&OsFs, &scratch));
        assert_eq!((walked.listed, &walked.hidden), (3, &expected), "length {place}");
    }
}

#[test]
fn few_files_of_one_root_are_kept() {
    let scratch = Scratch::new();
    make(&scratch, &["a/secret"]);
    let by = |rules| {
        let cache = Some(WalkCache { fs: &OsFs, dir: scratch.fd(), rules: [rules; 32] });
        walk_later(&scratch, &WalkOptions { cache, ..WalkOptions::default() }).listed
    };
    for rules in 0..4 {
        assert_eq!((by(rules), by(rules)), (2, 0));
    }
    assert_eq!([0, 1, 2, 3].map(by), [0; 4]);
    assert_eq!(by(4), 2);
    assert_eq!([4, 0].map(by), [0, 2], "the others are gone");
}

#[test]
fn cache_behind_a_link_or_writable_by_others_is_no_cache() {
    let scratch = Scratch::new();
    make(&scratch, &["a/secret"]);
    walk_later(&scratch, &cached(&OsFs, &scratch));
    let file = cache_file(&scratch).expect("written");
    fs::set_permissions(&file, Permissions::from_mode(0o622)).expect("chmod");
    assert_eq!(walk_later(&scratch, &cached(&OsFs, &scratch)).listed, 2);
    let moved = scratch.path().join("moved");
    fs::rename(&file, &moved).expect("rename");
    symlink(&moved, &file).expect("symlink");
    assert_eq!(walk_later(&scratch, &cached(&OsFs, &scratch)).listed, 2);
    assert!(!file.is_symlink(), "replaced, not written through");
}

#[test]
fn fault_of_the_cache_costs_only_time() {
    let scratch = Scratch::new();
    make(&scratch, &["a/secret"]);
    let calls = each_fault(Errno::NOSPC, |fs: &FaultyFs| {
        let walked = walk_later(&scratch, &cached(fs, &scratch));
        assert_eq!(hidden(&walked), ["a/secret"]);
        drop(cache_file(&scratch).map(fs::remove_file));
    });
    assert!(calls > 4, "{calls}");
}

fn some_tree() -> impl Strategy<Value = BTreeSet<String>> {
    let name = prop::sample::select(vec!["a", "b", "c", "secret", ".env", ".git", "vendor"]);
    let path = prop::collection::vec(name, 1..6).prop_map(|names| names.join("/") + "/");
    prop::collection::btree_set(path, 0..40)
}

fn is_seen(path: &str) -> bool {
    let names: Vec<_> = path.split('/').collect();
    let above = &names[..names.len() - 1];
    let closed = ["secret", ".env", "vendor"];
    ["secret", ".env"].contains(&names[names.len() - 1])
        && !above.iter().any(|name| closed.contains(name))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn walk_equals_a_naive_scan(tree in some_tree(), threads in 1_usize..4) {
        let scratch = Scratch::new();
        make(&scratch, &tree.iter().map(String::as_str).collect::<Vec<_>>());
        let mut all = BTreeSet::new();
        for path in &tree {
            let above = Path::new(path.trim_end_matches('/')).ancestors().filter_map(Path::to_str);
            all.extend(above.filter(|path| is_seen(path)).map(ToOwned::to_owned));
        }
        let options = WalkOptions { threads, ..WalkOptions::default() };
        let walked = walk_with(&scratch, &SECRET, &options);
        let found: BTreeSet<String> = hidden(&walked).into_iter().map(Into::into).collect();
        prop_assert_eq!(found, all);
    }
}

/// What [`SECRET`] hides, but for some paths.
struct Sparing(BTreeSet<PathBuf>);

impl NameRules for Sparing {
    fn may_match_name(&self, above: &[u8], name: &[u8]) -> bool {
        SECRET.may_match_name(above, name)
    }

    fn decide(&self, relative: &[u8], is_dir: bool) -> Option<bool> {
        let is_spared = self.0.contains(Path::new(OsStr::from_bytes(relative)));
        SECRET.decide(relative, is_dir).map(|hidden| hidden && !is_spared)
    }

    fn notes(&self, relative: &[u8]) -> bool {
        relative.ends_with(b"secret")
    }

    fn notes_repositories(&self) -> bool {
        true
    }

    fn needs_walk(&self) -> bool {
        true
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn walk_again_equals_a_walk_that_spared_before(
        tree in some_tree(), spared in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let scratch = Scratch::new();
        make(&scratch, &tree.iter().map(String::as_str).collect::<Vec<_>>());
        let whole: Vec<PathBuf> = tree
            .iter()
            .flat_map(|path| Path::new(path.trim_end_matches('/')).ancestors().map(Path::to_owned))
            .filter(|path| !path.as_os_str().is_empty())
            .collect();
        let spared = spared.iter().filter_map(|it| whole.get(it.index(whole.len().max(1)))).cloned();
        let (all, some) = (Sparing(BTreeSet::new()), Sparing(spared.collect()));
        let options = WalkOptions::default();
        let root = OsFs.open_dir(scratch.fd(), OsStr::new("root")).expect("open");
        let first = walk(root.as_fd(), &all, &options).expect("walked");
        let may_show = |path: &Path| some.0.contains(path);
        let again = walk_again(first, &may_show, root.as_fd(), &some).expect("walked");
        let mut once = walk(root.as_fd(), &some, &options).expect("walked");
        once.elapsed = again.elapsed;
        prop_assert_eq!(again, once);
    }
}

#[test]
fn threads_find_the_same() {
    let scratch = Scratch::new();
    let paths: Vec<String> = (0..40)
        .flat_map(|a| {
            (0..10).map(move |b| format!("d{a}/e{b}/{}", if b == a % 10 { "secret" } else { "x" }))
        })
        .collect();
    make(&scratch, &paths.iter().map(String::as_str).collect::<Vec<_>>());
    let one = walk_with(&scratch, &SECRET, &WalkOptions { threads: 1, ..Default::default() });
    let four = walk_with(&scratch, &SECRET, &WalkOptions { threads: 4, ..Default::default() });
    assert_eq!(one.hidden.len(), 40);
    assert_eq!(Walked { elapsed: one.elapsed, ..four }, one);
}

/// Hides `secret`, and notes `.vscode` and what makes a repository.
struct Noting;

impl NameRules for Noting {
    fn may_match_name(&self, _: &[u8], name: &[u8]) -> bool {
        [&b"secret"[..], b".vscode"].contains(&name)
    }

    fn decide(&self, relative: &[u8], _is_dir: bool) -> Option<bool> {
        relative.ends_with(b"secret").then_some(true)
    }

    fn notes(&self, relative: &[u8]) -> bool {
        relative.ends_with(b".vscode")
    }

    fn notes_repositories(&self) -> bool {
        true
    }

    fn needs_walk(&self) -> bool {
        true
    }
}

/// A command may have taken `HEAD` away.
#[test]
fn what_was_a_repository_is_told_as_one() {
    let scratch = Scratch::new();
    make(&scratch, &["a/objects/", "a/refs/", "b/objects/", "b/config", "c/objects/", "c/config"]);
    make(&scratch, &["d/objects", "d/refs", "e/config/", "e/objects/"]);
    let settings = "[core]\n\trepositoryformatversion = 0\n";
    fs::write(scratch.path().join("root/b/config"), settings).expect("written");
    let found = walk_rules_later(&scratch, &Noting, &cached(&OsFs, &scratch));
    assert_eq!(found.repositories, [Path::new("a"), Path::new("b")]);
}

#[test]
fn noted_names_are_told_and_walked_into() {
    let scratch = Scratch::new();
    let bare = ["a/x.git/HEAD", "a/x.git/objects/", "a/x.git/refs/", "a/y.git/HEAD"];
    make(&scratch, &bare);
    make(&scratch, &["b/.vscode/secret", "c/secret/.vscode", "d/.git/.vscode", ".vscode"]);
    make_git(&scratch, "d/.git");
    let later = || walk_rules_later(&scratch, &Noting, &cached(&OsFs, &scratch));
    let noted = |walked: &Walked| -> Vec<String> {
        walked.noted.iter().map(|it| it.path.display().to_string()).collect()
    };
    let first = later();
    assert_eq!(noted(&first), [".vscode", "b/.vscode"]);
    assert_eq!(first.repositories, [Path::new("a/x.git")]);
    assert_eq!(hidden(&first), ["b/.vscode/secret", "c/secret"]);
    let second = later();
    assert_eq!(second.listed, 0);
    assert_eq!((noted(&second), second.repositories), (noted(&first), first.repositories));
}
