//! Hidden names of live mounts that a command moves with a directory above them: the next run sees them no more than this one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::harness::{Said, World};

const SECRET: &str = "s3cr3t-content\n";

fn live(world: &World, script: &str) -> Said {
    world.run(&["run", "--workspace", "rw"], script)
}

fn here(world: &World, name: &str) -> std::path::PathBuf {
    world.root().join("home/project").join(name)
}

/// Whether a run in any kind of workspace finds the secret anywhere.
fn is_read(world: &World) -> bool {
    let script = "grep -rs s3cr3t . >/tmp/found; test -s /tmp/found";
    ["ro", "cow", "rw"].iter().any(|access| {
        let inside = world.run(&["run", "--workspace", access], script);
        assert!(inside.code < 2, "{}", inside.stderr);
        inside.code == 0
    })
}

/// The command moves a directory; its hidden name is back and nothing else is, and it is told.
fn check(name: &str, script: &str, to: &str) {
    let world = World::new();
    world.bare("git init -q").ok();
    world.write(format!("home/project/{name}"), SECRET);
    let above = Path::new(name).parent().expect("a directory");
    let other = above.join("other");
    world.write(Path::new("home/project").join(&other), "other\n");
    assert!(!is_read(&world), "{name}");
    let moved = live(&world, &format!("{script} && test ! -e {}", other.display()));
    assert_eq!(moved.code, 0, "{name}: {}", moved.stderr);
    let told = format!(
        "moved back, for it is hidden where it was: {} (the command had moved it to {})",
        here(&world, name).display(),
        here(&world, to).display()
    );
    assert!(moved.stderr.contains(&told), "{}", moved.stderr);
    assert_eq!(fs::read_to_string(here(&world, name)).expect("back"), SECRET);
    assert!(!here(&world, to).exists() && !here(&world, "").join(&other).exists(), "{name}");
    let beside = Path::new(to).with_file_name("other");
    assert_eq!(fs::read_to_string(here(&world, "").join(beside)).expect("moved"), "other\n");
    assert!(!is_read(&world), "{name}");
}

#[test]
fn name_that_is_hidden_for_its_directory_goes_back_there() {
    check(".docker/config.json", "mv .docker moved", "moved/config.json");
    check("a/.cargo/credentials", "mv a/.cargo b; mv a c; mv b c", "c/b/credentials");
    // What is called `.git` can be made one of git's by the next command.
    check("conf/.env", "mkdir -p foo/.git; mv conf foo/.git/", "foo/.git/conf/.env");
    check(".m2/settings.xml", "mv .m2 m && chmod 500 m", "m/settings.xml");
}

#[test]
fn name_that_was_moved_to_where_nothing_is_hidden_goes_back() {
    let node_modules = "mkdir node_modules && mv conf node_modules";
    check("conf/.env", node_modules, "node_modules/conf/.env");
    check("conf/.env", "git init -q foo && mv conf foo/.git", "foo/.git/conf/.env");
}

#[test]
fn directory_that_is_hidden_goes_back_whole() {
    let world = World::new();
    world.write("home/project/.config/gh/hosts.yml", SECRET);
    world.write("home/project/.config/x", "x\n");
    assert_eq!(live(&world, "mv .config moved").code, 0);
    assert!(here(&world, ".config/gh/hosts.yml").exists() && here(&world, "moved/x").exists());
    assert!(!is_read(&world));
}

#[test]
fn name_that_is_hidden_where_it_was_moved_stays_there() {
    let world = World::new();
    world.write("home/project/conf/.env", SECRET);
    let moved = live(&world, "mv conf moved");
    assert_eq!((moved.code, moved.stderr.as_str()), (0, ""));
    assert!(here(&world, "moved/.env").exists() && !here(&world, "conf").exists());
    assert!(!is_read(&world));
}

/// The place is taken: what is there goes where the name was, and it is told.
#[test]
fn nothing_is_replaced_by_what_goes_back() {
    let world = World::new();
    world.write("home/project/.docker/config.json", SECRET);
    let moved = live(&world, "mv .docker moved; mkdir .docker; echo new > .docker/config.json");
    let told =
        format!("what stood in its place is now {}", here(&world, "moved/config.json").display());
    assert_eq!(moved.code, 0, "{}", moved.stderr);
    assert!(moved.stderr.contains(&told), "{}", moved.stderr);
    let read = |name: &str| fs::read_to_string(here(&world, name)).expect("there");
    assert_eq!(
        (read(".docker/config.json").as_str(), read("moved/config.json").as_str()),
        (SECRET, "new\n")
    );
    assert!(!is_read(&world));
}

/// What the command puts in the way leads nowhere else.
#[test]
fn links_in_the_way_are_not_followed() {
    let world = World::new();
    world.write("home/project/.docker/config.json", SECRET);
    fs::create_dir(world.root().join("outside")).expect("made");
    symlink(world.root().join("outside"), here(&world, "link")).expect("a link");
    let moved = live(&world, "mv .docker moved; mv link .docker");
    let told =
        format!("what stood in its place is now {}", here(&world, "moved/.docker").display());
    assert!(moved.stderr.contains(&told), "{}", moved.stderr);
    assert_eq!(fs::read_to_string(here(&world, ".docker/config.json")).expect("back"), SECRET);
    assert!(fs::read_link(here(&world, "moved/.docker")).is_ok());
    assert_eq!(fs::read_dir(world.root().join("outside")).expect("listed").count(), 0);
    assert!(!is_read(&world));
}

/// What can't go back is told, everywhere, and the run is no success.
#[test]
fn name_that_can_not_go_back_is_told() {
    let world = World::new();
    world.write("home/project/.docker/config.json", SECRET);
    let report = world.root().join("report");
    let arguments = ["run", "--workspace", "rw", "--report", report.to_str().expect("a text")];
    let moved = world.run(&arguments, "mv .docker moved; echo 1 > .docker; echo 2 > moved/.docker");
    assert_eq!(moved.code, 121, "{}", moved.stderr);
    assert!(moved.stderr.contains("hidden no more, and can't be moved back"), "{}", moved.stderr);
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(report).expect("a report")).expect("JSON");
    let at = here(&world, "moved/config.json");
    assert_eq!(report["missed"], serde_json::json!([{"path": at, "reason": "shown"}]));
    assert_eq!(fs::read_to_string(here(&world, "moved/config.json")).expect("there"), SECRET);
}
