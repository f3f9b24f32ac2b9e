//! What is moved and is not what was expected goes back, and whoever was faster keeps his version.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use super::super::testing::*;
use super::super::*;
use crate::fs::faulty::{FaultyFs, Lack, Race};
use crate::fs::{Errno, OsFs};

fn planned(world: &World) -> SyncPlan {
    plan(&world.collect(), &rules(OnConflict::Host))
}

fn nothing() -> Race {
    Race::After(Box::new(|| {}))
}

fn content(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.root().join(path)).expect("there").trim_end().to_owned()
}

/// Somebody who has a directory open goes on to use it when it was moved.
#[test]
fn directory_in_which_names_go_while_it_is_looked_through_goes_back() {
    for place in PLACES {
        let world = World::new(place, "mkdir d; echo 1 > d/a; echo 2 > d/b; chmod 755 d");
        world.guest("rm -r d");
        let open = File::open(world.root().join("d")).expect("open");
        let gone = PathBuf::from(format!("/proc/self/fd/{}/a", open.as_raw_fd()));
        let go = Race::Listed(Box::new(move || std::fs::remove_file(gone).expect("removed")));
        let report = world.apply(&FaultyFs::racing(vec![nothing(), go]), &planned(&world));
        let report = report.expect("applied");
        assert_eq!(report.applied, [], "{place:?}");
        assert_eq!(content(&world, "d/b"), "2", "{place:?}");
        world.assert_clean();
        world.undo(&OsFs).expect("undone");
        assert_eq!(content(&world, "d/b"), "2", "{place:?}");
    }
}

#[test]
fn version_that_comes_while_another_goes_back_stays() {
    for place in PLACES {
        let world = World::new(place, "echo v1 > f");
        world.guest("echo run > f");
        let save = |text: &'static str| {
            let root = world.root();
            Race::Before(Box::new(move || shell(&root, &format!("echo {text} > n; mv n f"))))
        };
        let races = vec![save("v2"), nothing(), save("v3")];
        let report = world.apply(&FaultyFs::racing(races), &planned(&world)).expect("applied");
        assert_eq!(report.applied, [], "{place:?}");
        assert_eq!(content(&world, "f"), "v3", "{place:?}");
        shell(world.run.path(), "grep -qrx v2 undo");
        world.assert_clean();
    }
}

/// Killed after `moves` of three.
fn killed(moves: usize) -> World {
    let script = "mkdir d; echo 1 > d/f; echo 2 > gone; echo old > edit";
    let world = World::new(Where::Elsewhere, script);
    world.guest("rm -r d; rm gone; echo new > edit");
    let races = (0..moves).map(|_| nothing()).chain([Race::Death]).collect();
    world.apply(&FaultyFs::racing(races), &planned(&world)).expect_err("killed");
    world
}

#[test]
fn originals_come_back_though_somebody_took_the_stage() {
    for (moves, gives_up) in [(1, false), (3, false), (2, true), (3, true)] {
        let world = killed(moves);
        world.host("rm -r .endow-*-stage");
        let resumed = if gives_up { world.give_up(&OsFs) } else { world.resume(&OsFs) };
        let resumed = resumed.expect("resumed").expect("begun");
        let done: usize = resumed.reports.iter().map(|(_, it)| it.applied.len()).sum();
        // What was in the directory counts, too.
        assert!(done >= moves, "{moves}: {resumed:?}");
        world.assert_clean();
        let undone = world.undo(&OsFs).expect("undone");
        assert!(undone.failed.is_empty(), "{moves}: {undone:?}");
        assert_eq!(["d/f", "gone", "edit"].map(|it| content(&world, it)), ["1", "2", "old"]);
        assert!(world.sync(OnConflict::Host).is_complete(), "{moves}");
        world.host("test ! -e d; test ! -e gone; grep -qx new edit");
    }
}

/// What was displaced is judged again, and what was taken is not at its place any more.
#[test]
fn what_was_taken_stays_so_though_its_new_place_is_lost_when_it_goes_on() {
    for place in PLACES {
        let world = World::new(place, "echo old > f; echo moved > g; touch -d '2001-02-03' g");
        world.guest("mv g f");
        let fs = FaultyFs::racing(vec![nothing(), nothing(), Race::Death]);
        world.apply(&fs, &planned(&world)).expect_err("killed");
        let late = "for f in $(grep -lrx old . 2>/dev/null); do echo late >> $f; done";
        let undo = world.run.path().join("undo");
        shell(&if place == Where::Same { undo } else { world.root() }, late);
        world.resume(&OsFs).expect("resumed").expect("begun");
        assert_eq!(content(&world, "f"), "old\nlate", "{place:?}");
        world.undo(&OsFs).expect("undone");
        assert_eq!(content(&world, "g"), "moved", "{place:?}");
    }
}

#[test]
fn what_could_not_be_moved_leaves_nothing_to_undo_wherever_it_is_killed() {
    for (place, gives_up) in PLACES.into_iter().flat_map(|it| [(it, false), (it, true)]) {
        for call in 0.. {
            let world = World::new(place, "echo old > edit; echo gone > gone");
            let before = world.snapshot();
            world.guest("echo new > edit; echo made > made; rm gone");
            let fs = FaultyFs::killed(call).and_lacking(Lack::Later, Errno::XDEV);
            if world.apply(&fs, &planned(&world)).is_ok() {
                break;
            }
            drop(if gives_up { world.give_up(&OsFs) } else { world.resume(&OsFs) });
            let undone = world.undo(&OsFs).expect("undone");
            let is_whole = undone.failed.is_empty() && undone.changed_since.is_empty();
            assert!(is_whole, "{place:?} {call}: {undone:?}");
            let mut now = world.snapshot();
            // The stage was made in the root.
            now.extend(before.get(&PathBuf::new()).map(|root| (PathBuf::new(), root.clone())));
            assert_same(&now, &before, &format!("{place:?} {call}"));
        }
    }
}

/// What is there may be the originals of another run.
#[test]
fn stage_of_another_run_is_taken_from_nobody() {
    let world = World::new(Where::Same, "mkdir -p .endow-r9-stage/1; echo o > .endow-r9-stage/1/f");
    world.guest("rm -r .endow-r9-stage; mkdir .endow-r9-stage; echo p > .endow-r9-stage/p");
    let report = world.sync(OnConflict::Guest);
    assert!(!report.is_complete() && report.applied.is_empty(), "{report:?}");
    assert!(report.refused.iter().all(|it| it.reason == Refusal::Reserved), "{report:?}");
    assert_eq!(content(&world, ".endow-r9-stage/1/f"), "o");
}

/// After a loss of power, or where somebody else made it.
#[test]
fn stage_without_a_note_gets_another_name() {
    let world = World::new(Where::Elsewhere, "echo old > f");
    world.guest("echo new > f");
    world.host("mkdir .endow-r1-1-stage; echo theirs > .endow-r1-1-stage/it");
    assert!(world.sync(OnConflict::Host).is_complete());
    assert_eq!(content(&world, "f"), "new");
    let kept = world.snapshot().keys().filter(|path| path.ends_with("it")).count();
    assert_eq!(kept, 1);
    world.undo(&OsFs).expect("undone");
    assert_eq!(content(&world, "f"), "old");
}
