//! What is held of a run, and what was moved to where it waits: dropped, taken back, counted.

use serde_json::{Value, json};

use crate::harness::{Said, World, said};
use crate::run_checkpoint::run_recorded;

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
    assert_eq!(changes(&world), json!({"created": 0, "modified": 0, "deleted": 0, "left": 2}));
    let undo = endow(&world, &["undo", "k"]);
    assert!(undo.fails(2).contains("`endow runs`"), "{}", undo.stderr);
    endow(&world, &["undo"]).ok();
    assert_eq!(world.read("file"), "1\n");
}
