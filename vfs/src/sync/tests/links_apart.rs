//! Names of one file in a layer of which some are written back and others wait.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::super::testing::*;
use super::super::*;
use crate::fs::{Kind, OsFs};

const TREE: &str = "mkdir -p .git/hooks; echo old > old; touch -d 2001-02-03 old .git/hooks .git .";
const HOOK: &str = ".git/hooks/pre-commit";

/// Writes back what may be and what was asked for, and takes that out of the layer.
fn write_back(world: &World, asked: &[&str]) -> SyncReport {
    let by_name = !asked.is_empty();
    let is_asked = |path: &Path| asked.iter().any(|one| path == Path::new(one));
    let held = |path: &Path, _: Kind| {
        let is_held = path == Path::new(HOOK) && !is_asked(path);
        is_held.then(|| Held::Protected("p".to_owned()))
    };
    let only = |path: &Path| !by_name || is_asked(path);
    let rules = Rules { held: &held, only: &only, by_name, ..rules(OnConflict::Host) };
    let report = world.apply(&OsFs, &plan(&world.collect(), &rules)).expect("applied");
    world.prune();
    report
}

fn inode(path: &Path) -> u64 {
    path.metadata().expect("stat").ino()
}

fn text(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.root().join(path)).expect("a text")
}

#[test]
fn what_is_held_has_no_file_with_what_is_written_back() {
    for place in PLACES {
        let world = World::new(place, TREE);
        let before = world.snapshot();
        world.guest(&format!("printf benign > h; chmod +x h; ln h {HOOK}"));
        assert_eq!(write_back(&world, &[]).held.len(), 1, "{place:?}");
        assert_eq!(told(&world.collect()), [format!("A {HOOK}")], "{place:?}");
        world.host("printf EVIL > h");
        assert!(write_back(&world, &[HOOK]).is_complete(), "{place:?}");
        assert_eq!(text(&world, HOOK), "benign", "{place:?}");
        assert_ne!(inode(&world.root().join("h")), inode(&world.root().join(HOOK)), "{place:?}");
        assert_eq!(told(&world.collect()), [""; 0], "{place:?}");
        world.host("rm h; printf benign > h");
        world.undo_named(&OsFs).expect("undone");
        world.host("rm h; touch -d 2001-02-03 .");
        assert_same(&world.snapshot(), &before, &format!("{place:?}"));
    }
}

#[test]
fn what_is_held_alone_is_written_back_as_a_file_of_its_own() {
    for place in PLACES {
        let world = World::new(place, TREE);
        world.guest(&format!("echo hook > h; ln h {HOOK}"));
        assert_eq!(write_back(&world, &[HOOK]).applied.len(), 1, "{place:?}");
        assert_eq!(told(&world.collect()), ["A h"], "{place:?}");
        world.host(&format!("echo mine >> {HOOK}"));
        assert!(write_back(&world, &[]).is_complete(), "{place:?}");
        assert_eq!([text(&world, "h"), text(&world, HOOK)], ["hook\n", "hook\nmine\n"]);
    }
}

#[test]
fn what_waits_does_not_change_with_what_was_written_back() {
    for place in PLACES {
        let world = World::new(place, TREE);
        world.guest("echo one > a; ln a b; ln a c; ln -f a old; ln -s x l; ln l m");
        assert_eq!(write_back(&world, &["a", "l"]).applied.len(), 2);
        let waits = ["A b", "A c", "A m", "M old"];
        assert_eq!(told(&world.collect()), waits, "{place:?}");
        world.host("echo host >> a");
        let report = write_back(&world, &[]);
        assert!(report.is_complete() && report.conflicts.is_empty(), "{place:?} {report:?}");
        assert_eq!(["a", "b", "old"].map(|it| text(&world, it)), ["one\nhost\n", "one\n", "one\n"]);
        let [a, b, c, old] = ["a", "b", "c", "old"].map(|name| inode(&world.root().join(name)));
        assert!(a != b && b == c && c == old, "{place:?}: those that came together are one");
        assert_eq!(told(&world.collect()), [""; 0], "{place:?}");
    }
}

/// Not taken out of the layer meanwhile, as by one who was killed.
#[test]
fn what_was_written_back_apart_is_no_change_any_more() {
    for place in PLACES {
        let world = World::new(place, TREE);
        world.guest("echo one > a; ln a b");
        let rules = Rules { only: &|path| path == Path::new("a"), ..rules(OnConflict::Host) };
        world.apply(&OsFs, &plan(&world.collect(), &rules)).expect("applied");
        assert_eq!(told(&world.collect()), ["A b"], "{place:?}");
        world.undo(&OsFs).expect("undone");
        assert_eq!(told(&world.collect()), ["A a", "A b"], "{place:?}");
        assert!(world.sync(OnConflict::Host).is_complete());
        assert_eq!(inode(&world.root().join("a")), inode(&world.root().join("b")), "{place:?}");
    }
}
