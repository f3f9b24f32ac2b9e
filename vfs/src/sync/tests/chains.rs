//! Directories in directories, thousands deep, that a command closed to their owner.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::super::testing::*;
use super::super::*;
use crate::fs::faulty::FaultyFs;
use crate::fs::{At, Errno, Fs, Kind, Open, OsFs};
use crate::layer::{Descend, LayerError, walk};
use crate::traps::{GitTraps, Sides};

const NAME: &str = "n";

/// Makes a chain in the layer, closed where a mode is given.
fn chain(world: &World, depth: usize, mode: Option<u32>) {
    let mut at = world.upper_fd();
    for level in 0..depth {
        OsFs.make_dir(at.as_fd(), OsStr::new(NAME), 0o755).expect("made");
        let below = below(&at);
        close(&at, mode.filter(|_| level > 0));
        at = below;
    }
    close(&at, mode);
}

fn below(at: &OwnedFd) -> OwnedFd {
    OsFs.open_below(at.as_fd(), Path::new(NAME), Open::Handle).expect("a directory")
}

fn close(dir: &OwnedFd, mode: Option<u32>) {
    if let Some(mode) = mode {
        OsFs.set_mode_at(At { dir: dir.as_fd(), name: OsStr::new("") }, mode).expect("set");
    }
}

/// Returns the bits of all directories of a chain, which are open afterwards.
fn bits(world: &World) -> Vec<u32> {
    let (mut at, mut bits) = (world.upper_fd(), Vec::new());
    while let Ok(next) = OsFs.open_below(at.as_fd(), Path::new(NAME), Open::Handle) {
        bits.push(OsFs.status_of(next.as_fd()).expect("stat").mode);
        close(&next, Some(0o755));
        at = next;
    }
    bits
}

/// Closes a chain that is open.
fn close_again(world: &World, depth: usize) {
    let mut at = world.upper_fd();
    for level in 0..depth {
        let below = below(&at);
        close(&at, Some(0).filter(|_| level > 0));
        at = below;
    }
    close(&at, Some(0));
}

/// Returns how many calls are made for each directory of a chain, which must be as closed
/// afterwards as it was.
fn calls(depth: usize, mode: Option<u32>, look: impl FnOnce(&World, &FaultyFs)) -> usize {
    let world = World::new(Where::Same, "true");
    chain(&world, depth, mode);
    let fs = FaultyFs::counting();
    look(&world, &fs);
    assert_eq!(bits(&world), vec![mode.unwrap_or(0o755); depth]);
    fs.calls() / depth
}

#[test]
fn closed_chain_costs_a_few_calls_for_each_directory() {
    for (depth, mode) in [(100, Some(0)), (400, Some(0)), (400, Some(0o400)), (400, None)] {
        let each = calls(depth, mode, |world, fs| {
            let set = world.collect_with(fs).expect("collected");
            assert_eq!(told(&set).len(), depth);
        });
        assert!(each <= 24, "{depth} {mode:?}: {each} calls for each directory");
    }
}

#[test]
fn closed_chain_that_is_shown_costs_a_few_calls_for_each_directory() {
    let each = calls(400, Some(0), |world, fs| {
        let upper = world.upper_fd();
        let mut count = 0;
        let walked = walk::<LayerError>(fs, upper.as_fd(), &mut |_| {
            count += 1;
            Ok(Descend::Into)
        });
        walked.expect("walked");
        assert_eq!(count, 400);
    });
    assert!(each <= 24, "{each} calls for each directory");
}

#[test]
fn closed_chain_is_as_closed_after_an_error_anywhere() {
    let depth = if is_sweep() { 20 } else { 6 };
    let world = World::new(Where::Same, "true");
    let fs = FaultyFs::counting();
    chain(&world, depth, Some(0));
    world.collect_with(&fs).expect("collected");
    for call in 0..fs.calls() {
        let fs = FaultyFs::new(call, Errno::IO);
        let collected = world.collect_with(&fs);
        let bits = bits(&world);
        let open = bits.iter().filter(|mode| **mode != 0).count();
        // That call may have been the one that closes.
        assert!(bits.len() == depth && open <= 1, "{call}: {collected:?} {bits:?}");
        close_again(&world, depth);
    }
}

#[test]
fn closed_chain_is_written_back_as_it_is() {
    let world = World::new(Where::Same, "true");
    chain(&world, 30, Some(0));
    assert!(world.sync(OnConflict::Host).is_complete());
    assert_eq!(bits(&world), vec![0; 30]);
    let (mut at, mut count) = (world.root_fd(), 0);
    while let Ok(next) = OsFs.open_below(at.as_fd(), Path::new(NAME), Open::Handle) {
        assert_eq!(OsFs.status_of(next.as_fd()).expect("stat").mode, 0);
        close(&next, Some(0o755));
        (at, count) = (next, count + 1);
    }
    assert_eq!(count, 30);
}

#[test]
fn questions_about_a_closed_chain_cost_a_few_calls_for_each_directory() {
    let depth = 400;
    let each = calls(depth, Some(0), |world, fs| {
        let (upper, root) = (world.upper_fd(), world.root_fd());
        let traps = GitTraps::new(Sides::new(fs, Some(upper.as_fd()), root.as_fd()));
        let mut path = PathBuf::new();
        for _ in 0..depth {
            path.push(NAME);
            assert_eq!(traps.held(&path, Kind::Directory), None);
            // Judged by what is beside it.
            assert_eq!(traps.held(&path.join("config"), Kind::File), None);
        }
    });
    assert!(each <= 60, "{each} calls for each directory");
}

#[test]
fn questions_leave_a_chain_as_closed_as_it_was_after_an_error_anywhere() {
    let world = World::new(Where::Same, "true");
    let (upper, root) = (world.upper_fd(), world.root_fd());
    chain(&world, 4, Some(0));
    for call in 0.. {
        let fs = FaultyFs::new(call, Errno::IO);
        let sides = Sides::new(&fs, Some(upper.as_fd()), root.as_fd());
        let why = GitTraps::new(sides).held(Path::new("n/n/n/n/config"), Kind::File);
        let bits = bits(&world);
        close_again(&world, bits.len());
        let open = bits.iter().filter(|mode| **mode != 0).count();
        assert!(bits.len() == 4 && open <= 1, "{call}: {why:?} {bits:?}");
        if fs.calls() <= call {
            break;
        }
    }
}
