//! Runs that followed each other are taken back one after another.

use std::mem;
use std::os::fd::AsFd;
use std::path::Path;

use super::super::testing::*;
use super::super::*;
use super::TREE;
use crate::fs::OsFs;
use crate::testing::Scratch;

const USER: &str = "python3 -c 'import os; os.setxattr(\"new\", \"user.x\", b\"1\")'";

fn written_back(world: &World, guest: &str) {
    world.guest(guest);
    assert!(world.sync(OnConflict::Host).is_complete());
    world.drop_layer();
}

/// Begins another run in the same tree, and returns the directory of the first one.
fn next_run(world: &mut World, place: Where) -> Scratch {
    let earlier = mem::replace(&mut world.run, World::new(place, "true").run);
    let root = world.root().display().to_string();
    let like = format!("chmod --reference='{root}' upper; touch -r '{root}' upper");
    shell(world.run.path(), &like);
    world.stamp = world.stamp_now();
    earlier
}

/// Takes a run back and tells the earlier one, which is the world's then.
fn take_back(world: &mut World, earlier: Scratch) {
    let undone = world.undo(&OsFs).expect("undone");
    assert!(undone.changed_since.is_empty() && undone.failed.is_empty(), "{undone:?}");
    let root = world.root_fd();
    follow(&OsFs, earlier.fd(), root.as_fd(), &undone.restored).expect("followed");
    world.run = earlier;
}

#[test]
fn what_two_runs_changed_is_taken_back_twice() {
    for place in PLACES {
        for (first, second) in [
            ("echo 1 >> a/one", "echo 2 >> a/one"),
            ("echo 1 > new", "rm new"),
            ("echo 1 > new", "mkdir d; mv new d"),
            ("echo 1 >> a/one; chmod 600 a/one", "rm a/one; ln -s x a/one"),
            ("chmod 600 top; rm c/c", "echo 2 > top; echo 2 > c/c"),
            ("ln -s x new", "rm new; mkdir new; echo 2 > new/x"),
            ("echo 1 > new", "chmod +x new"),
            ("echo 1 > new", "touch -d 1999-01-01 new"),
            ("echo 1 >> a/one", "touch -d 1999-01-01 a/one; chmod 600 a/one"),
            ("chmod 600 top", "chmod 400 top"),
            ("mkdir d; echo 1 > d/f; chmod 700 d", "chmod 755 d; chmod 600 d/f"),
            ("chmod 711 c; echo 1 >> c/c", "chmod 700 c"),
            ("ln -s x new; ln new further", "touch -h -d 1999-01-01 new"),
            ("echo 1 > new", USER),
            ("echo 1 > a/new", "rm -r a"),
            ("echo 1 >> a/b/two; chmod 700 a/b", "rm -r a; mkdir a; echo 2 > a/one"),
            ("mkdir -p d/e; echo 1 > d/e/f; ln d/e/f d/g", "rm -r d; echo 2 > d"),
        ] {
            let mut world = World::new(place, TREE);
            let before = world.snapshot();
            written_back(&world, first);
            let between = world.snapshot();
            let earlier = next_run(&mut world, place);
            written_back(&world, second);
            take_back(&mut world, earlier);
            assert_same(&world.snapshot(), &between, &format!("{place:?} {first}"));
            let undone = world.undo(&OsFs).expect("undone");
            let told = format!("{place:?} {first} | {second}: {undone:?}");
            assert!(undone.changed_since.is_empty() && undone.failed.is_empty(), "{told}");
            assert_same(&world.snapshot(), &before, &told);
        }
    }
}

#[test]
fn edit_between_two_runs_is_still_an_edit() {
    let seconds = ["echo 2 >> a/one", "chmod 600 a/one", "rm -r a"];
    for (place, second) in PLACES.into_iter().flat_map(|it| seconds.map(|second| (it, second))) {
        let mut world = World::new(place, TREE);
        written_back(&world, "echo 1 >> a/one");
        // Same size and time: nothing but the time of change tells.
        world.host("touch -r a/one t; printf 'one\n9\n' > a/one; touch -r t a/one; rm t");
        let earlier = next_run(&mut world, place);
        written_back(&world, second);
        take_back(&mut world, earlier);
        let undone = world.undo(&OsFs).expect("undone");
        assert_eq!(undone.changed_since, [Path::new("a/one")], "{place:?} {second}");
        let text = std::fs::read_to_string(world.root().join("a/one")).expect("a text");
        assert_eq!(text, "one\n9\n");
    }
}

#[test]
fn what_three_runs_changed_is_taken_back_one_after_another() {
    for place in PLACES {
        let mut world = World::new(place, TREE);
        let before = world.snapshot();
        written_back(&world, "echo 1 > a/new");
        let first = next_run(&mut world, place);
        written_back(&world, "chmod 600 a/new");
        let second = next_run(&mut world, place);
        written_back(&world, "rm -r a");
        let undone = world.undo(&OsFs).expect("undone");
        for run in [&first, &second] {
            follow(&OsFs, run.fd(), world.root_fd().as_fd(), &undone.restored).expect("followed");
        }
        world.run = second;
        take_back(&mut world, first);
        let undone = world.undo(&OsFs).expect("undone");
        assert!(undone.changed_since.is_empty() && undone.failed.is_empty(), "{undone:?}");
        assert_same(&world.snapshot(), &before, &format!("{place:?}"));
    }
}
