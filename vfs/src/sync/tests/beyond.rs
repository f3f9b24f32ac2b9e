//! What a file system can't keep, however much room there is: it alone is refused.

use std::fs::File;
use std::os::fd::AsFd;

use super::super::testing::*;
use super::super::*;
use crate::fs::faulty::{FaultyFs, Lack, Race};
use crate::fs::{At, Errno, Fs, OsFs};

/// Gives a file of the layer an attribute that is too large for the tree.
fn enlarge(world: &World, name: &str) {
    let upper = File::open(world.upper()).expect("open");
    let at = At { dir: upper.as_fd(), name: name.as_ref() };
    OsFs.set_attribute(at, "user.large".as_ref(), b"large").expect("set");
}

fn refused(report: &SyncReport) -> Vec<(String, Refusal)> {
    let refused = report.refused.iter();
    refused.map(|it| (it.path.display().to_string(), it.reason)).collect()
}

#[test]
fn attributes_that_can_not_be_kept_refuse_their_files_alone() {
    for errno in [Errno::NOSPC, Errno::OPNOTSUPP, Errno::RANGE] {
        let world = World::new(Where::Elsewhere, "echo kept > kept; chmod 644 kept");
        world.guest("echo n > new; echo o > other; chmod 600 kept; mkdir dir; echo i > dir/in");
        enlarge(&world, "new");
        enlarge(&world, "kept");
        let fs = FaultyFs::lacking(Lack::Attribute, errno);
        let report = world.apply(&fs, &plan(&world.collect(), &rules(OnConflict::Host)));
        let report = report.expect("applied");
        let expected = ["new", "kept"].map(|name| (name.to_owned(), Refusal::Beyond));
        let mut found = refused(&report);
        found.sort_by_key(|(name, _)| name != "new");
        assert_eq!(found, expected, "{errno}");
        world.host(
            "test ! -e new; grep -qx o other; grep -qx i dir/in; test $(stat -c %a kept) = 644",
        );
        assert!(!report.is_complete());
        world.assert_clean();
        world.undo(&fs).expect("undone");
        world.host("test ! -e other; test ! -e dir");
    }
}

#[test]
fn what_was_moved_and_can_not_be_kept_there_stays_where_it_was() {
    let world = World::new(Where::Elsewhere, "echo data > f; mkdir d; echo more > d/g");
    world.guest("cp -p f moved; rm f; cp -rp d e; rm -r d");
    enlarge(&world, "moved");
    enlarge(&world, "e/g");
    let fs = FaultyFs::lacking(Lack::Attribute, Errno::NOSPC);
    let report = world.apply(&fs, &plan(&world.collect(), &rules(OnConflict::Host)));
    let mut found = refused(&report.expect("applied"));
    found.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [("d", Refusal::Moved), ("e/g", Refusal::Beyond), ("f", Refusal::Moved)];
    let expected = expected.into_iter().chain([("moved", Refusal::Beyond)]);
    assert_eq!(found, expected.map(|(name, why)| (name.to_owned(), why)).collect::<Vec<_>>());
    world.host("grep -qx data f; grep -qx more d/g");
}

#[test]
fn directory_that_comes_as_a_whole_comes_without_what_is_beyond() {
    let world = World::new(Where::Elsewhere, "true");
    world.guest("mkdir d; echo 1 > d/large; echo 2 > d/small");
    enlarge(&world, "d/large");
    let fs = FaultyFs::lacking(Lack::Attribute, Errno::NOSPC);
    for whole in [false, true] {
        let plan = SyncPlan { whole, ..plan(&world.collect(), &rules(OnConflict::Host)) };
        let report = world.apply(&fs, &plan).expect("applied");
        assert_eq!(refused(&report), [("d/large".to_owned(), Refusal::Beyond)], "{whole}");
        world.host("test ! -e d/large; grep -qx 2 d/small");
        world.undo(&fs).expect("undone");
        world.host("test ! -e d");
    }
}

/// Given up, it is no part of what can be undone.
#[test]
fn what_is_beyond_is_not_done_when_the_rest_is_given_up() {
    let world = World::new(Where::Elsewhere, "echo old > edit");
    world.guest("echo n > new; echo new > edit");
    enlarge(&world, "new");
    let races = vec![Race::After(Box::new(|| {})), Race::Death];
    let fs = FaultyFs::racing(races).and_lacking(Lack::Attribute, Errno::NOSPC);
    world.apply(&fs, &plan(&world.collect(), &rules(OnConflict::Host))).expect_err("killed");
    world.give_up(&OsFs).expect("given up").expect("begun");
    let undone = world.undo(&OsFs).expect("undone");
    assert!(undone.changed_since.is_empty() && undone.failed.is_empty(), "{undone:?}");
    world.host("grep -qx old edit; test ! -e new");
}
