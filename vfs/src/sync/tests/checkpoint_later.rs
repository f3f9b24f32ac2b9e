//! Checkpoints of trees that somebody else changed after the end of the run.

use std::path::PathBuf;

use super::super::checkpoint::{Left, Limits};
use super::super::testing::*;
use super::super::*;
use super::checkpoint::{forget, left, live, recorded, settled, settled_at, settled_by, told};
use crate::fs::OsFs;

/// A run does `run`, and after its end somebody does `since`; then it is settled.
fn settled_late(run: &str, since: &str) -> (World, super::super::checkpoint::Checkpointed) {
    let world = live(Where::Same, super::TREE);
    recorded(&world, &[], Limits::default());
    world.host(run);
    let end = world.stamp_now();
    world.host(since);
    let settled = settled_at(&world, end, &[]);
    forget(&world);
    (world, settled)
}

fn paths(paths: &[&str]) -> Vec<PathBuf> {
    paths.iter().map(PathBuf::from).collect()
}

fn text(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.root().join(path)).unwrap_or_default()
}

#[test]
fn what_changed_after_the_end_stays() {
    let (world, settled) =
        settled_late("echo run > a/one; rm c/c", "echo mine > top; echo mine > mine; rm keep/x");
    assert_eq!(told(&settled), ["M a/one", "D c/c", "D keep/x", "M top"]);
    assert_eq!(left(&settled.uncovered), [], "what was made after the end is nobody's matter");
    let undone = world.undo(&OsFs).expect("undone");
    assert_eq!(undone.later, paths(&["keep/x"]));
    assert_eq!(undone.changed_since, paths(&["top"]));
    assert_eq!([text(&world, "top"), text(&world, "mine")], ["mine\n", "mine\n"]);
    assert!(!world.root().join("keep/x").exists());
    assert_eq!(text(&world, "a/one"), "one\n");
}

#[test]
fn what_was_recorded_comes_back_when_it_is_named() {
    let (world, _) = settled_late("rm -r keep a/one c", "echo mine > mine; echo mine > a/mine");
    let undone = world.undo(&OsFs).expect("undone");
    assert_eq!(undone.later, paths(&["a/one", "c", "keep"]));
    assert_eq!(undone.undone, paths(&[]));
    let undone = world.undo_named(&OsFs).expect("undone");
    assert_eq!((undone.later, undone.changed_since), (paths(&[]), paths(&[])));
    for (path, expected) in [("a/one", "one\n"), ("mine", "mine\n"), ("a/mine", "mine\n")] {
        assert_eq!(text(&world, path), expected, "{path}");
    }
    assert!(world.root().join("keep/x").exists() && world.root().join("c/c").exists());
    world.assert_clean();
}

#[test]
fn nothing_takes_the_place_of_what_was_made_there_since() {
    let (world, _) = settled_late("rm c/c", "echo mine > mine; echo mine > c/mine");
    world.host("echo mine > c/c");
    let undone = world.undo_named(&OsFs).expect("undone");
    assert_eq!(undone.changed_since, paths(&["c/c"]));
    assert_eq!(text(&world, "c/c"), "mine\n");
}

#[test]
fn bits_of_a_directory_that_changed_later_come_back_when_it_is_named() {
    let (world, settled) = settled_late("chmod 700 c; echo n > c/n", "touch c/mine");
    assert_eq!(told(&settled), ["m c", "A c/n"]);
    let undone = world.undo(&OsFs).expect("undone");
    assert_eq!((undone.undone, undone.later), (paths(&["c/n"]), paths(&["c"])));
    assert_eq!(world.undo_named(&OsFs).expect("undone").undone, paths(&["c"]));
    assert!(world.root().join("c/mine").exists());
}

#[test]
fn same_content_after_the_end_is_no_change() {
    let (_, settled) = settled_late("true", "cp -p a/one t; mv t a/one; cp -p top t; mv t top");
    assert_eq!(told(&settled), [""; 0]);
    assert_eq!(left(&settled.uncovered), []);
}

#[test]
fn what_is_kept_nowhere_is_named_with_the_reason() {
    let world = live(Where::Same, super::TREE);
    recorded(&world, &[], Limits { files: 0, ..Limits::default() });
    let end = world.stamp_now();
    world.host("echo mine > new; rm top");
    let settled = settled_at(&world, end, &[]);
    assert_eq!(left(&settled.uncovered), [("top".to_owned(), Left::Full)]);
    let ledger = Ledger::read(&OsFs, world.run.fd()).expect("read");
    let noted: Vec<_> = ledger.uncovered(MOUNT).cloned().collect();
    assert_eq!(noted, settled.uncovered, "an undo tells of it, too");
}

#[test]
fn edit_that_keeps_size_and_time_stays() {
    for edit in ["echo USER > a/one", "chmod 600 a/one; echo USER > a/one; chmod 640 a/one"] {
        let world = live(Where::Same, super::TREE);
        recorded(&world, &[], Limits::default());
        world.host("echo RUN1 > a/one; echo RUN2 > a/new; touch -d @9 top");
        settled(&world, &[]);
        forget(&world);
        world.host(&format!("touch -r a/one r; {edit}; touch -r r a/one; touch -r top r; echo TOP > top; touch -r r top; rm r"));
        let undone = world.undo(&OsFs).expect("undone");
        assert_eq!(undone.undone, paths(&["a/new"]));
        assert_eq!([text(&world, "a/one"), text(&world, "top")], ["USER\n", "TOP\n"]);
    }
}

#[test]
fn further_name_is_no_edit() {
    let world = live(Where::Same, super::TREE);
    recorded(&world, &[], Limits::default());
    world.host("echo run > a/one; ln a/one a/other");
    settled(&world, &[]);
    forget(&world);
    world.host("ln a/one a/third; rm a/third");
    let undone = world.undo(&OsFs).expect("undone");
    assert_eq!(undone.changed_since, paths(&[]));
    assert_eq!(text(&world, "a/one"), "one\n");
}

/// Between two file systems an original is copied to the stage, out of the run's directory.
#[test]
fn directory_that_nobody_may_search_comes_back() {
    let tree = "mkdir -p x d; echo a > d/a; chmod 644 x; touch -d @9 x d .";
    for (mode, place) in ["644", "444"].into_iter().flat_map(|it| PLACES.map(|at| (it, at))) {
        let world = live(place, &format!("{tree}; chmod {mode} x"));
        let before = world.snapshot();
        recorded(&world, &[], Limits::default());
        world.host("chmod 755 x; rm -r x d");
        settled(&world, &[]);
        forget(&world);
        let mut undone = world.undo(&OsFs).expect("undone").undone;
        undone.sort();
        assert_eq!(undone, paths(&["d", "x"]), "{mode} {place:?}");
        assert_same(&world.snapshot(), &before, &format!("{mode} {place:?}"));
        world.assert_clean();
    }
}

/// The start is later than all that the run does.
#[test]
fn nothing_is_passed_over_where_the_clock_was_set_back() {
    let mut world = live(Where::Same, super::TREE);
    world.stamp.seconds += 3600;
    world.clock = Clock::SetBack;
    recorded(&world, &[], Limits::default());
    world.host("echo run > a/one; echo new > a/new; rm c/c");
    let settled = settled_by(&OsFs, &world, None, &[]);
    forget(&world);
    assert_eq!(told(&settled), ["M a/one", "D c/c"]);
    assert_eq!(left(&settled.uncovered), [("a/new".to_owned(), Left::Changed)]);
    let undone = world.undo(&OsFs).expect("undone");
    assert_eq!((undone.later, undone.changed_since), (paths(&[]), paths(&[])));
    assert_eq!([text(&world, "a/one"), text(&world, "c/c")], ["one\n", "c\n"]);
}
