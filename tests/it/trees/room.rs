//! How much of store and cached trees is kept.

use std::fs;

use super::cas::{cas, put};
use super::git::repository;
use crate::harness::{Running, World, said};

fn policy(world: &World, cache: &str) {
    world.write("config/policy.toml", &format!("version = 1\n[state]\ncache = \"{cache}\"\n"));
}

/// Puts a file of so many bytes, and makes it look as if it was used last some hours ago.
fn put_old(world: &World, name: &str, bytes: u32, hours: u32) -> String {
    world.bare(&format!("head -c {bytes} /dev/zero | tr '\\0' '{name}' >{name}")).ok();
    let digest = put(world, name);
    let digits = &digest["sha256:".len()..][..64];
    let object = format!("../../cache/cas/objects/{}/{}", &digits[..2], &digits[2..]);
    world.bare(&format!("[ ! -e {object} ] || touch -d '{hours} hours ago' {object}")).ok();
    digest
}

fn has(world: &World, digest: &str) -> bool {
    cas(world, &["verify", digest]).code == 0
}

#[test]
fn what_is_put_makes_room_for_itself() {
    let world = World::new();
    policy(&world, "1M");
    let old: Vec<String> =
        (1..4).map(|age| put_old(&world, &age.to_string(), 300 << 10, 10 - age)).collect();
    cas(&world, &["retain", "mine", &old[0]]).ok();
    let new = put_old(&world, "4", 300 << 10, 0);
    assert!(has(&world, &new) && has(&world, &old[0]) && has(&world, &old[2]));
    assert!(!has(&world, &old[1]), "the oldest that nobody keeps");
    // What is larger than all the room stays when it is new.
    let large = put_old(&world, "5", 2 << 20, 1);
    assert!(has(&world, &large) && has(&world, &old[0]) && !has(&world, &new));
    cas(&world, &["gc"]).ok();
    assert!(!has(&world, &large) && has(&world, &old[0]));
}

fn trees(world: &World) -> usize {
    let entries = fs::read_dir(world.root().join("cache/trees/v1")).into_iter().flatten();
    entries.filter(|entry| entry.as_ref().expect("an entry").path().is_dir()).count()
}

#[test]
fn new_tree_makes_room_for_itself_and_takes_none_that_is_shown() {
    let world = repository("");
    policy(&world, "1");
    let script = "echo in; read go; cat /ref/file";
    let mut command = world.endow(["run", "--git", "/ref=HEAD", "--", "sh", "-c", script]);
    let mut running = Running::start(command.stdin(std::process::Stdio::piped()));
    running.expect("in");
    assert_eq!(world.run(&["run", "--git", "/ref=HEAD~1"], "cat /ref/file").ok(), "old\n");
    assert_eq!(trees(&world), 2, "one is shown, and one is new");
    running.say("\n");
    running.expect("new");
    assert_eq!(running.end(), 0);
    assert_eq!(world.run(&["run", "--git", "/ref=HEAD:dir"], "cat /ref/deep/f7").ok(), "7\n");
    assert_eq!(trees(&world), 1);
}

#[test]
fn collection_of_runs_is_one_of_the_cache_too() {
    let world = repository("");
    let gc = || said(&mut world.endow(["gc"])).ok().to_owned();
    assert_eq!(gc(), "");
    assert!(!world.root().join("cache/cas").exists(), "what is not there is not made");
    let digest = put(&world, "file");
    world.run(&["run", "--git", "/ref=HEAD"], "true").ok();
    assert_eq!(gc(), "", "there is room");
    policy(&world, "0");
    said(&mut world.endow(["gc", "-n"])).ok();
    assert!(has(&world, &digest) && trees(&world) == 1);
    let told = gc();
    assert!(told.contains("contents of the store") && told.contains("1 cached trees"), "{told}");
    assert!(!has(&world, &digest) && trees(&world) == 0);
}
