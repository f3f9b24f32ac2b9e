//! `endow init`: a policy file for the project at hand.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::harness::{Said, World, said};

fn init(world: &World, directory: &str, arguments: &[&str]) -> Said {
    let mut command = world.endow(["init"]);
    said(command.args(arguments).current_dir(world.root().join(directory)))
}

#[test]
fn what_is_written_counts_once_it_is_trusted() {
    let world = World::new();
    world.write("home/project/package.json", "{}");
    world.write("home/.npm/package", "fetched\n");
    let wrote = init(&world, "home/project", &[]);
    assert!(wrote.ok().contains("`endow trust`"), "{}", wrote.stdout);
    let text = fs::read_to_string(world.project().join("endow.toml")).expect("written");
    assert!(text.contains("\nextends = [\"node\"]\n"), "{text}");
    let script = "cat ~/.npm/package";
    world.run(&["--workspace", "ro"], script).fails(120);
    said(&mut world.endow(["trust", "--yes"])).ok();
    assert_eq!(world.run(&["--workspace", "ro"], script).ok(), "fetched\n");
    world.run(&["--workspace", "ro", "--no-policy"], script).fails(1);
}

#[test]
fn root_of_the_repository_is_the_place() {
    let world = World::new();
    world.write("home/project/sub/package.json", "{}");
    world.bare("git init -q .").ok();
    let json = init(&world, "home/project/sub", &["--json"]);
    let said: Value = serde_json::from_str(json.ok()).expect("JSON");
    let file = world.project().join("endow.toml");
    assert_eq!(said["file"], file.to_str().expect("a name"));
    assert_eq!(said["extends"][0], "git");
    assert_eq!(said["text"], fs::read_to_string(file).expect("written"));
}

#[test]
fn existing_file_stays_as_it_is() {
    let world = World::new();
    world.bare("git init -q .").ok();
    let between = world.write("home/project/sub/endow.toml", "version = 1\n");
    world.write("home/project/sub/deep/file", "");
    for place in ["home/project/sub", "home/project/sub/deep"] {
        let error = init(&world, place, &[]).fails(2).to_owned();
        assert!(error.contains(between.to_str().expect("a name")), "{error}");
    }
    assert!(!world.project().join("endow.toml").exists());
    symlink("elsewhere", world.project().join("endow.toml")).expect("a link");
    init(&world, "home/project", &[]).fails(2);
    assert!(!world.project().join("elsewhere").exists());
    assert_eq!(fs::read_to_string(between).expect("there"), "version = 1\n");
}

#[test]
fn home_is_no_project() {
    let world = World::new();
    let refused = init(&world, "home", &[]);
    assert!(refused.fails(2).contains("not taken as the workspace"), "{refused:?}");
    assert!(!world.home().join("endow.toml").exists());
}

#[test]
fn printing_writes_nothing() {
    let world = World::new();
    world.write("home/project/go.mod", "module m\n");
    assert!(init(&world, "home/project", &["--print"]).ok().contains("#allow = [\"registry:go\"]"));
    assert!(!world.project().join("endow.toml").exists());
}
