//! Files that are cut short while a checkpoint records them.

use std::os::fd::AsFd;

use super::super::checkpoint::{Left, Limits, Recording, record};
use super::super::testing::*;
use super::checkpoint::{left, live, place, settled, told};
use crate::fs::faulty::{FaultyFs, Race};

fn recorded_by(fs: &FaultyFs, world: &World) {
    let (root, place) = (world.root_fd(), place(world));
    let recording = Recording {
        root: root.as_fd(),
        place: place.as_fd(),
        stamp: world.stamp,
        hidden: &[],
        limits: Limits::default(),
        is_over: &|| false,
    };
    record(fs, &recording).expect("recorded");
}

/// A tree with an empty file, which the command fills; `is_cut` when it was not empty before, and
/// the recorder comes to it before the time of that change is set.
fn check(is_cut: bool, expected: (&[&str], &[(&str, Left)])) {
    for place in PLACES {
        let world = live(place, "mkdir dir; touch -d '2001-02-03 04:05:06' dir/file");
        let path = world.root();
        let set_times = move || shell(&path, "touch -d '2001-02-03 04:05:06' dir/file");
        let races = if is_cut { vec![Race::Cut(Box::new(set_times))] } else { Vec::new() };
        recorded_by(&FaultyFs::racing(races), &world);
        world.host("echo guest > dir/file");
        let settled = settled(&world, &[]);
        assert_eq!(told(&settled), expected.0, "{place:?}");
        let uncovered = expected.1.iter().map(|(path, why)| ((*path).to_owned(), *why));
        assert_eq!(left(&settled.uncovered), uncovered.collect::<Vec<_>>(), "{place:?}");
    }
}

#[test]
fn file_that_is_being_cut_is_not_recorded() {
    check(true, (&[], &[("dir/file", Left::Changed)]));
}

#[test]
fn empty_file_is_recorded() {
    check(false, (&["M dir/file"], &[]));
}
