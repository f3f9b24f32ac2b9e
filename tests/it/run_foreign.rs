//! Files of other owners in buffered directories: named before the start, or when the command
//! failed, wherever it worked.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};

use crate::harness::World;

const COW: [&str; 4] = ["run", "-v", "--workspace", "cow"];

/// A project with a file of somebody else at the top and one further down; `None` where nobody can
/// make one.
fn project() -> Option<World> {
    // Only root can give files away: as an ordinary user this holds by the same code.
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let world = World::new();
    let (top, deep) = ("home/project/top", "home/project/a/b/deep");
    for name in [top, deep] {
        let path = world.write(name, "theirs\n");
        std::fs::set_permissions(&path, Permissions::from_mode(0o666)).expect("open to all");
        chown(path, Some(4321), None).expect("an owner");
    }
    world.write("home/project/a/b/mine", "mine\n");
    world.write("home/project/untouched/deep", "mine\n");
    Some(world)
}

#[test]
fn names_of_the_first_level_are_told_before_the_start() {
    let Some(world) = project() else { return };
    let said = world.run(&COW, "cat top a/b/deep; echo mine >a/b/mine");
    assert_eq!(said.ok(), "theirs\ntheirs\n");
    let top = world.project().join("top");
    assert!(
        said.stderr
            .contains(&format!("inside (EOVERFLOW), of another owner or group: {}", top.display()))
    );
    assert!(!said.stderr.contains("b/deep"), "{}", said.stderr);
    std::fs::remove_file(top).expect("removed");
    assert!(!world.run(&COW, "true").stderr.contains("EOVERFLOW"), "nothing to tell");
}

#[test]
fn deeper_names_are_told_when_the_command_failed() {
    let Some(world) = project() else { return };
    let json = [&COW[..], &["--json"]].concat();
    let report = |script: &str| -> serde_json::Value {
        serde_json::from_str(&world.run(&json, script).stdout).expect("a report")
    };
    let failed = world.run(&COW, "echo x >>a/b/deep");
    assert!(failed.stderr.contains("Value too large for defined data type"), "the fact behind it");
    let deep = world.project().join("a/b/deep");
    assert!(failed.stderr.contains(&format!("{}", deep.display())), "{}", failed.stderr);
    let told = &report("echo x >>a/b/deep")["sync"]["unchangeable"];
    let top = world.project().join("top");
    assert_eq!(*told, serde_json::json!([deep, top]), "in the directories it came to");
    let elsewhere = &report("echo x >untouched/deep; false")["sync"]["unchangeable"];
    assert_eq!(*elsewhere, serde_json::json!([top]));
    assert_eq!(report("true")["sync"]["unchangeable"], serde_json::json!([]));
}
