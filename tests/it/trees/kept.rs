//! What stays in the cache: made once, out of reach, made again when it is damaged.

use std::fs;
use std::path::{Path, PathBuf};

use super::git::repository;
use crate::harness::{World, debian_program, said};

fn sealed(world: &World) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.root().join("cache/trees/v1")).expect("the cache");
    let paths = entries.map(|entry| entry.expect("entry").path());
    paths.filter(|path| path.is_dir()).collect()
}

#[test]
fn cached_tree_is_out_of_reach_of_other_programs() {
    let world = repository("");
    world.run(&["run", "--git", "/ref=HEAD"], "true").ok();
    let tree = sealed(&world).remove(0);
    let file = tree.join("root/file");
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(fs::write(file, "stray").is_err(), !is_root);
    // And of the sandbox that shows it: its owner has no way to the cache.
    let inside = format!("echo x >>/ref/file; chmod 700 /ref; ls {}", tree.display());
    world.run(&["run", "--git", "/ref=HEAD"], &inside).fails(2);
}

#[test]
fn two_names_of_one_tree_are_one_tree() {
    let world = repository("");
    let options = ["run", "--git", "/a=HEAD", "--git", "/b=main", "--git", "/c=HEAD~1"];
    assert_eq!(world.run(&options, "cat /a/file /b/file /c/file").ok(), "new\nnew\nold\n");
    assert_eq!(sealed(&world).len(), 2);
}

/// How many system calls a run with a cached tree makes.
fn calls(strace: &Path, files: usize) -> usize {
    let world = repository("");
    let more = format!(
        "for d in $(seq 1 {}); do mkdir m$d; (cd m$d; touch $(seq 1 100)); done; git add .; \
         git -c user.name=t -c user.email=t@example.com commit -qm more",
        files / 100
    );
    world.bare(&more).ok();
    let run = ["run", "--workspace", "none", "--git", "/ref=HEAD", "--chdir", "/", "--", "true"];
    said(&mut world.endow(run)).ok();
    let log = world.root().join("calls");
    let mut command = world.command(strace);
    command.args(["-f", "-qq", "-o"]).arg(&log).arg(crate::harness::endow()).args(run);
    said(&mut command).ok();
    let log = fs::read_to_string(log).expect("the calls");
    // A call during which another process made one has a second line.
    log.lines().filter(|line| !line.contains(" resumed>")).count()
}

#[test]
fn warm_start_does_not_depend_on_the_size_of_the_tree() {
    let Some(strace) = debian_program("strace") else { return };
    let (few, many) = (calls(&strace, 100), calls(&strace, 3000));
    // Who waits for whom differs from run to run; a call for each file would be 2,900 more.
    assert!(few > 500 && many.abs_diff(few) < 300, "{few} calls with 100 files, {many} with 3,000");
}

#[test]
fn damaged_tree_is_named_and_made_again() {
    let world = repository("");
    world.run(&["run", "--git", "/ref=HEAD"], "true").ok();
    assert!(said(&mut world.endow(["cas", "verify"])).ok().contains("1 tree"));
    let tree = sealed(&world).remove(0);
    fs::set_permissions(&tree, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("open");
    fs::write(tree.join("root/file"), "bad").expect("written");
    let verified = said(&mut world.endow(["cas", "verify"]));
    let told = verified.fails(1);
    assert!(told.contains("file") && told.contains("git-sha1"), "{told}");
    assert_eq!(world.run(&["run", "--git", "/ref=HEAD"], "cat /ref/file").ok(), "new\n");
}

#[test]
fn collection_keeps_what_a_run_shows() {
    let world = repository("");
    let script = "echo in; read go; cat /ref/file";
    let mut command = world.endow(["run", "--git", "/ref=HEAD", "--", "sh", "-c", script]);
    let mut running = crate::harness::Running::start(command.stdin(std::process::Stdio::piped()));
    running.expect("in");
    said(&mut world.endow(["cas", "gc", "--max-size", "0"])).ok();
    running.say("\n");
    running.expect("new");
    assert_eq!(running.end(), 0);
    assert_eq!(sealed(&world).len(), 1);
    said(&mut world.endow(["cas", "gc", "--max-size", "0"])).ok();
    assert_eq!(sealed(&world).len(), 0);
}
