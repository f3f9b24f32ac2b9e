//! Programs that lock the file beside it, on either side.

use super::*;
use crate::fs::faulty::Race::{After, Before};

const LOCK: &str = "mkdir f.lock";
const OLD_LOCK: &str = "mkdir f.lock; touch -d '-1 minute' f.lock";

/// Takes the host's version in while the command does something.
fn taken_while(script: &str, is_before: bool) -> (World, TakenIn) {
    let world = world(Where::Same);
    world.host("echo outside > f");
    let (dir, script) = (world.run.path().join("own"), script.to_owned());
    let act = Box::new(move || super::super::super::testing::shell(&dir, &script));
    let race = if is_before { Before(act) } else { After(act) };
    let taken = take_in(&world, &FaultyFs::racing(vec![race])).expect("tried");
    (world, taken)
}

#[test]
fn what_the_command_has_locked_is_not_exchanged() {
    for (lock, expected) in [(LOCK, TakenIn::Busy), (OLD_LOCK, TakenIn::Taken)] {
        let world = world(Where::Same);
        world.host("echo outside > f");
        guest(&world, lock);
        assert_eq!(take_in(&world, &OsFs).expect("tried"), expected, "{lock}");
        guest(&world, "rmdir f.lock");
        take_in(&world, &OsFs).expect("tried");
        assert_eq!(sides(&world), ["outside\n"; 2]);
    }
}

#[test]
fn what_was_locked_at_the_exchange_is_put_back() {
    for is_before in [true, false] {
        let (world, taken) = taken_while(LOCK, is_before);
        assert_eq!((taken, text(&world, OWN).as_str()), (TakenIn::Busy, "host\n"));
        guest(&world, "rmdir f.lock");
        assert_eq!(take_in(&world, &OsFs).expect("tried"), TakenIn::Taken);
        assert_eq!(sides(&world), ["outside\n"; 2]);
    }
}

/// Its writer may have read what was there before.
#[test]
fn what_replaces_the_hosts_version_at_once_is_compared_with_what_was_before() {
    let (world, taken) = taken_while("echo guest > n; mv n f", false);
    assert_eq!((taken, text(&world, OWN).as_str()), (TakenIn::Busy, "guest\n"));
    single(&world, &OsFs)
        .expect("opened")
        .catch_up(world.root_fd().as_fd(), &always)
        .expect("settled");
    assert_eq!(text(&world, "base"), "host\n");
    assert_eq!(sides(&world), ["outside\n", "guest\n"]);
    assert_eq!(end(&world).conflicts.len(), 1);
}

#[test]
fn locks_of_the_host_are_seen() {
    for (lock, is_locked) in [(LOCK, true), (OLD_LOCK, false), ("touch other.lock", false)] {
        let world = world(Where::Same);
        world.host(lock);
        let root = world.root_fd();
        let found = single(&world, &OsFs).expect("opened").is_host_locked(root.as_fd());
        assert_eq!(found.expect("looked"), is_locked, "{lock}");
    }
}

/// What was written back while somebody on the host had read the file is no common ground yet.
#[test]
fn host_that_writes_what_it_read_before_is_no_removal() {
    let world = world(Where::Same);
    let root = world.root_fd();
    guest(&world, "echo guest > f");
    {
        let single = single(&world, &OsFs).expect("opened");
        assert_eq!(single.snapshot(&always).expect("copied"), Ours::Changed);
        assert!(world.apply(&OsFs, &planned(&world)).expect("applied").is_complete());
        single.end_snapshot(root.as_fd(), false).expect("ended");
    }
    assert_eq!(text(&world, "base"), "host\n");
    // Nobody wrote: both sides are the same.
    assert_eq!(publish(&world, &OsFs).expect("published"), Ours::Changed);
    assert_eq!(text(&world, "base"), "guest\n");
    world.undo(&OsFs).expect("undone");
    assert_eq!(text(&world, "host"), "host\n");
}

/// Whoever locked and read the host's file before something was written back may have written his own and be
/// gone by then.
#[test]
fn host_that_wrote_what_it_read_before_is_found() {
    for (script, is_overwritten) in [("", false), ("echo host > n; echo more >> n; mv n f", true)] {
        let world = world(Where::Same);
        let root = world.root_fd();
        guest(&world, "echo guest > f");
        let single = single(&world, &OsFs).expect("opened");
        let before = single.on_host(root.as_fd()).expect("looked");
        assert_eq!(single.snapshot(&always).expect("copied"), Ours::Changed);
        assert!(world.apply(&OsFs, &planned(&world)).expect("applied").is_complete());
        world.host(script);
        let found = single.is_overwritten(root.as_fd(), before.as_ref()).expect("looked");
        assert_eq!(found, is_overwritten, "{script}");
        single.end_snapshot(root.as_fd(), !found).expect("ended");
        assert_eq!(text(&world, "base"), if found { "host\n" } else { "guest\n" });
    }
}

/// Where nothing had to be written nobody is waited for.
#[test]
fn host_that_stayed_is_not_overwritten() {
    let world = world(Where::Same);
    let (root, single) = (world.root_fd(), single(&world, &OsFs).expect("opened"));
    let before = single.on_host(root.as_fd()).expect("looked");
    assert!(!single.is_overwritten(root.as_fd(), before.as_ref()).expect("looked"));
    assert!(single.is_overwritten(root.as_fd(), None).expect("looked"));
}

/// What was joined with the host's and written away by it is joined once more.
#[test]
fn what_was_merged_and_overwritten_is_none_of_the_hosts() {
    let world = world(Where::Same);
    let root = world.root_fd();
    let merged = |_: &Path| Some(std::sync::Arc::from(&b"both\n"[..]));
    let plan_of = |set: &ChangeSet| {
        let rules = Rules { merged: &merged, ..rules(OnConflict::Merge) };
        SyncPlan { apart: true, ..plan(set, &rules) }
    };
    guest(&world, "echo guest > f");
    world.host("echo outside > f");
    for is_left in [true, false] {
        let single = single(&world, &OsFs).expect("opened");
        assert_eq!(single.snapshot(&always).expect("copied"), Ours::Changed);
        let report = world.apply(&OsFs, &plan_of(&changes(&world))).expect("applied");
        assert!(report.is_complete() && !report.applied.is_empty(), "{is_left}: {report:?}");
        assert_eq!(text(&world, "host"), "both\n");
        if is_left {
            world.host("echo alone > f");
            single.end_snapshot(root.as_fd(), false).expect("ended");
        } else {
            single.end_snapshot(root.as_fd(), true).expect("ended");
        }
    }
    assert_eq!(take_in(&world, &OsFs).expect("taken in"), TakenIn::Taken);
    assert_eq!(sides(&world), ["both\n"; 2]);
}
