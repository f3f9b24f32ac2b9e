//! Originals of a tree on another file system, which have to be copied: what can't be stays in the tree.

use std::path::{Path, PathBuf};

use super::super::checkpoint::{Left, Limits};
use super::super::testing::*;
use super::super::*;
use super::checkpoint::{forget, left, live, recorded_by, settled};
use crate::fs::faulty::{self, FaultyFs, Race};
use crate::fs::{Errno, OsFs};

const TREE: &str = "mkdir d e; echo 1 > d/mine; echo 2 > d/foreign; echo 3 > e/f; echo old > edit
    touch -d '2001-02-03 04:05:06' d/mine d/foreign e/f edit d e .";
const GUEST: &str = "rm -r d; rm -r e; echo new > edit";

fn closed() -> FaultyFs {
    FaultyFs::lacking(faulty::Lack::Reading, Errno::ACCESS)
}

fn full() -> FaultyFs {
    FaultyFs::lacking(faulty::Lack::Room, Errno::NOSPC)
}

fn has_journal(world: &World) -> bool {
    world.run.path().join("journal").exists()
}

/// A tree that a write-back was killed in once all had been moved.
fn begun() -> World {
    let world = World::new(Where::Elsewhere, TREE);
    world.guest(GUEST);
    let plan = plan(&world.collect(), &rules(OnConflict::Host));
    let moves = (0..3).map(|_| Race::After(Box::new(|| {})));
    let fs = FaultyFs::racing(moves.chain([Race::Death]).collect());
    world.apply(&fs, &plan).expect_err("killed");
    world
}

/// A tree that a write-back was killed in likewise, by a version of endow that copied originals afterwards.
fn begun_before() -> World {
    let world = begun();
    let journal = world.run.path().join("journal");
    let text = std::fs::read_to_string(&journal).expect("a journal");
    assert!(text.contains(",\"is_kept\":true"), "{text}");
    std::fs::write(&journal, text.replace(",\"is_kept\":true", "")).expect("written");
    shell(world.run.path(), "rm -r undo/m001/*");
    world
}

/// An earlier try may have removed the copies of what it could not take away, and somebody may write what he had open.
#[test]
fn copies_that_are_gone_or_old_are_made_again() {
    for (lose, edit) in [("rm -r undo/m001/*", "old"), ("true", "old\nlater")] {
        let world = begun();
        shell(world.run.path(), lose);
        if edit != "old" {
            world.host("for f in .endow-*-stage/*; do if [ -f $f ] && grep -qx old $f; then echo later >>$f; fi; done");
        }
        world.resume(&OsFs).expect("resumed");
        world.assert_clean();
        let undone = world.undo(&OsFs).expect("undone");
        assert!(undone.failed.is_empty(), "{lose}: {undone:?}");
        world.host("grep 1 d/mine; grep 2 d/foreign; grep 3 e/f");
        let text = std::fs::read_to_string(world.root().join("edit")).expect("there");
        assert_eq!(text.trim_end(), edit, "{lose}");
    }
}

#[test]
fn what_nobody_can_copy_is_not_taken_away() {
    let world = World::new(Where::Elsewhere, TREE);
    let before = world.snapshot();
    world.guest(GUEST);
    let plan = plan(&world.collect(), &rules(OnConflict::Host));
    let report = world.apply(&closed(), &plan).expect("applied");
    let refused = [Refused { path: "d".into(), reason: Refusal::Unreadable }];
    assert_eq!(report.refused, refused);
    assert!(!report.is_complete() && !has_journal(&world));
    world.assert_clean();
    let told: Vec<_> = report.applied.iter().map(|it| it.path.display().to_string()).collect();
    assert_eq!(told, ["edit", "e", "e/f"]);
    world.host("cat d/mine d/foreign; test ! -e e; grep new edit");
    world.undo(&closed()).expect("undone");
    assert_same(&world.snapshot(), &before, "undone");
    // One file system needs no copies.
    let world = World::new(Where::Same, TREE);
    world.guest(GUEST);
    assert!(world.sync(OnConflict::Host).is_complete());
}

#[test]
fn what_is_closed_and_ones_own_goes_and_comes_back() {
    let world = World::new(Where::Elsewhere, "mkdir d; echo 1 > d/mine; chmod 0 d/mine");
    world.guest("rm -r d");
    assert!(world.sync(OnConflict::Host).is_complete());
    world.host("test ! -e d");
    world.undo(&OsFs).expect("undone");
    world.host("test \"$(stat -c %a d/mine)\" = 0; chmod 600 d/mine; grep 1 d/mine");
}

#[test]
fn without_room_for_copies_nothing_is_done() {
    let world = World::new(Where::Elsewhere, TREE);
    let before = world.snapshot();
    world.guest("rm -r d");
    let plan = plan(&world.collect(), &rules(OnConflict::Host));
    let full = world.apply(&full(), &plan).expect_err("it fails");
    assert!(matches!(full, SyncError::Io { errno: Errno::NOSPC, .. }), "{full}");
    assert!(!has_journal(&world));
    world.assert_clean();
    let mut now = world.snapshot();
    // The stage was made there.
    now.extend(before.get(Path::new("")).map(|root| (Path::new("").to_owned(), root.clone())));
    assert_same(&now, &before, "refused");
    assert!(world.sync(OnConflict::Host).is_complete());
    world.undo(&OsFs).expect("undone");
    assert!(world.root().join("d/foreign").exists());
}

#[test]
fn what_was_begun_before_and_can_not_be_kept_goes_back() {
    for fs in [closed, full] {
        let world = begun_before();
        world.resume(&fs()).expect_err("it can't be finished");
        assert!(has_journal(&world));
        let given_up = world.give_up(&fs()).expect("given up").expect("it was begun");
        assert_eq!(given_up.set_aside, []);
        assert!(!has_journal(&world));
        world.assert_clean();
        world.host("grep 1 d/mine; grep 2 d/foreign");
        let undone = world.undo(&OsFs).expect("undone");
        assert!(undone.changed_since.is_empty() && undone.failed.is_empty(), "{undone:?}");
        world.host("grep 3 e/f; grep old edit");
    }
}

#[test]
fn what_can_not_go_back_is_set_aside_and_named() {
    for fs in [closed, full] {
        let world = begun_before();
        world.host("mkdir d; echo other > d/mine");
        world.resume(&fs()).expect_err("it can't be finished");
        let given_up = world.give_up(&fs()).expect("given up").expect("it was begun");
        let [aside] = given_up.set_aside.as_slice() else { panic!("{given_up:?}") };
        assert_eq!((aside.mount, aside.path.as_path()), (MOUNT, Path::new("d")));
        assert!(!has_journal(&world));
        let place = world.root().join(&aside.place);
        let read = |path: &str| std::fs::read_to_string(place.join(path)).expect("read");
        assert_eq!((read("mine"), read("foreign")), ("1\n".into(), "2\n".into()));
        // Nothing takes it away, and it is in nobody's way.
        assert!(world.resume(&OsFs).expect("nothing to do").is_none());
        let undone = world.undo(&OsFs).expect("undone");
        let failed: Vec<_> = undone.failed.iter().map(|it| it.path.as_path()).collect();
        assert_eq!(failed, [Path::new("d")]);
        assert_eq!(read("foreign"), "2\n");
        world.host("grep other d/mine; grep 3 e/f; grep old edit");
    }
}

/// Whose owner can't be given to a copy.
fn owned() -> FaultyFs {
    FaultyFs::lacking(faulty::Lack::Owner, Errno::PERM)
}

fn lacking(undone: &UndoReport) -> Vec<(PathBuf, Lack)> {
    undone.lacking.iter().map(|it| (it.path.clone(), it.lack)).collect()
}

#[test]
fn a_copy_with_another_owner_gets_no_set_id_and_is_named() {
    let tree = "mkdir d; for it in d/foreign foreign; do echo 1 > $it; chmod 7755 $it; done";
    for (fs, mode) in [(owned(), "1755"), (FaultyFs::counting(), "7755")] {
        let world = World::new(Where::Elsewhere, tree);
        world.guest("rm -r d; rm foreign");
        let plan = plan(&world.collect(), &rules(OnConflict::Host));
        assert!(world.apply(&fs, &plan).expect("applied").is_complete());
        let undone = world.undo(&OsFs).expect("undone");
        assert!(undone.failed.is_empty(), "{undone:?}");
        let mut told = lacking(&undone);
        told.sort_by(|one, other| one.0.cmp(&other.0));
        let all = [("d/foreign".into(), Lack::SetId), ("foreign".into(), Lack::SetId)];
        assert_eq!(told, if mode == "1755" { all.to_vec() } else { Vec::new() });
        world.host(&format!("test \"$(stat -c %a d/foreign foreign | uniq)\" = {mode}"));
    }
}

#[test]
fn pipes_come_back_and_sockets_are_named() {
    for place in PLACES {
        let world = World::new(place, "mkdir d; echo 1 > d/f; mkfifo -m 640 d/fifo fifo");
        let socket = world.root().join("d/socket");
        drop(std::os::unix::net::UnixListener::bind(socket).expect("a socket"));
        let world = World { stamp: world.stamp_now(), ..world };
        world.guest("rm -r d; rm fifo");
        assert!(world.sync(OnConflict::Host).is_complete());
        let undone = world.undo(&OsFs).expect("undone");
        assert!(undone.failed.is_empty(), "{undone:?}");
        let expected = [("d/socket".into(), Lack::Special)];
        let is_copied = place == Where::Elsewhere;
        assert_eq!(lacking(&undone), if is_copied { expected.to_vec() } else { Vec::new() });
        world.host("test -p fifo; test \"$(stat -c %F:%a d/fifo)\" = fifo:640; grep 1 d/f");
    }
}

#[test]
fn what_is_somebody_elses_comes_back_without_set_id() {
    for (fs, mode) in [(owned(), "1755"), (FaultyFs::counting(), "7755")] {
        let world = live(Where::Same, "mkdir d; echo 1 > d/foreign; chmod 7755 d/foreign");
        recorded_by(&fs, &world, (&[], Limits::default()), &|| false);
        world.host("rm -r d");
        let settled = settled(&world, &[]);
        let named = [("d/foreign".to_owned(), Left::Privilege)];
        let is_less = mode == "1755";
        assert_eq!(left(&settled.uncovered), if is_less { named.to_vec() } else { Vec::new() });
        forget(&world);
        world.undo(&OsFs).expect("undone");
        world.host(&format!("test \"$(stat -c %a d/foreign)\" = {mode}; grep 1 d/foreign"));
    }
}
