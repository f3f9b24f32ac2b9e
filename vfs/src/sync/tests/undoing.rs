//! Partial write-backs, partial undo, and what changed since.

use std::path::{Path, PathBuf};

use super::super::testing::*;
use super::super::*;
use super::checkpoint::check_tree;
use crate::fs::{Kind, OsFs};

const TREE: &str = "
    mkdir -p d/sub e; echo 1 > d/one; echo 2 > d/sub/two; echo 3 > e/three; echo 4 > four
    touch -d '2001-02-03 04:05:06.7' d/one d/sub/two e/three four d/sub d e .";
const GUEST: &str = "
    echo x >> d/one; rm d/sub/two; mkdir -p n/m; echo n > n/n; echo m > n/m/m; rm -r e; chmod 600 four
    ln n/n n/m/hard";

fn without_links((path, text): (PathBuf, String)) -> (PathBuf, String) {
    let whole = text.split_once(" = [").map_or(text.as_str(), |(whole, _)| whole);
    (path, whole.to_owned())
}

fn only(world: &World, paths: &[&str]) -> SyncReport {
    let selected = |path: &Path| paths.iter().any(|one| path.starts_with(one));
    let rules = Rules { only: &selected, ..rules(OnConflict::Host) };
    world.apply(&OsFs, &plan(&world.collect(), &rules)).expect("applied")
}

#[test]
fn parts_make_the_whole_and_are_undone_together() {
    for place in PLACES {
        let world = World::new(place, TREE);
        let before = world.snapshot();
        world.guest(&format!("{GUEST}\ncp -a . ../copy"));
        let after = snapshot(&world.run.path().join("copy"));
        for (part, left) in [
            ("n/m", vec!["M d/one", "D d/sub/two", "D e/", "D e/three", "m four", "A n/n"]),
            ("four", vec!["M d/one", "D d/sub/two", "D e/", "D e/three", "A n/n"]),
            ("d", vec!["D e/", "D e/three", "A n/n"]),
            ("e", vec!["A n/n"]),
            ("n", vec![]),
        ] {
            let report = only(&world, &[part]);
            assert!(
                report.conflicts.is_empty() && !report.applied.is_empty(),
                "{part}: {report:?}"
            );
            assert_eq!(told(&world.collect()), left, "{place:?} after {part}");
        }
        // What was written back apart is apart.
        let is = world.snapshot().into_iter().map(without_links).collect();
        let should = after.into_iter().map(without_links).collect();
        assert_same(&is, &should, &format!("{place:?}"));
        let undone = world.undo(&OsFs).expect("undone");
        assert!(undone.changed_since.is_empty(), "{undone:?}");
        assert_same(&world.snapshot(), &before, &format!("{place:?} undone"));
    }
}

/// What the user put in the place of a directory of the run's is no version of that.
#[test]
fn what_stood_in_the_place_of_a_directory_stays_when_it_is_back() {
    for (place, mine) in
        PLACES.into_iter().flat_map(|it| ["echo mine > n", "ln -s mine n"].map(|mine| (it, mine)))
    {
        let world = World::new(place, TREE);
        world.guest("mkdir n; echo a > n/a; echo b > n/b");
        assert!(!only(&world, &["n/a"]).applied.is_empty());
        world.host(&format!("rm -r n; {mine}"));
        let before = world.snapshot();
        let report = world.sync(OnConflict::Guest);
        assert!(world.root().join("n/b").exists(), "{report:?}");
        let undone = world.undo(&OsFs).expect("undone");
        assert!(undone.failed.is_empty(), "{undone:?}");
        assert_same(&world.snapshot(), &before, &format!("{place:?} {mine}: {undone:?}"));
    }
}

#[test]
fn undo_of_parts() {
    for place in PLACES {
        let world = World::new(place, TREE);
        let before = world.snapshot();
        world.guest(GUEST);
        assert!(world.sync(OnConflict::Host).is_complete());
        for part in ["d/one", "e/three", "n/m", "n", "four", ""] {
            let undone = world.undo_only(&OsFs, &|path| path.starts_with(part)).expect("undone");
            assert!(
                undone.changed_since.is_empty() && !undone.undone.is_empty(),
                "{part} {undone:?}"
            );
            let ledger = Ledger::read(&OsFs, world.run.fd()).expect("read");
            assert!(!ledger.applied(MOUNT).any(|(path, _)| path.starts_with(part)), "{part}");
        }
        assert_same(&world.snapshot(), &before, &format!("{place:?}"));
    }
}

#[test]
fn directory_removed_in_two_parts_gets_its_time_again() {
    for place in PLACES {
        let world = World::new(place, TREE);
        let before = world.snapshot();
        world.guest("rm -r d");
        only(&world, &["d/one"]);
        assert!(world.sync(OnConflict::Host).is_complete());
        assert!(!world.root().join("d").exists());
        world.undo(&OsFs).expect("undone");
        assert_same(&world.snapshot(), &before, &format!("{place:?}"));
    }
}

#[test]
fn undo_leaves_what_changed_since() {
    for place in PLACES {
        let world = World::new(place, TREE);
        world.guest(GUEST);
        assert!(world.sync(OnConflict::Host).is_complete());
        world.host("echo since >> d/one; mkdir e; echo since > n/m/since; echo since > four");
        let undone = world.undo(&OsFs).expect("undone");
        let mut stayed: Vec<_> =
            undone.changed_since.iter().filter_map(|path| path.to_str()).collect();
        stayed.sort_unstable();
        assert_eq!(stayed, ["d/one", "e", "four", "n", "n/m"], "{place:?}");
        let read = |path: &str| std::fs::read_to_string(world.root().join(path)).expect("there");
        assert_eq!((read("d/one"), read("n/m/since")), ("1\nx\nsince\n".into(), "since\n".into()));
        assert_eq!(read("d/sub/two"), "2\n");
        assert!(!world.root().join("n/n").exists() && !world.root().join("e/three").exists());
        // Once nothing stands in the way the rest can be had, too.
        world.host("rmdir e; rm n/m/since");
        let undone = world.undo(&OsFs).expect("undone");
        assert_eq!(read("e/three"), "3\n");
        assert!(!world.root().join("n").exists(), "{undone:?}");
        assert_eq!(undone.changed_since.len(), 2, "{undone:?}");
    }
}

#[test]
fn what_is_applied_undone_and_applied_again() {
    for place in PLACES {
        let world = World::new(place, TREE);
        let before = world.snapshot();
        world.guest(GUEST);
        for _ in 0..3 {
            let report = world.sync(OnConflict::Host);
            assert!(report.is_complete(), "{report:?}");
            assert!(world.undo(&OsFs).expect("undone").changed_since.is_empty());
            assert_same(&world.snapshot(), &before, &format!("{place:?}"));
        }
    }
}

#[test]
fn held_refused_and_conflicting_entries_stop_nothing_else() {
    for place in PLACES {
        let world = World::new(place, TREE);
        world.guest(
            "mkdir -p new/.vscode; echo t > new/.vscode/tasks; echo f > new/file; mkfifo new/fifo
            rm -r d e; echo t > .envrc",
        );
        world.host("echo host > e/three");
        let held = |path: &Path, _: Kind| {
            let is_held =
                path.ends_with(".vscode") || path.ends_with("d/one") || path == Path::new(".envrc");
            is_held.then(|| Held::Protected("p".to_owned()))
        };
        let rules = Rules { held: &held, ..rules(OnConflict::Host) };
        let report = world.apply(&OsFs, &plan(&world.collect(), &rules)).expect("applied");
        let applied: Vec<_> = report.applied.iter().filter_map(|one| one.path.to_str()).collect();
        assert_eq!(applied, ["new", "new/file", "d/sub", "d/sub/two"], "{place:?}");
        let held: Vec<_> = report.held.iter().filter_map(|one| one.path.to_str()).collect();
        assert_eq!(held, [".envrc", "d/one", "new/.vscode", "new/.vscode/tasks"]);
        assert_eq!(report.refused.len(), 1);
        assert_eq!(report.conflicts.len(), 1);
        let kept = ["d", "e"].map(|dir| LeftOut::NotEmpty(dir.into()));
        assert_eq!(report.left_out, kept);
        world.undo(&OsFs).expect("undone");
        assert!(world.root().join("d/sub/two").exists() && !world.root().join("new").exists());
    }
}

/// Edits that keep size and time of modification, and what is none.
#[test]
fn edits_that_keep_size_and_time_are_left_alone() {
    let edits = "for f in d/one n/n; do
            touch -r $f ../time; tr a-z A-Z < $f > ../text; cat ../text > $f; touch -r ../time $f; done";
    for place in PLACES {
        let world = World::new(place, TREE);
        world.guest("echo aaa > d/one; mkdir n; echo bbb > n/n; echo ccc > n/other; rm four");
        assert!(world.sync(OnConflict::Host).is_complete());
        world.drop_layer();
        world.host(edits);
        let read = |path: &str| std::fs::read_to_string(world.root().join(path)).expect("there");
        // However often it is tried: each end looks again at what stands there.
        for _ in 0..3 {
            let undone = world.undo(&OsFs).expect("undone");
            let mut stayed: Vec<_> =
                undone.changed_since.iter().filter_map(|path| path.to_str()).collect();
            stayed.sort_unstable();
            assert_eq!(stayed, ["d/one", "n", "n/n"], "{place:?}");
            assert_eq!([read("d/one"), read("n/n"), read("four")], ["AAA\n", "BBB\n", "4\n"]);
            assert!(!world.root().join("n/other").exists());
            world.drop_layer();
        }
    }
}

/// As that of one whose directory is gone for a while.
#[test]
fn what_is_known_of_another_mount_stays_known() {
    let world = World::new(Where::Same, TREE);
    world.guest("echo aaa > d/one");
    assert!(world.sync(OnConflict::Host).is_complete());
    world.drop_layer();
    note_alone(&OsFs, world.run.fd(), &[]).expect("noted");
    world.host("touch -r d/one ../time; echo AAA > d/one; touch -r ../time d/one");
    assert_eq!(world.undo(&OsFs).expect("undone").changed_since, [Path::new("d/one")]);
}

#[test]
fn what_the_layers_end_and_an_earlier_undo_did_is_no_edit() {
    for place in PLACES {
        let world = World::new(place, TREE);
        let before = world.snapshot();
        world.guest(GUEST);
        assert!(world.sync(OnConflict::Host).is_complete());
        world.drop_layer();
        for part in ["d/one", "n/m", "n", ""] {
            let undone = world.undo_only(&OsFs, &|path| path.starts_with(part)).expect("undone");
            assert!(undone.changed_since.is_empty(), "{place:?} {part}: {undone:?}");
            world.drop_layer();
        }
        assert_same(&world.snapshot(), &before, &format!("{place:?}"));
    }
}

/// Times differ, so that what is set of one name shows at the other. The undo is that of a checkpoint.
#[test]
fn further_name_of_a_file_with_the_same_bytes_is_a_change() {
    let tree = "echo x > one; echo x > other; touch -d 2001-02-03 one; touch -d 2002-02-03 other";
    check_tree(tree, "mv one away; ln other one", &["A away", "M one"]);
    check_tree(tree, "rm one other; echo x > one; ln one other", &["M one", "M other"]);
}

/// What a run left in the place of something else says nothing of the bits that this has again, and no bits
/// keep it from coming back.
#[test]
fn closed_directories_of_the_run_give_way() {
    for place in PLACES {
        for guest in [
            "rm four; mkdir four; echo x > four/x; chmod 555 four",
            "rm four; mkdir four; echo x > four/x; chmod 000 four",
            "rm four; mkdir -p four/k; echo x > four/k/x; chmod 555 four/k four",
            "rm four; mkdir -p four/k; echo x > four/k/x; chmod 000 four/k; chmod 000 four",
            "rm d/one; mkdir -p d/one/k; echo x > d/one/k/x; chmod 500 d/one/k d/one; chmod 555 d",
            "rm l; mkdir -p l/k; echo x > l/k/x; chmod 555 l/k l",
            "mkdir n; echo a > n/a; chmod 000 n",
            "echo x >> d/one; chmod 000 d",
            "chmod u+w d/ro; rm -r d; echo d > d",
            "chmod u+w d/ro; echo x > d/ro/f; chmod 555 d/ro; chmod 000 d",
        ] {
            let tree = format!(
                "{TREE}; chmod 600 four; ln -s d l; mkdir d/ro; chmod 555 d/ro; touch -d '2001-02-03' d ."
            );
            let world = World::new(place, &tree);
            let before = world.snapshot();
            world.guest(guest);
            let report = world.sync(OnConflict::Host);
            assert!(report.is_complete(), "{place:?} {guest}: {report:?}");
            world.drop_layer();
            let undone = world.undo(&OsFs).expect(guest);
            let told = format!("{place:?} {guest}: {undone:?}");
            assert!(undone.changed_since.is_empty() && undone.failed.is_empty(), "{told}");
            assert_same(&world.snapshot(), &before, &told);
            world.assert_clean();
        }
    }
}

#[test]
fn another_directory_in_the_place_is_left_alone() {
    for place in PLACES {
        let world = World::new(place, TREE);
        let before = world.snapshot();
        world.guest(GUEST);
        assert!(world.sync(OnConflict::Host).is_complete());
        let [root, away] = ["root", "away"].map(|name| world.tree.path().join(name));
        std::fs::rename(&root, &away).expect("renamed");
        shell(world.tree.path(), "mkdir -p root/d; echo other > root/d/one");
        let other = world.snapshot();
        let undone = world.undo_only(&OsFs, &|path| path == Path::new("nothing")).expect("undone");
        assert!(!undone.is_other_root, "nothing of it was meant");
        let undone = world.undo(&OsFs).expect("undone");
        assert!(undone.is_other_root && undone.undone.is_empty(), "{undone:?}");
        assert_same(&world.snapshot(), &other, &format!("{place:?}"));
        shell(world.tree.path(), "rm -r root; mv away root");
        let undone = world.undo(&OsFs).expect("undone");
        assert!(!undone.is_other_root && undone.changed_since.is_empty(), "{undone:?}");
        assert_same(&world.snapshot(), &before, &format!("{place:?} undone"));
    }
}

#[test]
fn each_of_two_directories_in_one_place_is_taken_back_where_it_stands() {
    for place in PLACES {
        let world = World::new(place, "echo a > a; echo b > b");
        world.guest("echo run > a; echo run > b");
        let rules = Rules { only: &|path| path == Path::new("a"), ..rules(OnConflict::Host) };
        world.apply(&OsFs, &plan(&world.collect(), &rules)).expect("applied");
        shell(world.tree.path(), "mv root away; mkdir root; echo mine > root/b");
        world.sync(OnConflict::Guest);
        let text = |name| std::fs::read_to_string(world.root().join(name)).expect("a text");
        assert_eq!(text("b"), "run\n");
        let undone = world.undo(&OsFs).expect("undone");
        assert!(undone.is_other_root && undone.undone.contains(&"b".into()), "{undone:?}");
        assert_eq!(text("b"), "mine\n");
        shell(world.tree.path(), "mv root other; mv away root");
        let undone = world.undo(&OsFs).expect("undone");
        assert!(!undone.is_other_root, "{undone:?}");
        assert_eq!([text("a"), text("b")], ["a\n", "b\n"], "{place:?}");
    }
}
