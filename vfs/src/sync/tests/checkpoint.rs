//! Checkpoints of live trees: what changed is told, and an undo brings back what was there.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use proptest::prelude::*;

use super::super::checkpoint::{Checkpointed, Left, Limits, Recording, Span, record, settle};
use super::super::testing::*;
use super::super::*;
use super::random::acts;
use crate::fs::{Fs, OsFs};

/// A live tree whose start is now.
pub(super) fn live(place: Where, tree: &str) -> World {
    let world = World::new(place, tree);
    OsFs.make_dir(world.run.fd(), "checkpoint".as_ref(), 0o700).expect("made");
    world
}

pub(super) fn place(world: &World) -> OwnedFd {
    OsFs.open_dir(world.run.fd(), "checkpoint".as_ref()).expect("opened")
}

pub(super) fn recorded(world: &World, hidden: &[PathBuf], limits: Limits) {
    recorded_while(world, (hidden, limits), &|| false);
}

fn recorded_while(world: &World, limits: (&[PathBuf], Limits), over: &dyn Fn() -> bool) {
    recorded_by(&OsFs, world, limits, over);
}

pub(super) fn recorded_by(
    fs: &dyn Fs,
    world: &World,
    (hidden, limits): (&[PathBuf], Limits),
    over: &dyn Fn() -> bool,
) {
    let (root, place) = (world.root_fd(), place(world));
    let recording = Recording {
        root: root.as_fd(),
        place: place.as_fd(),
        stamp: world.stamp,
        hidden,
        limits,
        is_over: over,
    };
    record(fs, &recording).expect("recorded");
}

pub(super) fn settled(world: &World, hidden: &[PathBuf]) -> Checkpointed {
    settled_by(&OsFs, world, Some(world.stamp_now()), hidden)
}

/// Settles the checkpoint of a run that ended at this time.
pub(super) fn settled_at(world: &World, end: Time, hidden: &[PathBuf]) -> Checkpointed {
    settled_by(&OsFs, world, Some(end), hidden)
}

pub(super) fn settled_by(
    fs: &dyn Fs,
    world: &World,
    end: Option<Time>,
    hidden: &[PathBuf],
) -> Checkpointed {
    let root = world.root_fd();
    let run = RunPlace { dir: world.run.fd(), id: RUN };
    let mount = MountPlace { number: MOUNT, root: root.as_fd(), upper: None };
    let (root_id, stamp, clock) = (world.identity, world.stamp, world.clock);
    let span = Span { root: root_id, stamp, end, clock, hidden };
    settle(fs, &run, &mount, &span, &|_, _, _| Ok(())).expect("settled")
}

pub(super) fn told(settled: &Checkpointed) -> Vec<String> {
    let word = |kind| match kind {
        ChangeKind::Created => "A",
        ChangeKind::Modified => "M",
        ChangeKind::Deleted => "D",
        ChangeKind::Replaced(_) => "T",
        ChangeKind::Attributes => "m",
    };
    let line = |it: &Applied| format!("{} {}", word(it.kind), it.path.display());
    settled.report.applied.iter().map(line).collect()
}

pub(super) fn left(list: &[super::super::checkpoint::Uncovered]) -> Vec<(String, Left)> {
    list.iter().map(|it| (it.path.display().to_string(), it.left)).collect()
}

pub(super) fn forget(world: &World) {
    shell(world.run.path(), "rm -rf checkpoint");
}

fn check(script: &str, expected: &[&str]) {
    check_tree(super::TREE, script, expected);
}

pub(super) fn check_tree(tree: &str, script: &str, expected: &[&str]) {
    for place in PLACES {
        let world = live(place, tree);
        let before = world.snapshot();
        recorded(&world, &[], Limits::default());
        world.host(script);
        let settled = settled(&world, &[]);
        assert_eq!(told(&settled), expected, "{place:?}");
        assert_eq!(left(&settled.uncovered), [], "{place:?}");
        forget(&world);
        let undone = world.undo(&OsFs).expect("undone");
        assert!(undone.changed_since.is_empty() && undone.failed.is_empty(), "{undone:?}");
        assert_same(&world.snapshot(), &before, &format!("{place:?}: undone"));
        world.assert_clean();
    }
}

#[test]
fn nothing_changes_nothing() {
    check("true", &[]);
}

#[test]
fn files_are_created_modified_and_removed() {
    check(
        "echo new > a/new; echo more >> a/one; rm c/c; mkdir d; echo d > d/d",
        &["A a/new", "M a/one", "D c/c", "A d", "A d/d"],
    );
}

#[test]
fn same_size_and_time_is_no_excuse() {
    check("echo two > a/one; touch -d '2001-02-03 04:05:06.123456789' a/one", &["M a/one"]);
}

#[test]
fn same_bytes_are_no_change() {
    check(
        "cat a/b/two > a/one; echo one > a/one; touch -d '2001-02-03 04:05:06.123456789' a/one",
        &[],
    );
}

#[test]
fn directories_are_renamed_removed_and_made_again() {
    check(
        "mv a z; rm -r keep; mkdir keep; echo n > keep/n",
        &[
            "D a",
            "D a/b",
            "D a/b/two",
            "D a/link",
            "D a/one",
            "A keep/n",
            "D keep/x",
            "D keep/y",
            "A z",
            "A z/b",
            "A z/b/two",
            "A z/link",
            "A z/one",
        ],
    );
}

#[test]
fn types_change() {
    check(
        "rm -r a; echo file > a; rm top; mkdir top; echo in > top/in; ln -sfn b c/c",
        &["T a", "D a/b", "D a/b/two", "D a/link", "D a/one", "T c/c", "T top", "A top/in"],
    );
}

#[test]
fn bits_times_and_links_change() {
    check(
        "chmod 600 a/one; chmod 700 c; touch -d @7 top; ln -sfn two a/link; ln c/c c/d",
        &["M a/link", "m a/one", "m c", "A c/d", "m top"],
    );
}

#[test]
fn what_the_host_changed_since_stays() {
    let world = live(Where::Same, super::TREE);
    recorded(&world, &[], Limits::default());
    world.host("echo run > a/one; echo run > top; echo run > new");
    assert_eq!(told(&settled(&world, &[])), ["M a/one", "A new", "M top"]);
    world.host("echo mine > a/one; echo mine >> new");
    let undone = world.undo(&OsFs).expect("undone");
    assert_eq!(undone.undone, [PathBuf::from("top")]);
    let mut stayed = undone.changed_since;
    stayed.sort();
    assert_eq!(stayed, [PathBuf::from("a/one"), PathBuf::from("new")]);
    assert_eq!(std::fs::read(world.root().join("a/one")).expect("there"), b"mine\n");
}

#[test]
fn what_changed_before_it_was_recorded_is_not_covered() {
    let world = live(Where::Same, super::TREE);
    world.host("echo early > a/one; echo new > a/new; rm c/c; mkdir d; echo in > d/in");
    recorded(&world, &[], Limits::default());
    world.host("echo late > top; rm a/new");
    let settled = settled(&world, &[]);
    assert_eq!(told(&settled), ["M top"]);
    let names: Vec<String> = left(&settled.uncovered).into_iter().map(|(path, _)| path).collect();
    assert_eq!(names, ["", "a", "c", "d"], "names may have gone");
}

#[test]
fn what_nobody_came_to_is_told_only_when_it_changed() {
    let world = live(Where::Same, super::TREE);
    let count = Cell::new(0);
    let over = || count.replace(count.get() + 1) > 1;
    recorded_while(&world, (&[], Limits::default()), &over);
    world.host("echo one > a/one; echo new > c/new; echo top > top; echo keep > keep/x");
    let settled = settled(&world, &[]);
    let uncovered: Vec<String> =
        left(&settled.uncovered).into_iter().map(|(path, _)| path).collect();
    let told = told(&settled);
    for path in ["a/one", "keep/x", "c/new"] {
        let is_told = uncovered.iter().any(|it| it == path);
        assert!(is_told || told.iter().any(|it| it.ends_with(path)), "{path}: {uncovered:?}");
    }
    assert!(!uncovered.iter().any(|it| it == "a/b/two"), "it did not change");
}

#[test]
fn what_is_left_out_is_named() {
    let tree = "mkdir -p .git node_modules/x cache big; echo h > .git/HEAD; echo x > node_modules/x/y
        printf 'Signature: 8a477f597d28d172789f06886806bc55\\n' > cache/CACHEDIR.TAG; echo c > cache/c
        truncate -s 5000 big/file; mkfifo pipe; echo s > .env; echo t > top; echo u > ünder";
    let world = live(Where::Same, tree);
    let hidden = [PathBuf::from(".env")];
    let limits = Limits { file_bytes: 4096, ..Limits::default() };
    recorded(&world, &hidden, limits);
    let files = world.run.path().join("checkpoint/files").read_dir().expect("listed");
    let copied =
        files.filter_map(|file| std::fs::read_to_string(file.expect("a file").path()).ok());
    let copied: String = copied.collect();
    assert!(!copied.contains('s'), "a hidden name is not copied");
    world.host(
        "echo 2 > .git/HEAD; echo 2 > cache/c; echo 2 > big/file; echo 2 > .env; echo 2 > top",
    );
    let settled = settled(&world, &hidden);
    assert_eq!(told(&settled), ["M top"]);
    assert_eq!(left(&settled.uncovered), [("big/file".to_owned(), Left::Large)]);
    let expected = [
        (".git", Left::Repository),
        ("big/file", Left::Large),
        ("cache", Left::Cache),
        ("node_modules", Left::Cache),
        ("pipe", Left::Special),
    ];
    let expected = expected.map(|(path, left)| (path.to_owned(), left));
    assert_eq!(left(&settled.left_out), expected);
}

#[test]
fn limits_hold_for_all_files_together() {
    let world = live(Where::Same, "for it in 1 2 3 4 5 6; do echo $it > $it; done");
    recorded(&world, &[], Limits { files: 3, ..Limits::default() });
    assert_eq!(settled(&world, &[]).left_out.len(), 3);
    let world = live(Where::Same, "for it in 1 2 3 4 5 6; do head -c 4096 /dev/zero > $it; done");
    recorded(&world, &[], Limits { bytes: 10_000, ..Limits::default() });
    assert_eq!(settled(&world, &[]).left_out.len(), 4);
}

#[test]
fn settling_twice_is_as_once() {
    let world = live(Where::Same, super::TREE);
    let before = world.snapshot();
    recorded(&world, &[], Limits::default());
    world.host("echo more >> a/one; rm -r keep; echo n > n");
    // As a process leaves it that was killed before the ledger holds.
    settled(&world, &[]);
    shell(world.run.path(), "rm undo/applied.json");
    let again = settled(&world, &[]);
    assert_eq!(told(&again), ["M a/one", "D keep", "D keep/x", "D keep/y", "A n"]);
    forget(&world);
    world.undo(&OsFs).expect("undone");
    assert_same(&world.snapshot(), &before, "undone");
    world.assert_clean();
}

#[test]
fn torn_list_ends_at_its_last_line() {
    let world = live(Where::Same, super::TREE);
    recorded(&world, &[], Limits::default());
    shell(world.run.path(), "truncate -s -7 checkpoint/list");
    world.host("echo more >> top; rm c/c");
    let settled = settled(&world, &[]);
    let told = told(&settled);
    let uncovered: Vec<String> =
        left(&settled.uncovered).into_iter().map(|(path, _)| path).collect();
    for path in ["top", "c/c"] {
        let is_told = told.iter().any(|it| it.ends_with(path));
        assert!(
            is_told || uncovered.iter().any(|it| it.ends_with(path)),
            "{path}: {told:?} {uncovered:?}"
        );
    }
}

/// Everything that was in the tree is in it after an undo, wherever.
fn nothing_is_lost(world: &World, before: &std::collections::BTreeSet<String>) {
    forget(world);
    if std::fs::exists(world.run.path().join("undo/applied.json")).expect("looked") {
        world.undo(&OsFs).expect("undone");
    }
    let after = contents(world);
    let lost: Vec<_> = before.difference(&after).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

/// All contents of the tree.
fn contents(world: &World) -> std::collections::BTreeSet<String> {
    let (mut pending, mut found) = (vec![world.root()], std::collections::BTreeSet::new());
    while let Some(path) = pending.pop() {
        for entry in path.read_dir().expect("listed") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                pending.push(path);
            } else {
                found.insert(std::fs::read_to_string(path).expect("text"));
            }
        }
    }
    found
}

const MANY: &str = "for d in a b c d; do mkdir -p $d/sub; for f in 1 2 3; do
    echo $d$f > $d/$f; echo $d/sub$f > $d/sub/$f; done; done; echo top > top";

#[test]
fn what_was_renamed_before_it_was_recorded_stays() {
    for stop in 1..90 {
        let world = live(Where::Same, MANY);
        let before = contents(&world);
        let count = Cell::new(0);
        let over = || count.replace(count.get() + 1) > stop;
        recorded_while(&world, (&[], Limits::default()), &over);
        world.host("mv a z; mv b/sub b/other; mv c/1 c/one; mv d/2 .; mkdir new; mv top new");
        let settled = settled(&world, &[]);
        let told = told(&settled).len();
        assert!(told > 0 || !settled.uncovered.is_empty());
        nothing_is_lost(&world, &before);
    }
}

#[test]
fn names_are_known_before_anything_is_copied() {
    for place in PLACES {
        let world = live(place, MANY);
        let is_begun = Cell::new(false);
        let over = || {
            let list = world.run.path().join("checkpoint/list");
            let are_named = list.metadata().is_ok_and(|list| list.len() > 0);
            if are_named && !is_begun.replace(true) {
                world.host(
                    "echo new > new; mkdir a/dir; echo new > a/dir/new; mv d/1 d/one; rm top",
                );
            }
            false
        };
        recorded_while(&world, (&[], Limits::default()), &over);
        let settled = settled(&world, &[]);
        assert_eq!(told(&settled), ["A a/dir", "A a/dir/new", "A new"], "{place:?}");
        let lost: Vec<_> =
            settled.uncovered.iter().map(|it| it.path.display().to_string()).collect();
        assert_eq!(lost, ["d/1", "d/one", "top"]);
        forget(&world);
        world.undo(&OsFs).expect("undone");
        let there = ["new", "a/dir", "d/one"].map(|name| world.root().join(name).exists());
        assert_eq!(there, [false, false, true]);
    }
}

#[test]
fn what_moves_while_it_is_recorded_is_not_mistaken() {
    let (there, back) =
        ("mv a x; mv b a; mv x b; mv c/sub c/s", "mv a x; mv b a; mv x b; mv c/s c/sub");
    for first in (1..24).chain(40..70) {
        let world = live(Where::Same, MANY);
        let (before, tree) = (contents(&world), world.snapshot());
        let (count, moved) = (Cell::new(0), Cell::new(false));
        let over = || {
            let at = count.replace(count.get() + 1);
            if at == first || at == first + 9 {
                world.host([there, back][usize::from(moved.replace(!moved.get()))]);
            }
            false
        };
        recorded_while(&world, (&[], Limits::default()), &over);
        world.host(["true", back][usize::from(moved.get())]);
        world.host("rm top");
        settled(&world, &[]);
        nothing_is_lost(&world, &before);
        let names = |tree: &BTreeMap<PathBuf, String>| tree.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&world.snapshot()), names(&tree), "{first}: nothing moved in the end");
        assert_eq!(std::fs::read(world.root().join("a/1")).expect("there"), b"a1\n");
    }
}

#[test]
fn what_was_left_out_stays_wherever_it_went() {
    let tree = "mkdir -p .git node_modules/x sub; echo h > .git/HEAD; echo x > node_modules/x/y
        echo secret > sub/.env; head -c 5000 /dev/zero | tr '\\0' b > big; echo t > sub/t";
    let world = live(Where::Same, tree);
    let before = contents(&world);
    let hidden = [PathBuf::from("sub/.env")];
    recorded(&world, &hidden, Limits { file_bytes: 4096, ..Limits::default() });
    world.host("mv .git dotgit; mv node_modules nm; mv big large; mv sub other; echo n > n");
    let settled = settled(&world, &hidden);
    assert!(!settled.uncovered.is_empty());
    nothing_is_lost(&world, &before);
}

#[test]
fn closed_directories_hide_nothing() {
    let world = live(Where::Same, "mkdir -p src/lib; echo a > src/lib/a; echo b > src/b");
    let before = world.snapshot();
    recorded(&world, &[], Limits::default());
    world.host("rm src/lib/a; echo evil > src/b; chmod 0 src/lib src");
    assert_eq!(told(&settled(&world, &[])), ["m src", "M src/b", "m src/lib", "D src/lib/a"]);
    forget(&world);
    let undone = world.undo(&OsFs).expect("undone");
    assert!(undone.failed.is_empty() && undone.changed_since.is_empty(), "{undone:?}");
    assert!(same_files(&world.snapshot(), &before), "{:?}", world.snapshot());
}

#[test]
fn tag_of_the_run_leaves_nothing_out() {
    let world = live(Where::Same, "mkdir src; echo a > src/a; echo b > src/b");
    world.host("printf 'Signature: 8a477f597d28d172789f06886806bc55\\n' > src/CACHEDIR.TAG");
    recorded(&world, &[], Limits::default());
    world.host("rm src/CACHEDIR.TAG; echo evil > src/a");
    let settled = settled(&world, &[]);
    assert_eq!(left(&settled.left_out), []);
    assert_eq!(told(&settled), ["M src/a"]);
}

#[test]
fn settled_record_that_stays_is_entered_once() {
    let world = live(Where::Same, super::TREE);
    let before = world.snapshot();
    recorded(&world, &[], Limits::default());
    world.host("echo more >> a/one; echo n > n");
    assert_eq!(told(&settled(&world, &[])), ["M a/one", "A n"]);
    assert_eq!(told(&settled(&world, &[])), [""; 0]);
    forget(&world);
    let undone = world.undo(&OsFs).expect("undone");
    assert!(undone.changed_since.is_empty(), "{undone:?}");
    assert_same(&world.snapshot(), &before, "undone");
}

fn undo_is_exact(place: Where, tree: &str, run: &str) {
    let tree = format!(
        "mkdir -p d/e f; {tree}\nfor f in * */* */*/*; do [ -f \"./$f\" ] && [ ! -L \"./$f\" ] && {{ cp -p \"./$f\" ./t-t; mv -f ./t-t \"./$f\"; }}; done; :"
    );
    let world = live(place, &tree);
    let before = world.snapshot();
    recorded(&world, &[], Limits::default());
    crate::testing::in_user_namespace(&world.root(), run);
    let after = world.snapshot();
    let settled = settled(&world, &[]);
    assert_eq!(left(&settled.uncovered), [], "{tree}\n--\n{run}");
    assert_eq!(told(&settled).is_empty(), same_files(&before, &after), "{tree}\n--\n{run}");
    forget(&world);
    if settled.report.applied.is_empty() {
        return;
    }
    let undone = world.undo(&OsFs).expect("undone");
    assert!(undone.changed_since.is_empty() && undone.failed.is_empty(), "{undone:?}");
    assert_same(&world.snapshot(), &before, &format!("{place:?}: undone\n{tree}\n--\n{run}"));
    world.assert_clean();
}

/// Whether nothing differs but times of directories.
fn same_files(one: &BTreeMap<PathBuf, String>, other: &BTreeMap<PathBuf, String>) -> bool {
    let short = |(path, text): (&PathBuf, &String)| {
        let (mode, rest) = text.split_once(' ').unwrap_or_default();
        let is_directory = text.starts_with('4');
        (path.clone(), if is_directory { mode.to_owned() } else { format!("{mode} {rest}") })
    };
    one.iter().map(short).eq(other.iter().map(short))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn undo_is_exact_within_one_file_system(tree in acts(0..20), run in acts(1..24)) {
        undo_is_exact(Where::Same, &tree, &run);
    }

    #[test]
    fn undo_is_exact_between_two_file_systems(tree in acts(0..20), run in acts(1..24)) {
        undo_is_exact(Where::Elsewhere, &tree, &run);
    }
}
