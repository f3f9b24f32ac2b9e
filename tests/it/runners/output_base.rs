//! What a command of Bazel sees of the user's home: what the server's output base leads to, and nothing that a command
//! or a checkout says.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::named;
use crate::harness::{Said, World, said};

/// A world whose home has a secret.
fn world() -> World {
    let world = World::new();
    world.write("home/.ssh/id", "secret\n");
    world
}

/// Makes what looks like an output base, which leads to the secret.
fn plant(world: &World, base: &Path) {
    fs::create_dir_all(base.join("execroot/main")).expect("mkdir");
    fs::create_dir_all(base.join("external")).expect("mkdir");
    fs::write(base.join("lock"), "").expect("write");
    symlink(world.home().join(".ssh/id"), base.join("execroot/main/key")).expect("a link");
}

/// Reads the secret in a sandbox that starts in `directory`, as the child of whoever `started` it.
fn read(world: &World, started: Command, (directory, options): (&Path, &[PathBuf])) -> Said {
    let mut command = started;
    command.arg("-W").arg(directory);
    for writable in options {
        command.arg("-w").arg(writable);
    }
    let id = world.home().join(".ssh/id").display().to_string();
    said(command.args(["--", "sh", "-c", &format!("cat {id} || true")]))
}

fn by_nobody(world: &World) -> Command {
    world.command(named(world, "linux-sandbox"))
}

/// A shell that has the arguments of a server with this output base.
fn by_server(world: &World, base: &Path) -> Command {
    let mut server = world.command("sh");
    server.args(["-c", "shift; \"$@\"; exit $?", "bazel"]);
    server.arg(format!("--output_base={}", base.display()));
    server.arg(named(world, "linux-sandbox"));
    server
}

/// Where something is planted, where the command starts, what it may change, and where a link of its directory leads.
type Attack = (&'static str, &'static str, &'static [&'static str], &'static str);

const ATTACKS: &[Attack] = &[
    // An earlier command could write there.
    ("cache", "home/project", &[], "cache/execroot"),
    // So can this one, by way of the user's link.
    ("cache", "home/project", &["cache-link"], "cache/execroot"),
    ("home/project", "home/project/sub", &[], ""),
    ("home/project/b", "alias/home/project", &[], "home/project/b/execroot"),
    ("home/project/b", "home/project", &[], "cache/../home/project/b/execroot"),
    // A checkout has such names, and Bazel's forest a link to a file of it.
    ("home/checkout", "home/project", &[], "home/checkout/src"),
];

/// Returns what a command says and ends with that comes after an attack.
fn attacked((base, directory, options, link): &Attack) -> (i32, String) {
    let world = world();
    let at = |name: &str| world.root().join(name);
    for name in ["cache", "home/project/sub"] {
        fs::create_dir_all(at(name)).expect("mkdir");
    }
    symlink(at("cache"), at("cache-link")).expect("a link");
    symlink(world.root(), at("alias")).expect("a link");
    plant(&world, &at(base));
    if !link.is_empty() {
        symlink(at(link), world.project().join("link")).expect("a link");
    }
    let options: Vec<PathBuf> = options.iter().map(|name| at(name)).collect();
    let said = read(&world, by_nobody(&world), (&at(directory), &options));
    (said.code, said.stdout)
}

#[test]
fn names_and_links_make_no_output_base() {
    let found = ATTACKS.iter().map(|attack| (attack, attacked(attack)));
    let bad: Vec<_> = found.filter(|(_, said)| *said != (0, String::new())).collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

#[test]
fn output_base_is_that_of_the_server() {
    let world = world();
    let (base, other) = (world.root().join("base"), world.root().join("other"));
    plant(&world, &base);
    fs::create_dir_all(other.join("execroot/main")).expect("mkdir");
    // No name but those that lead somewhere is looked at, and none that can't be shown stops the command.
    let up = world.root().join("base/../home/project/file");
    symlink(up, base.join("execroot/main/up")).expect("a link");
    let project = world.project();
    let read = |base: &Path| read(&world, by_server(&world, base), (&project, &[])).ok().to_owned();
    assert_eq!(read(&base), "secret\n");
    assert_eq!(read(&other), "");
    assert_eq!(read(&world.root().join("absent")), "");
}

#[test]
fn output_base_that_the_command_can_change_is_none() {
    let world = world();
    let (base, project) = (world.root().join("base"), world.project());
    plant(&world, &base);
    symlink(world.root(), world.root().join("alias")).expect("a link");
    let read = |base: &Path, writable: &[PathBuf]| {
        read(&world, by_server(&world, base), (&project, writable)).ok().to_owned()
    };
    assert_eq!(read(&base, &[]), "secret\n", "control");
    let alias = world.root().join("alias/base");
    assert_eq!(read(&base, std::slice::from_ref(&base)), "");
    assert_eq!(read(&base, std::slice::from_ref(&alias)), "");
    assert_eq!(read(&alias, std::slice::from_ref(&base)), "");
}
