use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::super::testing::{MOUNT, PLACES, Where, World, rules};
use super::super::*;
use super::{Ours, Single, TakenIn, make_single};
use crate::fs::faulty::{FaultyFs, each_fault};
use crate::fs::{At, Errno, Fs, OsFs};

const LAYER: &str = ".";
const OWN: &str = "own/f";

/// A tree with a file, and a run that has a copy of it.
fn world(place: Where) -> World {
    let world = World::new(place, "echo host > f; chmod 640 f; touch -d @1000000000.5 f");
    let root = world.root_fd();
    let host = At { dir: root.as_fd(), name: OsStr::new("f") };
    let places = (Path::new(LAYER), Path::new(OWN));
    make_single(&OsFs, host, world.run.fd(), places).expect("made");
    world
}

fn single<'a>(world: &'a World, fs: &'a dyn Fs) -> Result<Single<'a>, SyncError> {
    Single::open(fs, world.run.fd(), (MOUNT, Path::new(LAYER)), OsStr::new("f"))
}

fn guest(world: &World, script: &str) {
    super::super::testing::shell(&world.run.path().join("own"), script);
}

fn text(world: &World, name: &str) -> String {
    let path = if name == "host" { world.root().join("f") } else { world.run.path().join(name) };
    std::fs::read_to_string(path).unwrap_or_else(|_| "absent".to_owned())
}

fn sides(world: &World) -> [String; 2] {
    ["host", OWN].map(|name| text(world, name))
}

fn always(_: BorrowedFd<'_>) -> bool {
    true
}

fn never(_: BorrowedFd<'_>) -> bool {
    false
}

/// Publishes what the command made of its file, as the launcher does.
fn publish(world: &World, fs: &dyn Fs) -> Result<Ours, SyncError> {
    let single = single(world, fs)?;
    let root = world.root_fd();
    let ours = single.snapshot(root.as_fd(), &always)?;
    if ours == Ours::Changed {
        let plan = plan(&world.collect(), &rules(OnConflict::Host));
        let report = world.apply(fs, &plan)?;
        let is_done = report.is_complete();
        single.end_snapshot(root.as_fd(), is_done)?;
        if is_done {
            single.fold()?;
        }
    }
    Ok(ours)
}

fn take_in(world: &World, fs: &dyn Fs) -> Result<TakenIn, SyncError> {
    single(world, fs)?.take_in(world.root_fd().as_fd(), &always)
}

fn gather(world: &World, fs: &dyn Fs) -> Result<(), SyncError> {
    single(world, fs)?.gather(world.root_fd().as_fd())
}

/// Writes back what is left at the end of a run.
fn end(world: &World) -> SyncReport {
    gather(world, &OsFs).expect("gathered");
    let plan = plan(&world.collect(), &rules(OnConflict::Host));
    world.apply(&OsFs, &plan).expect("applied")
}

#[test]
fn copy_is_exact() {
    for place in PLACES {
        let world = world(place);
        let [host, own] = [world.root().join("f"), world.run.path().join(OWN)];
        let status = |path: &Path| {
            use std::os::unix::fs::MetadataExt;
            let it = path.metadata().expect("there");
            (it.mode(), it.mtime(), it.mtime_nsec(), it.nlink(), std::fs::read(path).expect("read"))
        };
        assert_eq!(status(&host), status(&own));
    }
}

#[test]
fn nothing_is_written_back_of_what_stayed() {
    for place in PLACES {
        let world = world(place);
        assert_eq!(publish(&world, &OsFs).expect("looked"), Ours::Same);
        assert_eq!(take_in(&world, &OsFs).expect("looked"), TakenIn::Nothing);
        world.host("echo other > other");
        assert!(end(&world).applied.is_empty());
        gather(&world, &OsFs).expect("nothing is left to do");
    }
}

#[test]
fn each_close_is_published_and_one_undo_brings_the_first_back() {
    for place in PLACES {
        let world = world(place);
        for number in 0..5 {
            guest(&world, &format!("echo {number} > n; mv n f"));
            assert_eq!(publish(&world, &OsFs).expect("published"), Ours::Changed);
            assert_eq!(text(&world, "host"), format!("{number}\n"));
            assert_eq!(publish(&world, &OsFs).expect("looked"), Ours::Same);
        }
        let kept = std::fs::read_dir(world.run.path().join("undo/m001")).expect("there").count();
        assert_eq!(kept, 1, "one original for all of them");
        assert!(end(&world).applied.is_empty());
        world.undo(&OsFs).expect("undone");
        assert_eq!(text(&world, "host"), "host\n");
    }
}

#[test]
fn what_changes_outside_is_taken_in_and_known() {
    for place in PLACES {
        let world = world(place);
        world.host("echo outside > n; chmod 600 n; mv n f");
        let busy = single(&world, &OsFs).expect("opened").take_in(world.root_fd().as_fd(), &never);
        assert_eq!((busy.expect("tried"), text(&world, OWN)), (TakenIn::Busy, "host\n".into()));
        assert_eq!(take_in(&world, &OsFs).expect("taken"), TakenIn::Taken);
        assert_eq!(sides(&world), ["outside\n"; 2]);
        assert_eq!(take_in(&world, &OsFs).expect("looked"), TakenIn::Nothing);
        guest(&world, "echo both >> f");
        assert_eq!(publish(&world, &OsFs).expect("published"), Ours::Changed);
        assert_eq!(text(&world, "host"), "outside\nboth\n");
        world.undo(&OsFs).expect("undone");
        assert_eq!(text(&world, "host"), "outside\n");
    }
}

#[test]
fn what_both_changed_stays_on_both_sides() {
    for place in PLACES {
        let world = world(place);
        guest(&world, "echo guest > f");
        world.host("echo outside > f");
        assert_eq!(publish(&world, &OsFs).expect("tried"), Ours::Changed);
        assert_eq!(sides(&world), ["outside\n", "guest\n"]);
        assert_eq!(take_in(&world, &OsFs).expect("tried"), TakenIn::Busy);
        assert_eq!(sides(&world), ["outside\n", "guest\n"]);
        assert_eq!(end(&world).conflicts.len(), 1);
        assert_eq!(text(&world, "upper/f"), "guest\n", "held");
    }
}

#[test]
fn unchanged_copy_is_no_conflict() {
    let world = world(Where::Same);
    world.host("echo outside > f");
    let report = end(&world);
    assert_eq!((report.conflicts.len(), report.applied.len()), (0, 0));
    assert_eq!(text(&world, "host"), "outside\n");
}

#[test]
fn removals_reach_the_other_side() {
    for place in PLACES {
        let ours = world(place);
        guest(&ours, "rm f");
        assert_eq!(publish(&ours, &OsFs).expect("looked"), Ours::Odd);
        assert_eq!(text(&ours, "host"), "host\n", "it may come again");
        assert_eq!(end(&ours).applied.len(), 1);
        assert_eq!(text(&ours, "host"), "absent");
        ours.undo(&OsFs).expect("undone");
        assert_eq!(text(&ours, "host"), "host\n");
    }
    // A name in a private directory can go; a file that is a mount of its own can't.
    let world = World::new(Where::Same, "echo host > f");
    let root = world.root_fd();
    let host = At { dir: root.as_fd(), name: OsStr::new("f") };
    let places = (Path::new(LAYER), Path::new("home/f"));
    make_single(&OsFs, host, world.run.fd(), places).expect("made");
    world.host("rm f");
    assert_eq!(take_in(&world, &OsFs).expect("taken"), TakenIn::Taken);
    assert_eq!(text(&world, "home/f"), "absent");
    assert!(end(&world).conflicts.is_empty());
}

#[test]
fn other_kinds_wait_for_the_end() {
    for script in ["rm f; ln -s /etc/passwd f", "rm f; mkfifo f", "rm f; mkdir f; echo x > f/x"] {
        let world = world(Where::Same);
        guest(&world, script);
        assert_eq!(publish(&world, &OsFs).expect("looked"), Ours::Odd, "{script}");
        world.host("echo outside > f");
        assert_ne!(take_in(&world, &OsFs).expect("looked"), TakenIn::Taken, "{script}");
        let report = end(&world);
        assert_eq!(text(&world, "host"), "outside\n", "{script}: {report:?}");
        assert!(!report.is_complete(), "{script}");
    }
}

#[test]
fn fault_in_a_write_back_loses_neither_side() {
    for errno in [Errno::NOSPC, Errno::IO] {
        let calls = each_fault(errno, |fs| {
            let world = world(Where::Same);
            guest(&world, "echo guest > n; mv n f");
            let tried = publish(&world, fs);
            assert_eq!(text(&world, OWN), "guest\n");
            assert!(["host\n", "guest\n"].contains(&text(&world, "host").as_str()));
            world.resume(&OsFs).expect("resumed");
            end(&world);
            assert_eq!(text(&world, "host"), "guest\n", "{tried:?}");
        });
        assert!(calls > 100, "{calls}");
    }
}

#[test]
fn fault_while_the_hosts_version_comes_in_loses_neither_side() {
    for errno in [Errno::NOSPC, Errno::IO] {
        let calls = each_fault(errno, |fs| {
            let world = world(Where::Same);
            world.host("echo outside, and longer > f");
            let tried = take_in(&world, fs);
            let own = text(&world, OWN);
            // The second fault of a call that repairs the first does not come.
            assert!(["host\n", "outside, and longer\n"].contains(&own.as_str()), "{tried:?}");
            let report = end(&world);
            assert_eq!(text(&world, "host"), "outside, and longer\n", "{tried:?} {report:?}");
        });
        assert!(calls > 30, "{calls}");
    }
}

#[test]
fn killed_anywhere_the_host_keeps_what_it_has() {
    for at in 0..400 {
        let world = world(Where::Same);
        world.host("echo outside > f");
        let fs = FaultyFs::killed(at);
        drop(take_in(&world, &fs));
        drop(gather(&world, &fs));
        end(&world);
        assert_eq!(text(&world, "host"), "outside\n", "killed at {at}");
        if fs.calls() <= at {
            return;
        }
    }
    panic!("it never ends");
}

#[test]
fn killed_anywhere_the_commands_version_is_found() {
    for at in 0..1000 {
        let world = world(Where::Same);
        guest(&world, "echo guest > n; mv n f");
        let fs = FaultyFs::killed(at);
        drop(publish(&world, &fs).and_then(|_| gather(&world, &fs)));
        world.resume(&OsFs).expect("resumed");
        end(&world);
        assert_eq!(text(&world, "host"), "guest\n", "killed at {at}");
        world.undo(&OsFs).expect("undone");
        assert_eq!(text(&world, "host"), "host\n", "killed at {at}");
        if fs.calls() <= at {
            return;
        }
    }
    panic!("it never ends");
}
