//! The command's own installation is in the view, wherever a package manager put it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

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

/// A home in which a directory of PATH leads into one that every run shows, over links, as Nix makes them.
fn led(to: &Path) -> (World, String) {
    let world = World::new();
    symlink("links/current", world.home().join(".profile")).expect("a link");
    fs::create_dir(world.home().join("links")).expect("a directory");
    symlink(to, world.home().join("links/current")).expect("a link");
    let path = format!("{}/.profile/bin", world.home().display());
    (world, path)
}

fn by_path(world: &World, path: &str, options: &[&str], command: &[&str]) -> Said {
    let words = [&["run"], options, &["--"], command].concat();
    said(world.endow(words).env("PATH", path))
}

#[test]
fn directories_of_path_may_lead_into_what_is_shown() {
    let (world, path) = led(Path::new("/usr"));
    let script = "command -v ls; readlink ~/.profile ~/links/current; echo $PATH";
    let found = by_path(&world, &path, &[], &["sh", "-c", script]);
    assert_eq!(found.ok(), format!("{path}/ls\nlinks/current\n/usr\n{path}\n"));
    // Where a command may have made one of these links, there is no way.
    let links = world.home().join("links").display().to_string();
    by_path(&world, &path, &["--rw", &links], &["sh", "-c", "true"]).fails(127);
    by_path(&world, &path, &["--rw", &links], &["/bin/sh", "-c", "test ! -e ~/.profile"]).ok();
}

#[test]
fn directories_of_path_show_nothing_that_is_not_shown() {
    let store = World::new();
    fs::create_dir(store.root().join("bin")).expect("a directory");
    symlink("/bin/sh", store.root().join("bin/sh")).expect("a link");
    symlink("/bin/ls", store.root().join("bin/ls")).expect("a link");
    let (world, path) = led(store.root());
    let script = "command -v ls; echo ~/.profile/bin/*";
    let found = by_path(&world, &path, &[], &["/bin/sh", "-c", script]);
    assert_eq!(found.ok(), format!("{path}/*\n"));
}
