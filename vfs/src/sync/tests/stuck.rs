//! File systems that can't move names as write-back does, and write-backs that can't be finished.

use super::super::testing::*;
use super::super::*;
use crate::fs::faulty::{FaultyFs, Lack};
use crate::fs::{Errno, OsFs};

const TREE: &str = "mkdir d; echo 1 > d/one; echo 2 > d/two; echo 3 > three; echo 4 > z
    touch -d '2001-02-03 04:05:06' d/one d/two three z d .";
const GUEST: &str = "echo x > d/one; rm d/two; echo new > new; mkdir m; echo in > m/in; chmod 600 z
    echo y > three";

fn journal(world: &World) -> bool {
    world.run.path().join("journal").exists()
}

#[test]
fn a_file_system_without_a_flag_is_refused_before_the_journal_holds() {
    for errno in [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP] {
        for (place, lack) in PLACES
            .into_iter()
            .flat_map(|place| [Lack::NoReplace, Lack::Exchange].map(|lack| (place, lack)))
        {
            let what = format!("{place:?} {lack:?} {errno}");
            let world = World::new(place, TREE);
            let before = world.snapshot();
            world.guest(GUEST);
            let plan = plan(&world.collect(), &rules(OnConflict::Host));
            let refused = world.apply(&FaultyFs::lacking(lack, errno), &plan);
            assert!(matches!(refused, Err(SyncError::CantMove { .. })), "{what}: {refused:?}");
            assert!(!journal(&world), "{what}");
            world.assert_clean();
            assert!(world.resume(&OsFs).expect("nothing to resume").is_none(), "{what}");
            // What it is refused for is not needed for all changes; elsewhere all can be had.
            assert!(world.sync(OnConflict::Host).is_complete(), "{what}");
            let refused = world.undo(&FaultyFs::lacking(lack, errno));
            assert!(matches!(refused, Err(SyncError::CantMove { .. })), "{what}: {refused:?}");
            assert!(!journal(&world), "{what}");
            world.assert_clean();
            world.undo(&OsFs).expect("undone");
            assert_same(&world.snapshot(), &before, &what);
        }
    }
}

#[test]
fn what_a_plan_does_not_need_is_not_asked_for() {
    let world = World::new(Where::Same, TREE);
    world.guest("echo new > new; rm three");
    let plan = plan(&world.collect(), &rules(OnConflict::Host));
    let applied = world.apply(&FaultyFs::lacking(Lack::Exchange, Errno::INVAL), &plan);
    assert!(applied.expect("applied").is_complete());
}

#[test]
fn a_write_back_that_always_fails_can_be_given_up_and_undone() {
    for errno in [Errno::IO, Errno::INVAL] {
        for place in PLACES {
            let world = World::new(place, TREE);
            let before = world.snapshot();
            world.guest(GUEST);
            let plan = plan(&world.collect(), &rules(OnConflict::Host));
            let fs = FaultyFs::lacking(Lack::Later, errno);
            world.apply(&fs, &plan).expect_err("it fails");
            world.resume(&fs).expect_err("and again");
            assert!(journal(&world));
            assert!(world.give_up(&fs).expect("given up").is_some());
            world.assert_clean();
            world.undo(&OsFs).expect("undone");
            assert_same(&world.snapshot(), &before, &format!("{place:?} {errno}"));
        }
    }
}

#[test]
fn what_was_done_before_it_was_given_up_is_undone() {
    for place in PLACES {
        let first = World::new(place, TREE);
        first.guest(GUEST);
        let mut partial = 0;
        for call in 0.. {
            let world = first.again();
            let before = world.snapshot();
            let plan = plan(&world.collect(), &rules(OnConflict::Host));
            let fs = FaultyFs::killed(call);
            drop(world.apply(&fs, &plan));
            let is_over = fs.calls() <= call;
            let what = format!("{place:?}, killed at call {call}");
            let given_up = world.give_up(&OsFs).expect(&what);
            partial += usize::from(given_up.is_some());
            world.assert_clean();
            let undone = world.undo(&OsFs).expect(&what);
            assert!(undone.changed_since.is_empty() && undone.failed.is_empty(), "{what}");
            let strip = |tree: std::collections::BTreeMap<std::path::PathBuf, String>| {
                let is_file = |text: &String| !text.starts_with('4');
                tree.into_iter().filter(|(_, text)| is_file(text)).collect()
            };
            assert_same(&strip(world.snapshot()), &strip(before), &what);
            if is_over {
                break;
            }
        }
        assert!(partial > 5, "{place:?}: {partial}");
    }
}

/// As of a disk that is not plugged in any more.
#[test]
fn what_is_given_up_while_its_mount_is_gone_takes_nothing_away() {
    for place in PLACES {
        let first = World::new(place, TREE);
        first.guest("echo x > d/one; rm d/two; echo new > new; echo y > three");
        let mut partial = 0;
        for call in (0..).step_by(3) {
            let world = first.again();
            let plan = plan(&world.collect(), &rules(OnConflict::Host));
            let fs = FaultyFs::killed(call);
            drop(world.apply(&fs, &plan));
            let what = format!("{place:?}, killed at call {call}");
            partial += usize::from(given_up_while_gone(&world, &what));
            let undone = world.undo(&OsFs).expect(&what);
            assert!(undone.failed.is_empty(), "{what}: {undone:?}");
            if place == Where::Same {
                assert!(!world.root().join("new").exists(), "{what}: {undone:?}");
            }
            let all = snapshot(&world.root())
                .into_values()
                .chain(snapshot(world.run.path()).into_values());
            let all: String = all.collect();
            for old in [1, 2, 3] {
                assert!(all.contains(&format!("{:?}", format!("{old}\n"))), "{what}: {old}");
            }
            if fs.calls() <= call {
                break;
            }
        }
        assert!(partial > 5, "{place:?}: {partial}");
    }
}

/// As where the state has no room: the disk is plugged in again, and what was begun is finished as ever.
#[test]
fn what_could_not_be_given_up_is_finished_when_its_mount_is_back() {
    let first = World::new(Where::Elsewhere, TREE);
    first.guest("echo x > d/one; rm d/two; echo new > new");
    let begun = |call| {
        let world = first.again();
        let plan = plan(&world.collect(), &rules(OnConflict::Host));
        drop(world.apply(&FaultyFs::killed(call), &plan));
        journal(&world).then_some(world)
    };
    let call = (0..1000).find(|call| begun(*call).is_some()).expect("a journal");
    let mut finished = 0;
    for tried in 0.. {
        let world = begun(call).expect("a journal");
        let (away, run) =
            (world.tree.path().join("away"), RunPlace { dir: world.run.fd(), id: RUN });
        std::fs::rename(world.root(), &away).expect("moved");
        let is_done = give_up(&FaultyFs::killed(tried), &run, &[]).is_ok();
        std::fs::rename(away, world.root()).expect("moved");
        if is_done {
            break;
        }
        // Once that is entered, it is given up.
        let is_entered = world.run.path().join("undo/applied.json").exists();
        world.resume(&OsFs).unwrap_or_else(|error| panic!("tried for {tried} calls: {error:?}"));
        let is_finished = world.root().join("new").exists();
        assert!(is_finished || is_entered, "tried for {tried} calls");
        finished += usize::from(is_finished);
    }
    assert!(finished > 3, "{finished}");
}

/// Gives up what is begun where the root is not there, and brings that back; returns whether anything was.
fn given_up_while_gone(world: &World, what: &str) -> bool {
    let away = world.tree.path().join("away");
    std::fs::rename(world.root(), &away).expect("moved");
    let is_begun = journal(world);
    let run = RunPlace { dir: world.run.fd(), id: RUN };
    if is_begun {
        let resumed = resume(&OsFs, &run, &[]);
        assert!(matches!(resumed, Err(SyncError::OtherRoot { mount: MOUNT })), "{what}");
    }
    assert_eq!(give_up(&OsFs, &run, &[]).expect(what).is_some(), is_begun, "{what}");
    assert!(!journal(world), "{what}");
    std::fs::rename(away, world.root()).expect("moved");
    is_begun
}
