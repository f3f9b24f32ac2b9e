//! Files with further names: what the run sets on one of them is no other's.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::super::testing::*;
use super::super::*;
use crate::fs::faulty::FaultyFs;
use crate::fs::{Fs, Kind, OsFs};

/// `a` and `l` have second names outside of the tree.
const TREE: &str = "
    mkdir ../outside d; echo same > a; ln -s a l; ln a ../outside/store; ln l ../outside/link; echo b > d/b
    chmod 640 a; touch -h -d '2001-02-03 04:05:06.123456789' a l d/b d .";
const ATTRIBUTE: &str = "python3 -c 'import os; os.setxattr(\"a\", \"user.x\", b\"1\")'";

fn outside(world: &World) -> BTreeMap<PathBuf, String> {
    snapshot(&world.tree.path().join("outside"))
}

fn inode(path: &Path) -> (u64, u64) {
    let status = path.symlink_metadata().expect("stat");
    (status.ino(), status.nlink())
}

/// Writes back what a run did, looks outside, and takes it back.
fn check_outside(guest: &str, expected: &[&str]) {
    for place in PLACES {
        let world = World::new(place, TREE);
        let what = format!("{place:?}: {guest}");
        let (before, stored) = (world.snapshot(), outside(&world));
        let there = |name: &str| inode(&world.tree.path().join(name));
        let was = ["root/a", "root/l", "outside/store"].map(there);
        world.guest(&format!("{guest}\ncp -a . ../copy"));
        assert_eq!(told(&world.collect()), expected, "{what}");
        assert!(world.sync(OnConflict::Host).is_complete(), "{what}");
        assert_same(&outside(&world), &stored, &what);
        let copy = snapshot(&world.run.path().join("copy"));
        shell(world.run.path(), "rm -r copy");
        assert_same(&world.snapshot(), &copy, &what);
        assert_eq!(told(&world.collect()), [""; 0], "{what}: nothing is left");
        let undone = world.undo(&OsFs).expect("undone");
        assert!(undone.changed_since.is_empty() && undone.failed.is_empty(), "{undone:?}");
        assert_same(&world.snapshot(), &before, &format!("{what}: undone"));
        assert_same(&outside(&world), &stored, &format!("{what}: undone"));
        if place == Where::Same {
            assert_eq!(["root/a", "root/l", "outside/store"].map(there), was, "{what}: its links");
        }
        world.assert_clean();
    }
}

#[test]
fn bits_times_and_attributes_do_not_reach_another_name() {
    check_outside("chmod 777 a", &["m a"]);
    check_outside("touch -d '1999-01-01' a", &["m a"]);
    check_outside(ATTRIBUTE, &["m a"]);
    check_outside("echo same > a; touch -d '1999-01-01' a; chmod 600 a", &["m a"]);
    check_outside("touch -h -d '1999-01-01' l", &["m l"]);
    check_outside("chmod 000 a; touch -d '1999-01-01' d/b d", &["m a", "m d/b"]);
    check_outside("exec 3<> a; exec 3>&-", &[]);
}

#[test]
fn names_of_one_file_get_each_its_own() {
    let tree = "mkdir d; echo one > a; ln a d/b; touch -d '2001-02-03 04:05:06.5' a d .";
    for place in PLACES {
        for guest in [
            "touch -d 1999-01-01 a",
            "touch -d 1999-01-01 a d/b",
            "touch -d 1999-01-01 a; touch -d 1998-01-01 d/b",
            "chmod 700 a; echo two > d/b",
            "touch -d 1999-01-01 a; rm d/b",
            "mv a c; touch -d 1999-01-01 d/b",
            "mv a c; touch -d 1999-01-01 c",
            "rm d/b; ln a d/b; chmod 700 a",
            "rm d/b; ln a d/b; ln a c; touch -d 1999-01-01 a",
        ] {
            let world = World::new(place, tree);
            let (before, what) = (world.snapshot(), format!("{place:?}: {guest}"));
            world.guest(&format!("{guest}\ncp -a . ../copy"));
            assert!(world.sync(OnConflict::Host).is_complete(), "{what}");
            let copy = snapshot(&world.run.path().join("copy"));
            shell(world.run.path(), "rm -r copy");
            assert_same(&world.snapshot(), &copy, &what);
            let undone = world.undo(&OsFs).expect("undone");
            assert!(undone.changed_since.is_empty() && undone.failed.is_empty(), "{undone:?}");
            if place == Where::Same {
                assert_same(&world.snapshot(), &before, &format!("{what}: undone"));
            }
        }
    }
}

#[test]
fn set_id_of_a_further_name_is_not_made_anew() {
    let world = World::new(
        Where::Same,
        "echo s > s; chmod 4755 s; ln s ../other; echo t > t; chmod 4755 t",
    );
    world.guest("touch -d 1999-01-01 s t; chmod 4755 s t");
    assert_eq!(told(&world.collect()), ["m s -SetId", "m t"]);
    let world = World::new(Where::Same, "echo s > s; chmod 4755 s; ln s ../other");
    world.guest("exec 3<> s; exec 3>&-; chmod 4755 s");
    assert_eq!(told(&world.collect()), [""; 0], "looked at alone");
}

#[test]
fn what_is_linked_meanwhile_is_left_alone() {
    for place in PLACES {
        let world = World::new(place, "mkdir ../outside; echo a > a; chmod 600 a");
        world.guest("chmod 777 a");
        let plan = plan(&world.collect(), &rules(OnConflict::Host));
        world.host("ln a ../outside/store");
        let stored = outside(&world);
        let report = world.apply(&OsFs, &plan).expect("applied");
        assert_eq!(report.conflicts.len(), 1, "{report:?}");
        assert!(report.applied.is_empty() && outside(&world) == stored);
    }
}

/// A tree of which a run changed bits and times.
fn amended(place: Where) -> World {
    let tree = "mkdir d; echo a > a; echo b > d/b; ln -s a l; chmod 600 a
        touch -h -d '2001-02-03 04:05:06.5' a d/b l d";
    let world = World::new(place, tree);
    world.guest("chmod 777 a; touch -h -d 1999-01-01 d/b l");
    world
}

/// Writes it back, and makes further names.
fn linked_since(world: &World) {
    assert!(world.sync(OnConflict::Host).is_complete());
    world.host("mkdir ../outside; ln a ../outside/store; ln d/b ../outside/b; ln l ../outside/l");
}

#[test]
fn undo_does_not_reach_a_name_that_was_made_since() {
    for place in PLACES {
        let world = amended(place);
        linked_since(&world);
        let stored = outside(&world);
        let undone = world.undo(&OsFs).expect("undone");
        assert!(undone.changed_since.is_empty() && undone.failed.is_empty(), "{undone:?}");
        assert_same(&outside(&world), &stored, &format!("{place:?}"));
        let status = |name: &str| world.root().join(name).symlink_metadata().expect("stat");
        assert_eq!(status("a").mode() & 0o777, 0o600);
        assert_eq!(["d/b", "l"].map(|name| status(name).mtime_nsec()), [500_000_000; 2]);
        assert_eq!(std::fs::read(world.root().join("a")).expect("there"), b"a\n");
        assert_eq!(undone.restored.len(), 3, "{undone:?}");
        let again = world.undo(&OsFs).expect("undone");
        assert!(again.undone.is_empty() && again.changed_since.is_empty(), "{again:?}");
        world.assert_clean();
    }
}

#[test]
fn undo_beside_such_a_name_can_be_killed_anywhere() {
    for place in PLACES {
        let first = amended(place);
        let (world, fs) = (first.again(), FaultyFs::counting());
        linked_since(&world);
        world.undo(&fs).expect("undone");
        for call in 0..fs.calls() {
            let world = first.again();
            linked_since(&world);
            let (stored, what) = (outside(&world), format!("{place:?}, killed at {call}"));
            drop(world.undo(&FaultyFs::killed(call)));
            world.resume(&OsFs).expect(&what);
            let undone = world.undo(&OsFs).expect(&what);
            assert!(
                undone.changed_since.is_empty() && undone.failed.is_empty(),
                "{what}: {undone:?}"
            );
            assert_same(&outside(&world), &stored, &what);
            assert_eq!(
                world.root().join("a").metadata().expect("stat").mode() & 0o777,
                0o600,
                "{what}"
            );
            world.assert_clean();
        }
    }
}

#[test]
fn undo_of_what_its_bits_close_waits_for_its_other_name() {
    if crate::testing::is_root() {
        return;
    }
    let world = World::new(Where::Same, "mkdir ../outside; echo a > a");
    world.guest("chmod 0 a");
    assert!(world.sync(OnConflict::Host).is_complete());
    world.host("ln a ../outside/store");
    let stored = outside_bits(&world);
    let undone = world.undo(&OsFs).expect("undone");
    assert_eq!(undone.changed_since, [Path::new("a")]);
    assert_eq!(outside_bits(&world), stored);
    world.host("rm ../outside/store");
    assert_eq!(world.undo(&OsFs).expect("undone").undone, [Path::new("a")]);
}

fn outside_bits(world: &World) -> u32 {
    world.tree.path().join("outside/store").metadata().expect("stat").mode()
}

#[test]
fn another_run_is_told_what_came_back_as_a_file_of_its_own() {
    let world = World::new(Where::Same, "echo a > a; chmod 600 a");
    world.guest("chmod 777 a");
    assert!(world.sync(OnConflict::Host).is_complete());
    world.host("ln a ../other");
    let undone = world.undo(&OsFs).expect("undone");
    let restored = undone.restored.first().expect("one");
    assert_eq!((restored.was.mode, restored.now.mode), (0o600, 0o600));
    let node = OsFs.node(world.root_fd().as_fd(), "a".as_ref()).expect("stat");
    assert_eq!((restored.now, node.status.kind), (Seen::from(&node), Kind::File));
}
