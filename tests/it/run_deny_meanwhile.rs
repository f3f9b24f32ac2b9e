//! Hidden names in a tree that another run may change while a run begins in it.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::harness::{Running, World};

const SECRET: &str = "s3cr3t-content\n";

/// Moves a directory to and fro for a while.
const TO_AND_FRO: &str = "import os, time
end = time.monotonic() + 1
print('begun', flush=True)
while time.monotonic() < end:
    os.rename('a/conf', 'z/conf')
    os.rename('z/conf', 'a/conf')
time.sleep(60)";

/// A run that begins meanwhile waits until there is a moment at which nothing moves, and covers what is there then: the cover
/// goes where that goes.
#[test]
fn what_another_run_moves_while_it_is_looked_for_is_hidden() {
    let world = World::new();
    world.write("home/project/a/conf/.env", SECRET);
    world.write("home/project/z/other", "other\n");
    let script = world.write("home/project/move.py", TO_AND_FRO).display().to_string();
    let look = "n=0; while test $n -lt 300; do n=$((n+1)); cat a/conf/.env z/conf/.env 2>/dev/null; done; true";
    for _ in 0..3 {
        let mut moving = Running::start(&mut world.endow([
            "run",
            "--workspace",
            "rw",
            "--",
            "python3",
            &script,
        ]));
        moving.expect("begun");
        // Where it moves again before it is covered, the run does not begin either.
        let mut inside = world.run(&["run", "--workspace", "rw"], look);
        while inside.code == 125 {
            inside = world.run(&["run", "--workspace", "rw"], look);
        }
        assert_eq!(inside.ok(), "", "{}", inside.stderr);
        moving.signal(15);
        moving.end();
    }
}

/// Swaps a hidden file with another, of which an index that it wrote tells, while a run that begins compares the two.
const SWAP: &str = "import ctypes, os
libc = ctypes.CDLL(None)
watch = libc.inotify_init()
index = libc.inotify_add_watch(watch, b'.git/index', 0x20)
decoy = libc.inotify_add_watch(watch, b'dd/.env', 0x20)
swapped = False
print('ready', flush=True)
while True:
    news = os.read(watch, 16)
    which = int.from_bytes(news[:4], 'little')
    if which == (decoy if swapped else index):
        libc.renameat2(-100, b'd', -100, b'dd', 2)
        swapped = not swapped";

/// What git tracks is spared by its content: by that of the file that stands there.
#[test]
fn what_another_run_swaps_while_it_is_compared_is_hidden() {
    // A large index takes its time.
    let forge = "blob=$(git hash-object -w dd/.env)
        for it in d/.env $(seq 20000); do printf '100644 %s\\t%s\\n' $blob $it; done | git update-index --index-info";
    for access in ["ro", "rw"] {
        let world = World::new();
        world.bare("git init -q").ok();
        world.write("home/project/d/.env", SECRET);
        let script = world.write("home/project/swap.py", SWAP).display().to_string();
        let forged = format!("mkdir dd; echo decoy >dd/.env; {forge}; exec python3 {script}");
        let live = ["run", "--workspace", "rw", "--", "sh", "-c", &forged];
        let mut swapping = Running::start(&mut world.endow(live));
        swapping.expect("ready");
        // Where it swaps for as long as that is tried, the run does not begin.
        let inside = world.run(&["run", "--workspace", access], "cat d/.env dd/.env; true");
        assert!([0, 125].contains(&inside.code), "{}", inside.stderr);
        assert!(!inside.stdout.contains(SECRET), "{access}: {}", inside.stdout);
        swapping.signal(15);
        swapping.end();
    }
}

/// Makes and removes a name until it is over; not for ever, where the test fails.
fn be_busy(directory: &Path, is_over: &AtomicBool) {
    let until = Instant::now() + Duration::from_mins(5);
    while !is_over.load(Ordering::Relaxed) && Instant::now() < until {
        fs::write(directory.join("new"), "").expect("made");
        fs::remove_file(directory.join("new")).expect("removed");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A tree in which names come and go is looked at once, unless a run may move what is hidden in it.
#[test]
fn busy_tree_keeps_nobody_waiting_but_beside_a_run_that_has_it_live() {
    let world = World::new();
    world.write("home/project/src/.env", SECRET);
    fs::create_dir_all(world.root().join("home/elsewhere")).expect("made");
    let busy = world.root().join("home/project/log");
    fs::create_dir(&busy).expect("made");
    let elsewhere = world.root().join("home/elsewhere").display().to_string();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| be_busy(&busy, &is_over));
        let begins = |options: &[&str]| {
            let sleeps = [options, &["--", "sh", "-c", "echo begun; sleep 60"]].concat();
            let mut other = Running::start(&mut world.endow(sleeps));
            other.expect("begun");
            let inside = world.run(&["run", "--workspace", "ro"], "cat src/.env; true");
            other.signal(15);
            other.end();
            (inside.code, inside.stderr.contains("may move what is to be hidden"), inside.stdout)
        };
        let elsewhere = ["run", "--workspace", "ro", "--rw", &elsewhere];
        let found = [&["run", "--workspace", "ro"][..], &elsewhere, &["run", "--workspace", "rw"]];
        let found = found.map(begins);
        is_over.store(true, Ordering::Relaxed);
        let none = String::new;
        assert_eq!(found, [(0, false, none()), (0, false, none()), (125, true, none())]);
    });
}
