//! A tree whose root is closed to its owner, which the stage stands in where the run is elsewhere.

use std::os::unix::fs::MetadataExt;

use super::super::testing::*;
use super::super::*;
use crate::fs::OsFs;
use crate::fs::faulty::FaultyFs;

const TREE: &str = "mkdir d; echo 1 > f; echo 2 > d/g; touch -d '2001-02-03 04:05:06' f d/g d .";
const GUESTS: [&str; 6] = [
    "echo new > f",
    "echo new > d/g",
    "chmod 755 .; echo new > n; rm f; chmod 555 .",
    "chmod 755 .; echo new > n",
    "echo new > f; chmod 511 .",
    "chmod 700 d; touch -d 1999-01-01 .",
];

fn tree(mode: &str) -> String {
    format!("{TREE}; chmod {mode} .")
}

fn mode(world: &World) -> u32 {
    world.root().metadata().expect("stat").mode() & 0o7777
}

#[test]
fn closed_root_is_written_back_and_taken_back() {
    for place in PLACES {
        for (bits, guest) in GUESTS
            .map(|guest| ("555", guest))
            .into_iter()
            .chain([("755", "echo new > f; chmod 555 .")])
        {
            let (world, what) =
                (World::new(place, &tree(bits)), format!("{place:?} {bits} {guest}"));
            let before = world.snapshot();
            world.guest(&format!("{guest}\ncp -a . ../copy"));
            let report = world.sync(OnConflict::Host);
            assert!(report.is_complete(), "{what}: {report:?}");
            let copy = snapshot(&world.run.path().join("copy"));
            assert_same(&world.snapshot(), &copy, &what);
            world.assert_clean();
            assert_eq!(told(&world.collect()), [""; 0], "{what}");
            let undone = world.undo(&OsFs).expect("undone");
            assert!(undone.changed_since.is_empty() && undone.failed.is_empty(), "{undone:?}");
            assert_same(&world.snapshot(), &before, &format!("{what}: undone"));
            world.assert_clean();
        }
    }
}

#[test]
fn root_that_was_opened_up_is_no_change_of_the_hosts() {
    let world = World::new(Where::Elsewhere, &tree("555"));
    world.guest("echo new > d/g; mv f d/moved");
    let only = |path: &std::path::Path| path == std::path::Path::new("d/g");
    let rules = Rules { only: &only, by_name: true, ..rules(OnConflict::Host) };
    world.apply(&OsFs, &plan(&world.collect(), &rules)).expect("applied");
    assert!(world.with_source(|source| source.settled.has(&seen(&world))), "as it was left");
    assert!(world.sync(OnConflict::Host).is_complete());
}

fn seen(world: &World) -> Seen {
    let root = world.root_fd();
    Seen::from(
        &crate::fs::Fs::node(&OsFs, std::os::fd::AsFd::as_fd(&root), "".as_ref()).expect("stat"),
    )
}

#[test]
fn closed_root_is_closed_whoever_dies() {
    for (guest, known) in
        [("echo new > d/g", [0o555; 2]), ("chmod 755 .; echo new > n; chmod 511 .", [0o555, 0o511])]
    {
        let first = World::new(Where::Elsewhere, &tree("555"));
        first.guest(guest);
        for is_undo in [false, true] {
            let mut call = 0;
            while !is_closed_when_killed(&first, (call, is_undo), known) {
                call += 1;
            }
        }
    }
}

/// Kills a write-back, or an undo, at a call; returns whether there is no such call.
fn is_closed_when_killed(first: &World, (call, is_undo): (usize, bool), known: [u32; 2]) -> bool {
    let (world, what) = (first.again(), format!("{known:?}, undo {is_undo}, killed at {call}"));
    let fs = FaultyFs::killed(call);
    let plan = plan(&world.collect(), &rules(OnConflict::Host));
    let applied = world.apply(if is_undo { &OsFs } else { &fs }, &plan);
    if is_undo {
        applied.expect("applied");
        drop(world.undo(&fs));
    }
    world.resume(&OsFs).expect(&what);
    world.assert_clean();
    assert!(known.contains(&mode(&world)), "{what}: {:o}", mode(&world));
    fs.calls() <= call
}
