//! Files of a copy-on-write mount that have further names on the host, as stores of packages give them.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::harness::{World, said};

/// What a name says of its file: its number, links, bits, time and content.
fn facts(world: &World, name: &str) -> (u64, u64, u32, i64, String) {
    let path = world.root().join(name);
    let found = path.symlink_metadata().expect("there");
    let content = fs::read_to_string(&path).expect("read");
    (found.ino(), found.nlink(), found.mode() & 0o7777, found.mtime(), content)
}

/// A project with `a`, whose other name is in a store beside it.
fn linked() -> World {
    let world = World::new();
    world.write("store/a", "same\n");
    fs::hard_link(world.root().join("store/a"), world.project().join("a")).expect("linked");
    world.bare("touch -d @1000000000 a; chmod 640 a").ok();
    world
}

const OUTSIDE: &str = "store/a";
const INSIDE: &str = "home/project/a";
const ATTRIBUTE: &str = "python3 -c 'import os; print(os.listxattr(\"a\"))'";

#[test]
fn what_a_command_sets_does_not_reach_another_name() {
    let attribute = "python3 -c 'import os; os.setxattr(\"a\", \"user.x\", b\"1\")'";
    for script in [
        "chmod 777 a",
        "touch -d @900000000 a",
        attribute,
        "echo same >a; touch -d @1000000000 a; chmod 600 a",
        "echo more >>a",
    ] {
        let world = linked();
        let before = facts(&world, OUTSIDE);
        let links = world.run(&[], &format!("{script}; stat -c %h a"));
        assert_eq!(links.ok(), "1\n", "{script}: a file of its own in there");
        let (inside, outside) = (facts(&world, INSIDE), facts(&world, OUTSIDE));
        let (ino, _, mode, time, content) = before.clone();
        assert_eq!((outside.0, outside.2, outside.3, outside.4), (ino, mode, time, content));
        let has_it = inside.2 != before.2 || inside.3 != before.3 || inside.4 != before.4;
        let attributes = world.bare(ATTRIBUTE);
        assert!(has_it || attributes.ok() == "['user.x']\n", "{script}: {inside:?}");
        said(&mut world.endow(["undo"])).ok();
        assert_eq!(facts(&world, OUTSIDE), before, "{script}: undone");
        assert_eq!(facts(&world, INSIDE), before, "{script}: the very file");
        assert_eq!(world.bare(ATTRIBUTE).ok(), "[]\n", "{script}: undone");
    }
}

#[test]
fn each_name_of_a_tree_gets_what_the_command_gave_it() {
    let world = World::new();
    world.bare("mkdir d; echo one >a; ln a d/b; touch -d @1000000000 a").ok();
    let before = facts(&world, INSIDE);
    world.run(&[], "touch -d @900000000 a; touch -d @800000000 d/b").ok();
    let time = |name: &str| facts(&world, name).3;
    assert_eq!([time(INSIDE), time("home/project/d/b")], [900_000_000, 800_000_000]);
    said(&mut world.endow(["undo"])).ok();
    assert_eq!(
        [facts(&world, INSIDE), facts(&world, "home/project/d/b")],
        [before.clone(), before]
    );
}

#[test]
fn diff_and_undo_know_it_for_a_change_of_bits() {
    let world = linked();
    world.run(&["run", "--sync", "review"], "chmod 600 a").ok();
    let shown = said(&mut world.endow(["diff"]));
    assert!(shown.ok().contains("# a: mode 0640 -> 0600"), "{}", shown.stdout);
    said(&mut world.endow(["apply"])).ok();
    assert_eq!([facts(&world, INSIDE).2, facts(&world, OUTSIDE).2], [0o600, 0o640]);
    assert!(said(&mut world.endow(["diff"])).ok().contains("# a: mode 0640 -> 0600"));
}

#[test]
fn undo_does_not_reach_a_name_that_was_made_since() {
    let world = World::new();
    world.write(INSIDE, "a\n");
    world.bare("chmod 600 a").ok();
    world.run(&[], "chmod 640 a").ok();
    world.bare("mkdir ../../store; ln a ../../store/a").ok();
    said(&mut world.endow(["undo"])).ok();
    assert_eq!([facts(&world, INSIDE).2, facts(&world, OUTSIDE).2], [0o600, 0o640]);
}
