//! The command's own installation is in the view, wherever a package manager put it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::harness::{Said, World, said};

/// A home with a program of a package manager's, and something else beside it.
fn world() -> World {
    let world = World::new();
    let program =
        "#!/bin/sh\ncat \"$(dirname \"$(readlink -f \"$0\")\")/../data\"; cat ~/tools/notes\n";
    let package = "home/tools/lib/node_modules/@scope/greet";
    let program = world.write(format!("{package}/bin/greet.sh"), program);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("executable");
    world.write(format!("{package}/data"), "its own data\n");
    world.write("home/tools/notes", "nobody's business\n");
    fs::create_dir(world.home().join("tools/bin")).expect("a directory");
    let link = world.home().join("tools/bin/greet");
    symlink("../lib/node_modules/@scope/greet/bin/greet.sh", link).expect("a link");
    world
}

fn run(world: &World, name: &str) -> Said {
    let path = format!("{}/tools/bin:/usr/bin:/bin", world.home().display());
    said(world.endow(["--workspace", "rw", "--", name]).env("PATH", path))
}

#[test]
fn installation_is_shown_and_nothing_beside_it() {
    let world = world();
    let said = run(&world, "greet");
    assert_eq!(said.stdout, "its own data\n", "{}", said.stderr);
    assert!(said.fails(1).contains("tools/notes: No such file"), "{}", said.stderr);
}

#[test]
fn installation_is_not_taken_from_a_link_in_the_workspace() {
    let world = world();
    symlink("../tools/bin/greet", world.project().join("planted")).expect("a link");
    run(&world, "./planted").fails(127);
}

/// What is shown must be what a link leads to: the link itself is there.
#[test]
fn hint_for_a_linked_command_shows_what_it_leads_to() {
    let world = World::new();
    let tool = world.write("tools/run", "#!/bin/sh\necho ran\n");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a mode");
    let tools = world.root().join("tools").display().to_string();
    symlink("tools", world.root().join("other")).expect("a link");
    let other = world.root().join("other").display().to_string();
    for (to, shown) in [
        (tool.clone(), &tools),
        ("../../tools/run".into(), &tools),
        (world.root().join("other/run"), &other),
    ] {
        let link = world.project().join("link");
        drop(fs::remove_file(&link));
        symlink(&to, &link).expect("a link");
        let absent = said(&mut world.endow(["run", "--", "./link"]));
        let hint = format!("hint: --ro {shown}\n");
        assert!(absent.fails(127).contains(&hint), "{}", absent.stderr);
        assert_eq!(said(&mut world.endow(["run", "--ro", shown, "--", "./link"])).ok(), "ran\n");
    }
}
