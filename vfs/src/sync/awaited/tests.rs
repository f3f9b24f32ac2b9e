use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::Path;

use super::super::testing::{PLACES, Where, World, rules, shell, told};
use super::super::*;
use super::{Absent, Awaited, make_awaited};
use crate::fs::faulty::FaultyFs;
use crate::fs::{At, Fs, Kind, Open, OsFs};

const PATH: &str = "a/state";

/// What the command makes in its private directory.
const MADE: &str = "mkdir -p p/a/state/sub; echo one > p/a/state/sub/f; ln p/a/state/sub/f p/a/state/g
    echo two > p/a/state/h; touch -d @1000000000.5 p/a/state/sub; chmod 500 p/a/state/sub; chmod 0 p/a";

/// All of it on the host.
const WHOLE: [&str; 7] =
    ["", "a", "a/state", "a/state/g", "a/state/h", "a/state/sub", "a/state/sub/f"];

fn world(place: Where, made: &str) -> World {
    let mut world = World::new(place, "touch -d @1000000000 .");
    world.stamp = Time { seconds: 0, nanoseconds: 0 };
    let places = (Path::new("."), Path::new("p/a/state"));
    make_awaited(&OsFs, world.run.fd(), places).expect("made");
    shell(world.run.path(), &format!("mkdir p; {made}"));
    world
}

fn gather(world: &World, fs: &dyn Fs) -> Result<(), SyncError> {
    Awaited::open(fs, world.run.fd(), Path::new("."), Path::new(PATH))?.gather()
}

fn collected(world: &World) -> ChangeSet {
    let (upper, root, above) = (world.upper_fd(), world.root_fd(), world.root());
    let absent = Absent { root: &above, path: Path::new(PATH), kind: Kind::Directory };
    let settled =
        Ledger::read(&OsFs, world.run.fd()).expect("read").settled(super::super::testing::MOUNT);
    let source = Source {
        upper: upper.as_fd(),
        root: root.as_fd(),
        identity: world.identity,
        stamp: world.stamp,
        clock: Clock::Steady,
        settled: &settled,
        absent: Some(absent),
        closed: crate::sync::Closed::Stay,
        made_like: None,
    };
    let mut changes = collect(&OsFs, &source).expect("collected");
    absent.narrow(&mut changes);
    changes
}

fn write_back(
    world: &World,
    fs: &dyn Fs,
    on_conflict: OnConflict,
) -> Result<SyncReport, SyncError> {
    let plan = plan(&collected(world), &rules(on_conflict));
    world.apply(fs, &SyncPlan { whole: true, ..plan })
}

/// The names on the host, but for those of a write-back.
fn names(world: &World) -> Vec<String> {
    let names = world.snapshot().into_keys().map(|path| path.display().to_string());
    names.filter(|name| !name.starts_with(".endow-")).collect()
}

#[test]
fn what_was_made_comes_whole_and_goes_again() {
    for place in PLACES {
        let world = world(place, MADE);
        let before = world.snapshot();
        gather(&world, &OsFs).expect("gathered");
        gather(&world, &OsFs).expect("gathered again");
        let report = write_back(&world, &OsFs, OnConflict::Host).expect("written back");
        assert!(report.is_complete(), "{report:?}");
        assert_eq!(report.applied.len(), 6);
        let after = world.snapshot();
        assert_eq!(names(&world), WHOLE);
        let sub = &after[Path::new("a/state/sub")];
        assert!(sub.starts_with("40500 1000000000.500000000"), "{sub}");
        assert!(after[Path::new("a/state/g")].contains(" = "), "{after:?}");
        assert_eq!(told(&collected(&world)), [""; 0]);
        world.undo(&OsFs).expect("undone");
        assert_eq!(world.snapshot(), before, "{place:?}");
    }
}

#[test]
fn killed_anywhere_it_is_absent_or_whole() {
    for place in PLACES {
        let mut seen = [0, 0];
        for calls in 0.. {
            let world = world(place, MADE);
            let fs = FaultyFs::killed(calls);
            let done = gather(&world, &fs).is_ok()
                && write_back(&world, &fs, OnConflict::Host).is_ok_and(|it| it.is_complete());
            let there = names(&world);
            assert!(there.len() == 1 || there == WHOLE, "{place:?} {calls}: {there:?}");
            seen[usize::from(there.len() > 1)] += 1;
            gather(&world, &OsFs).expect("gathered");
            world.resume(&OsFs).expect("finished");
            let rest = write_back(&world, &OsFs, OnConflict::Host).expect("written back");
            assert!(rest.is_complete(), "{place:?} {calls}: {rest:?}");
            assert_eq!(names(&world), WHOLE, "{place:?} {calls}");
            assert_eq!(world.snapshot().len(), WHOLE.len(), "{place:?} {calls}: a stage is left");
            if done {
                break;
            }
        }
        assert!(seen[0] > 20 && seen[1] > 3, "{seen:?}");
    }
}

#[test]
fn what_the_host_has_by_then_stays() {
    let world = world(Where::Same, MADE);
    world.host("mkdir -p a/state; echo theirs > a/state/h; echo more > a/state/more; chmod 711 a");
    gather(&world, &OsFs).expect("gathered");
    let report = write_back(&world, &OsFs, OnConflict::Host).expect("written back");
    assert_eq!(report.conflicts.len(), 1, "{report:?}");
    assert_eq!(std::fs::read_to_string(world.root().join("a/state/h")).expect("read"), "theirs\n");
    assert!(
        world.root().join("a/state/sub/f").exists() && world.root().join("a/state/more").exists()
    );
    assert!(world.snapshot()[Path::new("a")].starts_with("40711"));
    let report = write_back(&world, &OsFs, OnConflict::Guest).expect("written back");
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(std::fs::read_to_string(world.root().join("a/state/h")).expect("read"), "two\n");
}

/// Checks what is told of what a command made.
fn check(made: &str, expected: &[&str]) {
    check_world(&world(Where::Same, made), expected);
}

fn check_world(world: &World, expected: &[&str]) {
    world.host("mkdir -p a/state; echo theirs > a/state/h");
    gather(world, &OsFs).expect("gathered");
    assert_eq!(told(&collected(world)), expected);
    write_back(world, &OsFs, OnConflict::Guest).expect("written back");
    let theirs = std::fs::read_to_string(world.root().join("a/state/h"));
    assert_eq!(theirs.expect("read"), "theirs\n", "{expected:?}");
}

#[test]
fn only_the_place_counts() {
    check("mkdir -p p/a/other; echo x > p/f", &[]);
    check("ln -s b p/a; mkdir -p p/b/state; echo x > p/b/state/f", &[]);
    check("mkdir p/a; ln -s ../f p/a/state", &["T a/state !Changed -NotDirectory"]);
    check("mkdir p/a; echo x > p/a/state", &["T a/state !Changed -NotDirectory"]);
}

#[test]
fn no_mark_of_an_overlay_is_believed() {
    check("mkdir -p p/a/state; mknod p/a/state/h c 0 0", &["T a/state/h !Changed -Device"]);
    let world = world(Where::Same, "mkdir -p p/a/state");
    let above = OsFs.open_below(world.run.fd(), Path::new("p/a"), Open::Handle).expect("opened");
    let at = At { dir: above.as_fd(), name: OsStr::new("state") };
    OsFs.set_attribute(at, OsStr::new("user.overlay.opaque"), b"y").expect("set");
    check_world(&world, &["m a/state/ !Changed -OverlayAttribute"]);
}

#[test]
fn links_stay_within_the_place() {
    let world = world(Where::Same, "mkdir -p p/a/state/d");
    let links = [
        ("in", "d", true),
        ("whole", "HERE/a/state/d", true),
        ("self", "HERE/a/state", true),
        ("up", "../x", false),
        ("beside", "HERE/a/stated", false),
        ("back", "HERE/a/state/../x", false),
        ("out", "/etc", false),
    ];
    let here = world.root().display().to_string();
    for (name, target, _) in links {
        let at = world.run.path().join("p/a/state").join(name);
        std::os::unix::fs::symlink(target.replace("HERE", &here), at).expect("a link");
    }
    gather(&world, &OsFs).expect("gathered");
    let report = write_back(&world, &OsFs, OnConflict::Host).expect("written back");
    assert_eq!(report.refused.len(), links.iter().filter(|it| !it.2).count(), "{report:?}");
    for (name, _, is_kept) in links {
        let is_there = world.root().join("a/state").join(name).symlink_metadata().is_ok();
        assert_eq!(is_there, is_kept, "{name}");
    }
}
