use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::super::testing::{MOUNT, PLACES, Where, World, rules};
use super::super::*;
use super::{Ours, Single, TakenIn, make_single};
use crate::fs::faulty::{FaultyFs, each_fault};
use crate::fs::{At, Errno, Fs, OsFs};

mod folding;
mod locks;
mod races;

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

/// Says always the same of both questions.
struct Says(bool, bool);

impl Alone for Says {
    fn take(&self, _: BorrowedFd<'_>) -> bool {
        self.0
    }

    fn is_alone_still(&self, _: BorrowedFd<'_>) -> bool {
        self.1
    }
}

#[expect(non_upper_case_globals, reason = "read as words")]
const always: Says = Says(true, true);
#[expect(non_upper_case_globals, reason = "read as words")]
const never: Says = Says(false, false);

/// What write-back takes for changed.
fn changes(world: &World) -> ChangeSet {
    let mut set = world.collect();
    let root = world.root_fd();
    single(world, &OsFs).expect("opened").narrow(root.as_fd(), &mut set).expect("compared");
    set
}

fn planned(world: &World) -> SyncPlan {
    SyncPlan { apart: true, ..plan(&changes(world), &rules(OnConflict::Host)) }
}

/// Publishes what the command made of its file, as the launcher does.
fn publish(world: &World, fs: &dyn Fs) -> Result<Ours, SyncError> {
    let single = single(world, fs)?;
    let root = world.root_fd();
    single.catch_up(root.as_fd(), &always)?;
    let ours = single.snapshot(&always)?;
    if ours == Ours::Changed {
        let report = world.apply(fs, &planned(world))?;
        single.end_snapshot(root.as_fd(), report.is_complete())?;
        drop(single.fold(&always));
    }
    Ok(ours)
}

fn take_in(world: &World, fs: &dyn Fs) -> Result<TakenIn, SyncError> {
    single(world, fs)?.take_in(world.root_fd().as_fd(), &always, true)
}

fn gather(world: &World, fs: &dyn Fs) -> Result<(), SyncError> {
    single(world, fs)?.gather()
}

/// Writes back what is left at the end of a run.
fn end(world: &World) -> SyncReport {
    gather(world, &OsFs).expect("gathered");
    single(world, &OsFs)
        .expect("opened")
        .catch_up(world.root_fd().as_fd(), &always)
        .expect("settled");
    world.apply(&OsFs, &planned(world)).expect("applied")
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

/// A write-back of another run that looks at the host's file at this moment compares its times.
#[test]
fn end_of_a_write_back_does_not_touch_the_hosts_file() {
    for place in PLACES {
        let world = world(place);
        let root = world.root_fd();
        let single = single(&world, &OsFs).expect("opened");
        guest(&world, "echo guest > n; mv n f");
        assert_eq!(single.snapshot(&always).expect("copied"), Ours::Changed);
        assert!(world.apply(&OsFs, &planned(&world)).expect("applied").is_complete());
        let seen = || Seen::from(&OsFs.node(root.as_fd(), OsStr::new("f")).expect("there"));
        let before = seen();
        std::thread::sleep(std::time::Duration::from_millis(20));
        single.end_snapshot(root.as_fd(), true).expect("settled");
        single.fold(&always).expect("joined");
        assert_eq!(seen(), before, "{place:?}");
    }
}

#[test]
fn what_changes_outside_is_taken_in_and_known() {
    for place in PLACES {
        let world = world(place);
        world.host("echo outside > n; chmod 600 n; mv n f");
        let busy =
            single(&world, &OsFs).expect("opened").take_in(world.root_fd().as_fd(), &never, true);
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
    let world = world(Where::Same);
    world.host("rm f");
    let soon =
        single(&world, &OsFs).expect("opened").take_in(world.root_fd().as_fd(), &always, false);
    assert_eq!(soon.expect("looked"), TakenIn::Busy, "it may come again");
    assert_eq!(take_in(&world, &OsFs).expect("taken"), TakenIn::Taken);
    assert_eq!(text(&world, OWN), "absent");
    assert_eq!(publish(&world, &OsFs).expect("looked"), Ours::Absent);
    world.host("echo again > f");
    assert_eq!(take_in(&world, &OsFs).expect("taken"), TakenIn::Taken);
    assert_eq!(sides(&world), ["again\n"; 2]);
    guest(&world, "echo more >> f");
    assert_eq!(publish(&world, &OsFs).expect("published"), Ours::Changed);
    assert_eq!(text(&world, "host"), "again\nmore\n");
    assert!(end(&world).conflicts.is_empty());
}

#[test]
fn other_kinds_are_refused() {
    let scripts = [
        "rm f; ln -s other f",
        "rm f; ln -s /etc/passwd f",
        "rm f; mkfifo f",
        "rm f; mkdir f; echo x > f/x; ln -s ../other f/link",
        "echo guest > f; chmod 4755 f",
        "chmod 2711 f",
    ];
    for script in scripts {
        let world = world(Where::Same);
        world.host("echo other > other");
        guest(&world, script);
        publish(&world, &OsFs).expect("looked");
        assert_eq!(text(&world, "host"), "host\n", "{script}");
        let report = end(&world);
        assert_eq!(text(&world, "host"), "host\n", "{script}: {report:?}");
        assert!(!report.refused.is_empty() && report.applied.is_empty(), "{script}: {report:?}");
    }
}

#[test]
fn file_whose_directory_moved_away_is_neither_removed_nor_lost() {
    for script in ["mv own elsewhere", "mv own real; ln -s real own", "rm -r own"] {
        let world = world(Where::Same);
        super::super::testing::shell(world.run.path(), &format!("echo work > own/f; {script}"));
        assert_eq!(publish(&world, &OsFs).expect("looked"), Ours::Odd, "{script}");
        for _ in 0..2 {
            let report = end(&world);
            assert_eq!((report.refused.len(), report.applied.len()), (1, 0), "{script}");
        }
        assert_eq!(text(&world, "host"), "host\n", "{script}");
        let stands = single(&world, &OsFs).expect("opened").stands().expect("read");
        assert!(stands.is_some(), "{script}: what holds it must stay");
    }
}

#[test]
fn nothing_of_the_directory_around_it_is_written_back() {
    let world = world(Where::Same);
    world.host("setfattr -n user.note -v x . 2>/dev/null || true; chmod 2775 .; touch -d @1 .");
    guest(&world, "echo guest > f");
    let bits = || {
        let root = world.root_fd();
        let at = At { dir: root.as_fd(), name: OsStr::new(".") };
        (OsFs.status_of(root.as_fd()).expect("stat").mode, OsFs.attributes(at).expect("listed"))
    };
    let before = bits();
    publish(&world, &OsFs).expect("published");
    end(&world);
    assert_eq!(bits(), before);
    assert_eq!(text(&world, "host"), "guest\n");
}

#[test]
fn link_that_a_seed_brought_is_not_followed() {
    let world = World::new(Where::Same, "echo host > f");
    let victim = world.tree.path().join("victim");
    std::fs::create_dir(&victim).expect("made");
    std::fs::write(victim.join("f"), "victim\n").expect("written");
    std::fs::create_dir(world.run.path().join("home")).expect("made");
    std::os::unix::fs::symlink(&victim, world.run.path().join("home/d")).expect("linked");
    let root = world.root_fd();
    let host = At { dir: root.as_fd(), name: OsStr::new("f") };
    let places = (Path::new(LAYER), Path::new("home/d/f"));
    let made = make_single(&OsFs, host, world.run.fd(), places);
    assert!(matches!(made, Err(Errno::LOOP | Errno::NOTDIR)), "{made:?}");
    assert_eq!(std::fs::read_to_string(victim.join("f")).expect("there"), "victim\n");
}

#[test]
fn edit_between_two_versions_of_the_command_is_a_conflict() {
    let world = world(Where::Same);
    guest(&world, "echo one > f");
    publish(&world, &OsFs).expect("published");
    // Another writes before the command's file followed.
    world.host("echo outside >> f; touch -d @1000000001 f");
    guest(&world, "echo two > f");
    publish(&world, &OsFs).expect("tried");
    assert_eq!(sides(&world), ["one\noutside\n", "two\n"]);
    assert_eq!(end(&world).conflicts.len(), 1);
}

#[test]
fn undo_brings_back_what_the_host_wrote_in_between() {
    let edits = ["echo edit > n; mv n f", "echo edit > f", "echo edit > f; touch -d @1000000001 f"];
    for place in PLACES {
        for edit in edits {
            let world = world(place);
            for number in 0..2 {
                guest(&world, &format!("echo run{number} > n; mv n f"));
                publish(&world, &OsFs).expect("published");
            }
            world.host(edit);
            let edited = text(&world, "host");
            assert_eq!(take_in(&world, &OsFs).expect("taken"), TakenIn::Taken, "{edit}");
            for number in 2..4 {
                guest(&world, &format!("echo run{number} > n; mv n f"));
                publish(&world, &OsFs).expect("published");
            }
            assert_eq!(text(&world, "host"), "run3\n");
            let undone = world.undo(&OsFs).expect("undone");
            assert_eq!(text(&world, "host"), edited, "{place:?} {edit}: {undone:?}");
            assert!(undone.changed_since.is_empty(), "{undone:?}");
            let ledger = Ledger::read(&OsFs, world.run.fd()).expect("read");
            assert_eq!(ledger.applied(MOUNT).count(), 0, "{edit}: nothing is left to undo");
        }
    }
}

#[test]
fn undo_of_a_file_that_the_host_had_removed_removes_it() {
    let world = world(Where::Same);
    guest(&world, "echo one > f");
    publish(&world, &OsFs).expect("published");
    world.host("rm f");
    assert_eq!(take_in(&world, &OsFs).expect("taken"), TakenIn::Taken);
    guest(&world, "echo two > f");
    publish(&world, &OsFs).expect("published");
    let undone = world.undo(&OsFs).expect("undone");
    assert_eq!((text(&world, "host").as_str(), undone.changed_since.len()), ("absent", 0));
}

#[test]
fn nothing_comes_in_while_somebody_waits_for_the_file() {
    let world = world(Where::Same);
    for edit in ["echo outside > f", "rm f"] {
        world.host(edit);
        let waited = single(&world, &OsFs)
            .and_then(|it| it.take_in(world.root_fd().as_fd(), &Says(true, false), true));
        assert_eq!(waited.expect("tried"), TakenIn::Busy, "{edit}");
        assert_eq!(text(&world, OWN), "host\n", "{edit}");
    }
}

#[test]
fn version_that_the_command_makes_at_the_same_moment_stays() {
    let world = world(Where::Same);
    let mut taken = 0;
    for number in 0..400 {
        world.host(&format!("echo outside {number} > f"));
        let own = world.run.path().join("own");
        let text_of_guest = format!("guest {number}\n");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_micros(number % 40 * 10));
                std::fs::write(own.join("n"), &text_of_guest).expect("written");
                std::fs::rename(own.join("n"), own.join("f")).expect("renamed");
            });
            let result = take_in(&world, &OsFs);
            taken += u32::from(matches!(result, Ok(TakenIn::Taken)));
        });
        assert_eq!(text(&world, OWN), text_of_guest);
        // Both sides begin the next round alike.
        guest(&world, "cp -p ../base f");
    }
    assert!(taken > 0, "some came in before the command wrote");
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
