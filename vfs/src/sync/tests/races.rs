//! Others swap directories and links in the target while write-backs run.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::super::testing::*;
use super::super::*;
use crate::fs::OsFs;

const ROUNDS: usize = 150;
/// With `ENDOW_SWEEP=all`.
const ALL_ROUNDS: usize = 500;

fn rounds() -> usize {
    if is_sweep() { ALL_ROUNDS } else { ROUNDS }
}

/// Swaps two names as fast as it can until told to stop.
fn swap(one: &Path, other: &Path, stop: &AtomicBool, swaps: &AtomicUsize) {
    while !stop.load(Ordering::Relaxed) {
        // A name that a write-back has in its hands is swapped the next time.
        if renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok() {
            swaps.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn race(place: Where, rounds: usize) {
    let world = World::new(
        place,
        "
        mkdir -p dir two/sub other; echo old > two/sub/file; echo old > dir/file; echo old > dir/gone",
    );
    let outside = world.tree.path().join("outside");
    shell(
        world.tree.path(),
        "mkdir -p outside/sub; echo safe > outside/file; echo safe > outside/sub/file; echo safe > outside/gone",
    );
    let link = |name: &str, to: &Path| {
        std::os::unix::fs::symlink(to, world.root().join(name)).expect("link");
    };
    link("trap", &outside);
    link("other/sub", &outside.join("sub"));
    world.guest("echo new > dir/file; echo new > two/sub/file; rm dir/gone; echo new > dir/new; mkdir dir/made; echo new > dir/made/x");
    let before = snapshot(&outside);
    let (stop, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let root = world.root();
        let (dir, trap) = (root.join("dir"), root.join("trap"));
        let (sub, other) = (root.join("two/sub"), root.join("other/sub"));
        let (stop, swaps) = (&stop, &swaps);
        scope.spawn(move || swap(&dir, &trap, stop, swaps));
        scope.spawn(move || swap(&sub, &other, stop, swaps));
        for _ in 0..rounds {
            let set = world.collect_with(&OsFs);
            if let Ok(set) = set {
                let plan = plan(&set, &rules(OnConflict::Guest));
                drop(world.apply(&OsFs, &plan));
            }
            drop(world.resume(&OsFs));
            drop(world.undo(&OsFs));
            drop(world.resume(&OsFs));
        }
        stop.store(true, Ordering::Relaxed);
    });
    println!("{} swaps during {rounds} write-backs, {place:?}", swaps.load(Ordering::Relaxed));
    assert_same(&snapshot(&outside), &before, "outside");
    assert!(swaps.load(Ordering::Relaxed) > rounds);
}

#[test]
fn nothing_outside_changes_within_one_file_system() {
    race(Where::Same, rounds());
}

#[test]
fn nothing_outside_changes_between_two_file_systems() {
    race(Where::Elsewhere, rounds() / 5);
}
