//! The root of a copy-on-write mount: its bits, attributes and ACLs, which the root of its layer has too.

use crate::harness::{Said, World, elsewhere, kernel, project, said};

/// What tells of the root; ACLs as the kernel has them.
const LOOK: &str = r#"import os
print(oct(os.stat(".").st_mode), sorted((name, os.getxattr(".", name).hex()) for name in os.listxattr(".")
    if name.startswith(("user.r", "system.posix"))))
"#;

/// Set-group-id and sticky; an attribute; another user may write by an ACL, and so in new directories, while the
/// group may not.
const MAKE: &str = r#"import os, struct
entries = [(1, 7, -1), (2, 7, 12345), (4, 0, -1), (16, 7, -1), (32, 0, -1)]
acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
os.chmod(".", 0o3770); os.setxattr(".", "user.root", b"value")
os.setxattr(".", "system.posix_acl_access", acl); os.setxattr(".", "system.posix_acl_default", acl)
"#;

fn python(world: &World, script: &str) -> Said {
    said(world.command("python3").args(["-c", script]))
}

/// Makes the project's root one with all of it.
fn made() -> (World, String) {
    let world = project();
    python(&world, MAKE).ok();
    let before = python(&world, LOOK).ok().to_owned();
    assert!(before.contains("0o43770") && before.matches("posix_acl").count() == 2, "{before}");
    (world, before)
}

#[test]
fn what_the_command_left_alone_stays() {
    let (world, before) = made();
    world.run(&[], "true").ok();
    assert_eq!(python(&world, LOOK).ok(), before, "nothing was changed");
    world.run(&[], "echo new >new; mkdir below; rm file").ok();
    assert_eq!(python(&world, LOOK).ok(), before, "names were");
    let home = world.home().display().to_string();
    world.run(&["run", "--cow", &home], "echo new >../above; echo new >newer").ok();
    assert_eq!(python(&world, LOOK).ok(), before, "below the root of another mount");
}

/// The layer is in memory where endow's own state lies in the mount.
#[test]
fn what_the_command_left_alone_stays_above_a_layer_in_memory() {
    if kernel() < (6, 6) {
        return elsewhere("a layer in memory needs Linux 6.6");
    }
    let (world, before) = made();
    let state = world.project().join("state");
    let mut command = world.endow(["run", "--", "sh", "-c", "echo new >new"]);
    said(command.env("ENDOW_STATE_DIR", &state)).ok();
    assert_eq!(world.read("new"), "new\n");
    assert_eq!(python(&world, LOOK).ok(), before);
}

#[test]
fn new_names_inherit_what_they_would_outside() {
    let (world, _) = made();
    let script = "mkdir $1; cd $1; python3 -c \"$2\"";
    let inherited = |name: &str| {
        let mut command = world.endow(["run", "--", "sh", "-c", script, "sh", name, LOOK]);
        said(&mut command).ok().to_owned()
    };
    let inside = inherited("one");
    let outside = said(world.command("sh").args(["-c", script, "sh", "two", LOOK])).ok().to_owned();
    assert!(inside.contains("0o42770"), "{inside}");
    assert_eq!(
        said(world.command("sh").args(["-c", "cd one && python3 -c \"$1\"", "sh", LOOK])).ok(),
        outside,
        "as it is written back"
    );
}

#[test]
fn what_the_command_changed_is_written_back_and_taken_back() {
    let (world, before) = made();
    let change =
        "chmod 700 .; python3 -c 'import os; os.setxattr(\".\", \"user.root\", b\"other\")'";
    world.run(&[], change).ok();
    let after = python(&world, LOOK).ok().to_owned();
    assert!(after.contains("0o42700"), "{after}");
    assert!(after.contains("6f74686572"), "{after}");
    said(&mut world.endow(["undo"])).ok();
    assert_eq!(python(&world, LOOK).ok(), before);
}

/// Nothing else tells of such a run.
#[test]
fn an_attribute_alone_is_written_back() {
    let (world, _) = made();
    world.run(&[], "python3 -c 'import os; os.setxattr(\".\", \"user.root\", b\"other\")'").ok();
    assert!(python(&world, LOOK).ok().contains("6f74686572"));
}

/// What somebody changes outside meanwhile is theirs.
#[test]
fn change_outside_meanwhile_stays() {
    let (world, before) = made();
    world.run(&["run", "--sync", "review"], "echo newer >new").ok();
    world.bare("chmod 2750 .").ok();
    let changed = python(&world, LOOK).ok().to_owned();
    assert_ne!(changed, before);
    said(&mut world.endow(["apply"])).ok();
    assert_eq!(
        (world.read("new").as_str(), python(&world, LOOK).ok()),
        ("newer\n", changed.as_str())
    );
}
