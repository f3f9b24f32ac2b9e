//! Host and run change the same path: nothing of either side is lost.

use std::path::Path;

use super::super::testing::*;
use super::super::*;
use crate::fs::faulty::{FaultyFs, Lack};
use crate::fs::{Errno, OsFs};

const TREE: &str = "
    mkdir d other; echo base > d/f; echo other > d/g; echo x > other/x
    touch -d '2001-02-03 04:05:06' d/f d/g other/x d other .";

/// What the host does to `d/f`, in words and in shell.
const HOST: &[(&str, &str)] = &[
    ("nothing", "true"),
    ("edits in place", "echo host > d/f"),
    ("replaces by an old file", "echo host > n; touch -d '1999-01-01' n; mv n d/f"),
    ("deletes", "rm d/f"),
    ("creates", "echo host > d/new"),
    ("changes the type", "rm d/f; mkdir d/f; echo host > d/f/in"),
    ("replaces the directory by a link", "mv d real; ln -s real d; echo host > real/f"),
    ("edits and changes bits", "echo host > d/f; chmod 600 d/f"),
    ("edits and sets the time back", "echo HOST > d/f; touch -d '2001-02-03 04:05:06' d/f"),
    ("replaces the directory", "cp -a d e; mv d old; mv e d; echo host > d/f"),
];

/// What the run does.
const GUEST: &[(&str, &str)] = &[
    ("none", "echo y > other/x"),
    ("edit", "echo y > other/x; echo guest >> d/f"),
    ("editor's edit", "echo y > other/x; cat d/f > d/n; echo guest >> d/n; mv d/n d/f"),
    ("delete", "echo y > other/x; rm d/f"),
    ("create", "echo y > other/x; echo guest > d/new"),
    ("remove the directory", "echo y > other/x; rm -r d"),
    ("make the directory again", "echo y > other/x; rm -r d; mkdir d; echo guest > d/f"),
    ("type", "echo y > other/x; rm d/f; mkdir d/f; echo guest > d/f/in"),
];

fn all_text(dir: &Path) -> String {
    snapshot(dir).values().map(|text| format!("{text}\n")).collect()
}

fn cell(place: Where, host: (&str, &str), guest: (&str, &str)) {
    let what = format!("{place:?}: host {}, guest {}", host.0, guest.0);
    let world = World::new(place, TREE);
    world.guest(guest.1);
    world.host(host.1);
    let before = world.snapshot();
    let report = world.sync(OnConflict::Host);
    let after = world.snapshot();
    assert!(report.failed.is_empty() && report.refused.is_empty(), "{what}: {report:?}");
    assert!(after.get(Path::new("other/x")).is_some_and(|text| text.contains('y')), "{what}");
    // The host's work stands, wherever it put it.
    if host.1.to_lowercase().contains("echo host") {
        let text = all_text(&world.root()).to_lowercase();
        assert!(text.contains("host"), "{what}: the host's change is lost");
    }
    // The run's work is in the tree or in the layer.
    if guest.1.contains("guest") {
        let text = all_text(&world.root()) + &all_text(&world.upper());
        assert!(text.contains("guest"), "{what}: the run's change is lost");
    }
    let meets = ["create", "remove the directory", "make the directory again"].contains(&guest.0);
    let both = host.0 != "nothing" && guest.0 != "none" && (host.0 != "creates" || meets);
    let is_same = host.0 == "deletes" && ["delete", "remove the directory"].contains(&guest.0);
    // A file that is put there by a rename, or in a directory made again, tells nothing of what
    // was there before.
    let is_blind = host.0 == "deletes"
        && ["editor's edit", "make the directory again", "type"].contains(&guest.0);
    // A new file beside what the host changed.
    let is_apart = guest.0 == "create"
        && !["creates", "replaces the directory by a link", "replaces the directory"]
            .contains(&host.0);
    let expected = both && !is_same && !is_blind && !is_apart;
    assert_eq!(!report.conflicts.is_empty(), expected, "{what}: {report:?}");
    let undone = world.undo(&OsFs).expect("undone");
    assert!(undone.changed_since.is_empty(), "{what}: {undone:?}");
    assert_same(&world.snapshot(), &before, &what);
    if expected {
        wins(place, host, guest, &what);
    }
}

/// With the run as the winner its version stands, and undo gives the host's back.
fn wins(place: Where, host: (&str, &str), guest: (&str, &str), what: &str) {
    let world = World::new(place, TREE);
    world.guest(guest.1);
    world.host(host.1);
    let before = world.snapshot();
    let aborted = world.sync(OnConflict::Abort);
    assert!(aborted.applied.is_empty() && !aborted.conflicts.is_empty(), "{what}");
    assert_same(&world.snapshot(), &before, what);
    let report = world.sync(OnConflict::Guest);
    assert!(
        report.conflicts.iter().all(|found| found.winner == Winner::Guest),
        "{what}: {report:?}"
    );
    if guest.1.contains("guest") {
        assert!(all_text(&world.root()).contains("guest"), "{what}");
    }
    let undone = world.undo(&OsFs).expect("undone");
    assert!(undone.changed_since.is_empty(), "{what}: {undone:?}");
    assert_same(&world.snapshot(), &before, what);
}

#[test]
fn table_within_one_file_system() {
    for host in HOST {
        for guest in GUEST {
            cell(Where::Same, *host, *guest);
        }
    }
}

#[test]
fn table_between_two_file_systems() {
    for host in HOST {
        for guest in GUEST {
            cell(Where::Elsewhere, *host, *guest);
        }
    }
}

#[test]
fn the_same_change_on_both_sides_is_no_conflict() {
    let world = World::new(Where::Same, TREE);
    world.guest("echo same > d/f; echo new > d/new; rm d/g; mkdir both; echo a > both/a");
    world.host("echo same > d/f; echo new > d/new; rm d/g; mkdir both; echo b > both/b");
    assert_eq!(told(&world.collect()), ["A both/a"]);
    assert!(world.sync(OnConflict::Host).conflicts.is_empty());
    assert!(world.root().join("both/a").exists() && world.root().join("both/b").exists());
}

#[test]
fn another_root_is_a_conflict_of_everything() {
    let mut world = World::new(Where::Same, TREE);
    world.guest("echo guest > d/f; rm other/x");
    world.identity.ino += 1;
    assert_eq!(told(&world.collect()), ["M d/f !Root", "D other/x !Root"]);
}

#[test]
fn a_file_renamed_in_a_directory_that_the_host_left_alone_is_no_conflict() {
    let world = World::new(Where::Same, TREE);
    world.guest("mv d/f d/h");
    world.host("echo host > other/x");
    assert_eq!(told(&world.collect()), ["D d/f", "A d/h"]);
    world.host("echo host > d/new");
    assert_eq!(told(&world.collect()), ["D d/f", "A d/h"], "known by its size and time");
    world.host("rm d/f");
    assert_eq!(
        told(&world.collect()),
        ["A d/h !Vanished"],
        "it may be a file that the host removed"
    );
}

#[test]
fn directory_that_was_moved_into_one_that_the_run_removes_stays() {
    for place in PLACES {
        let tree = "mkdir -p old/sub keep; echo o > old/o; touch old/sub/s old/sub/t keep/tmp; echo mine > keep/mine";
        let world = World::new(place, tree);
        world.guest("rm -r old");
        world.host("rm keep/tmp old/sub/t; sleep 0.1; mv keep old/keep");
        assert!(!world.sync(OnConflict::Host).is_complete());
        let left = std::fs::read_to_string(world.root().join("old/keep/mine"));
        assert_eq!(left.expect("it stays"), "mine\n");
        // Names that went on both sides are no conflict.
        assert!(!world.root().join("old/o").exists() && !world.root().join("old/sub").exists());
    }
}

#[test]
fn what_is_changed_between_collecting_and_applying_is_left_alone() {
    for place in PLACES {
        let world = World::new(place, TREE);
        world.guest("echo guest > d/f; rm -r other; echo new > new; rm d/g; ln -s d/g d/g");
        let plan = plan(&world.collect(), &rules(OnConflict::Host));
        world.host("echo host >> d/f; echo more > other/more; echo host > new; rm d/g; mkdir d/g");
        let before = world.snapshot();
        let report = world.apply(&OsFs, &plan).expect("applied");
        assert_eq!(report.conflicts.len(), 4, "{report:?}");
        assert_same(&world.snapshot(), &before, "nothing is lost");
        world.assert_clean();
    }
}

/// The stamp is one that the clock showed before it was set back: all that happens is older.
#[test]
fn with_a_clock_that_was_set_back_whatever_differs_is_a_conflict() {
    let script =
        "echo guest > d/f; rm d/g; echo new > new; echo in > d/new; cat other/x > /dev/null
        mkdir m; touch -d '2001-02-03 04:05:06' d .";
    let mut world = World::new(Where::Same, TREE);
    world.guest(script);
    world.stamp.seconds += 3600;
    world.host("echo host > d/f; echo host > d/g");
    let all = ["M d/f", "D d/g", "A d/new", "A m/", "A new"];
    assert_eq!(told(&world.collect()), all, "control: they look older");
    world.clock = Clock::SetBack;
    let all = ["M d/f !Changed", "D d/g !Changed", "A d/new", "A m/", "A new"];
    assert_eq!(told(&world.collect()), all);
    let report = world.sync(OnConflict::Host);
    assert_eq!(report.conflicts.len(), 2, "{report:?}");
    let read = |path: &str| std::fs::read_to_string(world.root().join(path)).expect("there");
    assert_eq!([read("d/f"), read("d/g"), read("new")], ["host\n", "host\n", "new\n"]);
    // What was written back of the run is known as its own all the same.
    assert_eq!(told(&world.collect()), all[..2]);
}

const LINKS: &str = "echo one > a; ln a b; ln a c; ln a d; touch -d '2001-02-03 04:05:06' a";

fn write_back_one(world: &World, name: &str, on_conflict: OnConflict) -> SyncReport {
    let rules = Rules { only: &|path| path == Path::new(name), ..rules(on_conflict) };
    let report = world.apply(&OsFs, &plan(&world.collect(), &rules)).expect("applied");
    world.prune();
    report
}

fn links(host: &str) -> World {
    let world = World::new(Where::Same, LINKS);
    world.guest("echo A > a; echo B > b; rm c; echo D > d");
    world.host(host);
    world
}

#[test]
fn name_that_write_back_took_from_a_file_is_no_change_of_its_others() {
    let world = links("true");
    for name in ["a", "c", "b"] {
        let report = write_back_one(&world, name, OnConflict::Host);
        assert!(report.conflicts.is_empty() && report.applied.len() == 1, "{name}: {report:?}");
    }
    assert_eq!(told(&world.collect()), ["M d"]);
    world.host("chmod 600 d");
    assert_eq!(told(&world.collect()), ["M d !Changed"], "the host's own changes count");
}

#[test]
fn change_of_a_file_before_write_back_took_a_name_of_it_still_counts() {
    let world = links("chmod 600 d");
    assert_eq!(write_back_one(&world, "a", OnConflict::Guest).applied.len(), 1);
    assert_eq!(told(&world.collect()), ["M b !Changed", "D c !Changed", "M d !Changed"]);
}

#[test]
fn names_that_were_written_back_one_by_one_come_back_as_one_file() {
    let before = World::new(Where::Same, LINKS).snapshot();
    let world = links("true");
    write_back_one(&world, "a", OnConflict::Host);
    write_back_one(&world, "c", OnConflict::Host);
    assert!(world.sync(OnConflict::Host).is_complete());
    let undone = world.undo(&OsFs).expect("undone");
    assert!(undone.changed_since.is_empty() && undone.failed.is_empty(), "{undone:?}");
    let mut now = world.snapshot();
    // When the directory was made is another time in each.
    now.insert(std::path::PathBuf::new(), before.values().next().expect("the root").clone());
    assert_same(&now, &before, "undone");
}

/// The directory is in the layer as one is that endow made ready for a rename, which failed then.
const LIFTED: &str = "mkdir n; mv d/f d/g n; rmdir d; mv n d; touch -d '2001-02-03 04:05:06' d";

#[test]
fn files_that_the_run_did_not_write_win_by_name_only() {
    for place in PLACES {
        for guest in [LIFTED, "exec 3<> d/f; exec 3>&-"] {
            let (world, what) = (World::new(place, TREE), format!("{place:?}: {guest}"));
            world.guest(&format!("{guest}\necho new > other/x"));
            assert_eq!(told(&world.collect()), ["M other/x"], "{what}");
            world.host("echo mine > d/f; echo mine > other/x");
            let text =
                |path: &str| std::fs::read_to_string(world.root().join(path)).expect("there");
            let report = world.sync(OnConflict::Guest);
            let winner = |it: &Resolved| (it.path.display().to_string(), it.winner);
            let winners: Vec<_> = report.conflicts.iter().map(winner).collect();
            let expected = [("d/f", Winner::Host), ("other/x", Winner::Guest)];
            assert_eq!(winners, expected.map(|(path, it)| (path.to_owned(), it)), "{what}");
            assert_eq!([text("d/f"), text("other/x")], ["mine\n", "new\n"], "{what}");
            let only = |path: &Path| path == Path::new("d/f");
            let rules = Rules { only: &only, by_name: true, ..rules(OnConflict::Guest) };
            let report = world.apply(&OsFs, &plan(&world.collect(), &rules)).expect("applied");
            assert!(report.is_complete(), "{what}: {report:?}");
            assert_eq!(text("d/f"), "base\n", "{what}");
        }
    }
}

/// A time of change that is cut says that the edit was before the run, which began in that second.
#[test]
fn edit_is_known_where_whole_seconds_are_kept() {
    let fs = FaultyFs::lacking(Lack::Nanoseconds, Errno::IO);
    let told_of = |host: &str, later: i64| {
        let mut world = World::new(Where::Same, "echo base > f");
        world.guest("echo guest > f");
        world.stamp = world.stamp_now();
        world.host(host);
        world.stamp.seconds += later;
        told(&world.collect_with(&fs).expect("collected"))
    };
    assert_eq!(told_of("echo host > f", 0), ["M f !Changed"]);
    assert_eq!(told_of("true", 60), ["M f"]);
}
