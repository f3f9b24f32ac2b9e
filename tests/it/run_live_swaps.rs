//! What takes the place of others in a live workspace: links to other people's code, where no name counts, and to what
//! nobody can search, and work trees that settings name.

use crate::harness::World;

const WHO: &str =
    "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@a
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always";

/// A workspace in which a script was run without a sandbox.
fn workspace(before: &str) -> World {
    let world = World::new();
    world.bare(&format!("{WHO}\nset -e; git init -q -b main .; {before}\nsleep 0.1")).ok();
    world
}

/// Runs a script in a live workspace; returns what was told.
fn live(world: &World, options: &[&str], script: &str) -> String {
    let told = world.run(
        &[&["run", "--workspace", "rw"], options].concat(),
        &format!("{WHO}\nset -e; {script}"),
    );
    told.ok();
    told.stderr
}

fn is_there(world: &World, name: &str) -> bool {
    world.project().join(name).symlink_metadata().is_ok()
}

#[test]
fn what_is_no_file_is_held_in_the_place_of_a_repository() {
    let world = workspace("true");
    let socket = "import socket; socket.socket(socket.AF_UNIX).bind('n/.git')";
    let script = format!("mkdir m n o; mkfifo m/.git o/fifo; python3 -c \"{socket}\"");
    let told = world.run(&["run", "--workspace", "rw"], &script).stderr;
    assert_eq!(
        ["m/.git", "n/.git", "o/fifo"].map(|name| is_there(&world, name)),
        [false, false, true],
        "{told}"
    );
    assert!(told.contains("m/.git") && told.contains("n/.git"), "{told}");
}
