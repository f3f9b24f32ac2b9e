//! Both sides changed a file, and somebody merged them: the text takes the place of the run's
//! version, and neither side is lost on the way.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use super::super::testing::*;
use super::super::*;
use crate::fs::faulty::FaultyFs;
use crate::fs::{At, Fs, Open, OsFs};

const TREE: &str = "
    mkdir -p d sub/.git; echo base > d/f; echo base > d/g; echo base > sub/.git/x; echo x > other
    touch -d '2001-02-03 04:05:06' d/f d/g sub/.git/x other d sub .";
const GUEST: &str = "echo guest > d/f; echo y > other";
const HOST: &str = "echo HOST! > d/f";
const MERGED: &str = "both of them\n";

/// Merges whatever it is asked for.
fn merge(world: &World) -> SyncPlan {
    let merged = |_: &Path| Some(Arc::from(MERGED.as_bytes()));
    plan(&world.collect(), &Rules { merged: &merged, ..rules(OnConflict::Merge) })
}

fn changed(place: Where) -> World {
    let world = World::new(place, TREE);
    let root = world.root_fd();
    let dir = OsFs.open_below(root.as_fd(), Path::new("d"), Open::Handle).expect("open");
    let file = At { dir: dir.as_fd(), name: OsStr::new("f") };
    OsFs.set_attribute(file, OsStr::new("user.note"), b"note").expect("set");
    world.guest(GUEST);
    world.host(HOST);
    world
}

fn winners(report: &SyncReport) -> Vec<(&Path, Winner)> {
    report.conflicts.iter().map(|it| (it.path.as_path(), it.winner)).collect()
}

fn text(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).expect("a text")
}

#[test]
fn merged_text_stands_and_undo_gives_the_hosts_back() {
    for place in PLACES {
        let world = changed(place);
        let before = world.snapshot();
        let report = world.apply(&OsFs, &merge(&world)).expect("applied");
        assert!(report.is_complete(), "{report:?}");
        assert_eq!(winners(&report), [(Path::new("d/f"), Winner::Merged)]);
        assert_eq!(text(&world.root(), "d/f"), MERGED);
        let after = world.snapshot();
        let (is, was) = (&after[Path::new("d/f")], &before[Path::new("d/f")]);
        assert_eq!(is.split(' ').next(), was.split(' ').next(), "the bits");
        assert!(is.contains("user.note") && !is.contains("overlay"), "{is}");
        world.assert_clean();
        // The run's own version is part of it: it must not be put in place by itself later.
        assert_eq!(text(&world.upper(), "d/f"), "guest\n");
        assert_eq!(told(&world.collect()), [""; 0]);
        let undone = world.undo(&OsFs).expect("undone");
        assert!(undone.changed_since.is_empty() && undone.failed.is_empty(), "{undone:?}");
        assert_same(&world.snapshot(), &before, "undone");
        assert_eq!(told(&world.collect()), ["M other"], "{place:?}");
        world.assert_clean();
    }
}

#[test]
fn only_what_was_asked_for_is_merged() {
    let rows = [
        (OnConflict::Abort, Winner::Host, "HOST!\n"),
        // Of single files the base is known: the caller merges these with `host`, too.
        (OnConflict::Host, Winner::Merged, MERGED),
    ];
    for (on_conflict, winner, expected) in rows {
        let world = changed(Where::Same);
        let merged = |_: &Path| Some(Arc::from(MERGED.as_bytes()));
        let rules = Rules { merged: &merged, ..rules(on_conflict) };
        let report = world.apply(&OsFs, &plan(&world.collect(), &rules)).expect("applied");
        assert_eq!(winners(&report), [(Path::new("d/f"), winner)]);
        assert_eq!(text(&world.root(), "d/f"), expected);
    }
}

#[test]
fn what_is_no_file_of_both_sides_stays_the_hosts() {
    let rows = [
        ("echo guest > d/f", "rm d/f; mkdir d/f"),
        ("echo guest > d/f", "ln -sf g d/f"),
        ("ln -sf g d/f", "echo host > d/f"),
        ("rm d/f", "echo host > d/f"),
        ("rm d/f; mkdir d/f", "echo host > d/f"),
        ("echo guest > d/f; chmod 600 d/f", "echo host > d/f"),
        ("echo guest > d/f", "echo host > d/f; chmod 755 d/f"),
        ("echo guest > d/f; ln d/f d/l", "echo host > d/f"),
        ("echo guest > d/f", "mv d e; mkdir d; echo host > d/f"),
        ("echo guest > d/f; chmod 4755 d/f", "echo host > d/f; chmod 4755 d/f"),
        ("echo guest > sub/.git/x", "echo host > sub/.git/x"),
    ];
    for (guest, host) in rows {
        let world = World::new(Where::Same, TREE);
        world.guest(guest);
        world.host(host);
        let before = all(&world);
        let report = world.apply(&OsFs, &merge(&world)).expect("applied");
        assert!(!report.is_complete(), "{guest}, {host}: {report:?}");
        assert!(winners(&report).iter().all(|it| it.1 == Winner::Host), "{guest}: {report:?}");
        assert!(!all(&world).contains("both"), "{guest}, {host}: {before}");
    }
}

fn all(world: &World) -> String {
    world
        .snapshot()
        .into_iter()
        .map(|(path, text)| format!("{} {text}\n", path.display()))
        .collect()
}

#[test]
fn files_that_both_replaced_are_merged() {
    let world = World::new(Where::Same, TREE);
    world.guest("echo guest > d/n; mv d/n d/f");
    world.host("echo host > d/n; mv d/n d/f");
    assert_eq!(told(&world.collect()), ["M d/f !Made"]);
    let report = world.apply(&OsFs, &merge(&world)).expect("applied");
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(text(&world.root(), "d/f"), MERGED);
}

#[test]
fn merged_below_a_directory_made_again_stays() {
    let world = World::new(Where::Same, TREE);
    world.guest("rm -r d; mkdir d; echo guest > d/f");
    world.host("echo host > d/f");
    let report = world.apply(&OsFs, &merge(&world)).expect("applied");
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(told(&world.collect()), [""; 0]);
    assert_eq!(text(&world.root(), "d/f"), MERGED);
}

#[test]
fn host_that_goes_on_wins() {
    for place in PLACES {
        let world = changed(place);
        let plan = merge(&world);
        world.host("echo later > d/f");
        let report = world.apply(&OsFs, &plan).expect("applied");
        assert_eq!(winners(&report), [(Path::new("d/f"), Winner::Host)]);
        assert!(!report.is_complete());
        let texts = [text(&world.root(), "d/f"), text(&world.upper(), "d/f")];
        assert_eq!(texts, ["later\n", "guest\n"]);
        assert_eq!(told(&world.collect()), ["M d/f !Changed"]);
        world.assert_clean();
    }
}

#[test]
fn killed_at_any_call_neither_side_is_lost() {
    for place in PLACES {
        let first = changed(place);
        let fs = FaultyFs::counting();
        let calls = {
            let world = again(&first);
            world.apply(&fs, &merge(&world)).expect("applied");
            fs.calls()
        };
        let mut done = 0;
        for call in 0..calls {
            let what = format!("kill at call {call} of {calls}, {place:?}");
            let world = again(&first);
            drop(world.apply(&FaultyFs::killed(call), &merge(&world)));
            assert_eq!(text(&world.upper(), "d/f"), "guest\n", "{what}");
            world.resume(&OsFs).expect(&what);
            world.assert_clean();
            let left = told(&world.collect());
            match text(&world.root(), "d/f").as_str() {
                MERGED => assert_eq!(left, [""; 0], "{what}"),
                "HOST!\n" => assert_eq!(left, ["M d/f !Changed", "M other"], "{what}"),
                text => panic!("{what}: {text}"),
            }
            done += usize::from(left.is_empty());
            if left.is_empty() {
                world.undo(&OsFs).expect(&what);
                assert_eq!(text(&world.root(), "d/f"), "HOST!\n", "{what}");
            }
        }
        assert!(0 < done && done < calls);
    }
}

/// Copies a world, in which the host's version is a change again.
fn again(first: &World) -> World {
    let world = first.again();
    world.host("touch d/f");
    world
}
