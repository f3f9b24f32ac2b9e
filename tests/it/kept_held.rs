//! What is held of a run, and what was moved to where it waits: dropped, taken back, counted.

use serde_json::{Value, json};

use crate::harness::{self, Said, World, debian_program, said};
use crate::run_checkpoint::run_recorded;

const REVIEW: [&str; 5] = ["run", "--sync", "review", "--name", "k"];

fn endow(world: &World, words: &[&str]) -> Said {
    said(&mut world.endow(words))
}

/// A live workspace that a run changed, with a name that is held of it.
fn held() -> World {
    let world = World::new();
    world.bare("mkdir src; echo 1 >src/main.c; echo keep >old").ok();
    let script = "echo 2 >src/main.c; echo new >new; mkdir .vscode; echo EVIL >.vscode/tasks.json";
    assert_eq!(run_recorded(&world, &["--name", "k"], script), 0);
    world
}

fn changes(world: &World) -> Value {
    let listed = endow(world, &["runs", "--json"]);
    let listed: Value = serde_json::from_str(listed.ok()).expect("JSON");
    listed["runs"][0]["changes"].clone()
}

#[test]
fn what_was_discarded_of_a_live_workspace_does_not_come_back() {
    let world = held();
    endow(&world, &["discard", "k"]).ok();
    let left = world.bare("find ../../ -name tasks.json").ok().to_owned();
    assert_eq!(left, "", "nothing of it is kept");
    assert_eq!(changes(&world)["left"], json!(0));
    endow(&world, &["undo", "k"]).ok();
    assert_eq!(world.states(), ["undone"]);
    endow(&world, &["apply", "k", ".vscode"]).fails(2);
    assert!(!world.project().join(".vscode").exists());
}

#[test]
fn what_was_discarded_does_not_come_back_when_the_discard_is_killed() {
    let Some(strace) = debian_program("strace") else { return };
    for call in ["renameat:1", "renameat:2", "renameat:3", "unlinkat:1", "unlinkat:4", "unlinkat:8"]
    {
        let (name, at) = call.split_once(':').expect("a call");
        let inject = format!("inject={name}:signal=KILL:when={at}");
        let world = held();
        let mut killed = world.command(&strace);
        killed.args(["-f", "-q", "-o", "/dev/null", "-e", &inject]).arg(harness::endow());
        drop(said(killed.args(["discard", "k"])));
        // There is nothing to do where the first one came to its end.
        endow(&world, &["discard", "k"]);
        endow(&world, &["undo", "k"]).ok();
        assert_eq!(world.states(), ["undone"], "{call}");
        assert_eq!(world.read("src/main.c"), "1\n", "{call}");
    }
}

#[test]
fn undo_goes_on_to_the_run_before_where_only_held_names_are_left() {
    let world = World::new();
    world.bare("echo 1 >file").ok();
    world.run(&["run", "--name", "first"], "echo 2 >file").ok();
    let script = "echo 3 >file; mkdir .vscode; echo EVIL >.vscode/tasks.json";
    assert_eq!(run_recorded(&world, &["--name", "k"], script), 0);
    let undo = endow(&world, &["undo", "-v"]);
    undo.ok();
    assert!(undo.stderr.contains("took back 1 change of `sh` ("), "{}", undo.stderr);
    assert_eq!(world.read("file"), "2\n");
    assert_eq!(changes(&world), json!({"created": 0, "modified": 0, "deleted": 0, "left": 1}));
    let undo = endow(&world, &["undo", "k"]);
    assert!(undo.fails(2).contains("`endow runs`"), "{}", undo.stderr);
    endow(&world, &["undo"]).ok();
    assert_eq!(world.read("file"), "1\n");
}

/// The one half of a move is not dropped without the other.
#[test]
fn what_was_moved_is_in_the_tree_whatever_is_discarded() {
    for (script, outside, new) in [
        ("mv a b", "echo host >b", "b"),
        ("mkdir -p .github/workflows; mv a .github/workflows/ci.yml", "true", ".github"),
    ] {
        let world = World::new();
        world.bare("echo precious >a; echo b >b; echo x >x").ok();
        world.run(&REVIEW, &format!("{script}; rm x")).ok();
        world.bare(outside).ok();
        let discarded = endow(&world, &["discard", "k", new]);
        discarded.ok();
        assert!(discarded.stderr.contains("stays where it was: "), "{}", discarded.stderr);
        endow(&world, &["apply", "k"]).ok();
        assert_eq!(world.read("a"), "precious\n", "{script}");
        assert!(!world.project().join("x").exists(), "the rest is written back");
    }
}

#[test]
fn what_was_moved_out_of_a_removed_directory_is_not_dropped_alone() {
    let world = World::new();
    world.bare("mkdir d; echo precious >d/a; echo x >d/x").ok();
    world.run(&REVIEW, "mv d/a b; rm -r d").ok();
    let refused = endow(&world, &["discard", "k", "b"]);
    assert!(refused.fails(2).contains("d/a"), "{}", refused.stderr);
    endow(&world, &["discard", "k", "b", "d"]).ok();
    assert_eq!(world.states(), ["discarded"]);
    assert_eq!(world.read("d/a"), "precious\n");
}
