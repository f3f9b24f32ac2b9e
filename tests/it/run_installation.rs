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

/// They are named as what they lead to, which is there; the links are not.
#[test]
fn directories_of_path_may_lead_into_what_is_shown() {
    let (world, path) = led(Path::new("/usr"));
    let script = "command -v ls; echo $PATH; readlink ~/.profile";
    let found = by_path(&world, &path, &[], &["sh", "-c", script]);
    found.fails(1);
    assert_eq!(found.stdout, "/usr/bin/ls\n/usr/bin\n", "{}", found.stderr);
    // Where the links are there, so is the name.
    let shown = world.home().join("links").display().to_string();
    let profile = world.home().join(".profile").display().to_string();
    let options = ["--ro", &shown, "--ro", &profile];
    let found = by_path(&world, &path, &options, &["sh", "-c", "command -v ls; echo $PATH"]);
    assert_eq!(found.ok(), format!("{path}/ls\n{path}\n"));
}

#[test]
fn directories_of_path_show_nothing_that_is_not_shown() {
    let store = World::new();
    fs::create_dir(store.root().join("bin")).expect("a directory");
    symlink("/bin/ls", store.root().join("bin/ls")).expect("a link");
    let (world, path) = led(store.root());
    let script = "command -v ls; echo ~/.profile/bin/*";
    let found = by_path(&world, &path, &[], &["/bin/sh", "-c", script]);
    assert_eq!(found.ok(), format!("{path}/*\n"));
}

/// As those of package managers with a directory of programs of their own.
#[test]
fn program_behind_several_links_is_found() {
    let world = World::new();
    let tool = world.write("home/prefix/lib/node_modules/tool/cli", "#!/bin/sh\necho ran\n");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a mode");
    for directory in [".local/bin", "prefix/bin"] {
        fs::create_dir_all(world.home().join(directory)).expect("a directory");
    }
    symlink("../lib/node_modules/tool/cli", world.home().join("prefix/bin/tool")).expect("a link");
    symlink(world.home().join("prefix/bin/tool"), world.home().join(".local/bin/tool"))
        .expect("a link");
    let path = format!("{}/.local/bin:/usr/bin:/bin", world.home().display());
    assert_eq!(by_path(&world, &path, &[], &["tool"]).ok(), "ran\n");
    // One that a command may have written grants nothing.
    fs::remove_file(world.home().join(".local/bin/tool")).expect("removed");
    let planted = world.project().join("planted");
    symlink(world.home().join("prefix/bin/tool"), &planted).expect("a link");
    symlink(&planted, world.home().join(".local/bin/tool")).expect("a link");
    by_path(&world, &path, &[], &["tool"]).fails(127);
}

/// A colon in what one leads to would end it: the rest would be another directory, one of the project's.
#[test]
fn directories_of_path_that_a_list_cannot_name_stay_as_they_are() {
    let store = World::new();
    fs::create_dir_all(store.root().join("a:tools/bin")).expect("a directory");
    let to = store.root().join("a:tools");
    let (world, path) = led(&to);
    let path = format!("{path}:/usr/bin:/bin");
    let to = to.display().to_string();
    let found = by_path(&world, &path, &["--ro", &to], &["sh", "-c", "echo $PATH"]);
    assert_eq!(found.ok(), format!("{path}\n"));
}

/// A home is no prefix: of `~/bin/tool` that file is shown, and not what stands beside it.
#[test]
fn program_of_the_home_itself_shows_nothing_beside_it() {
    let world = World::new();
    let tool = world.write("home/bin/tool", "#!/bin/sh\nls ~ ~/bin\n");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a mode");
    for beside in ["bin/other", "share/notes", "lib/notes"] {
        world.write(format!("home/{beside}"), "nobody's business\n");
    }
    let path = format!("{}/bin:/usr/bin:/bin", world.home().display());
    let found = by_path(&world, &path, &[], &["tool"]);
    let home = world.home().display().to_string();
    assert_eq!(found.ok(), format!("{home}:\nbin\nproject\n\n{home}/bin:\ntool\n"));
}
