//! Descriptors that the caller had open: each goes past every rule about paths.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::harness::{World, endow, said};

/// Runs a shell that opens a directory and files outside as 7, 8 and 9, then runs the line.
fn with_open(world: &World, line: &str) -> crate::harness::Said {
    let open = "exec 9<\"$OUT\" 8<\"$OUT/canary\" 7>>\"$OUT/canary\" 6<&-; ";
    let mut command = world.command("bash");
    command.args(["-c", &format!("{open}{line}")]).env("OUT", world.root().join("outside"));
    command.env("ENDOW", endow());
    said(&mut command)
}

const WALK: &str = r"cat /proc/self/fd/9/canary; cat <&8; echo written >&7; \
    for number in $(seq 3 255); do test -e /proc/self/fd/$number && echo $number; done; true";

#[test]
fn escape_by_inherited_descriptors() {
    let world = World::new();
    let canary = world.write("outside/canary", "secret\n");
    let bare = with_open(&world, &format!("sh -c '{WALK}'"));
    assert!(bare.stdout.starts_with("secret\nsecret\n"), "{bare:?}");
    std::fs::write(&canary, "secret\n").expect("written");
    let sandboxed =
        with_open(&world, &format!("\"$ENDOW\" run --workspace rw -- bash -c '{WALK}'"));
    // bash itself keeps 255 for scripts only; nothing else may be open.
    assert_eq!(sandboxed.stdout, "", "{sandboxed:?}");
    assert_eq!(std::fs::read_to_string(canary).expect("read"), "secret\n");
}

#[test]
fn a_descriptor_that_is_named_is_handed_over_and_no_other() {
    let world = World::new();
    world.write("outside/canary", "secret\n");
    let list = "ls /proc/self/fd | tr \"\\n\" \" \"; cat <&8";
    let said =
        with_open(&world, &format!("\"$ENDOW\" run --workspace rw --keep-fd 8 -- sh -c '{list}'"));
    // 3 is the directory that ls reads.
    assert_eq!(said.ok(), "0 1 2 3 8 secret\n");
    let closed = with_open(&world, "\"$ENDOW\" run --workspace rw --keep-fd 6 -- true");
    closed.fails(125);
}

/// Streams are handed over as they are, and are no way to more than they gave.
#[test]
fn escape_by_reopening_a_read_only_stream() {
    let world = World::new();
    let canary = world.write("outside/canary", "secret\n");
    let reopen = "cat; echo changed > /proc/self/fd/0; cat /proc/self/fd/0/../canary; true";
    let bare = with_open(&world, &format!("sh -c '{reopen}' < \"$OUT/canary\""));
    assert_eq!(
        (bare.code, std::fs::read_to_string(&canary).expect("read").as_str()),
        (0, "changed\n")
    );
    std::fs::write(&canary, "secret\n").expect("written");
    let line = format!("\"$ENDOW\" run --workspace rw -- sh -c '{reopen}' < \"$OUT/canary\"");
    let sandboxed = with_open(&world, &line);
    assert_eq!(sandboxed.stdout, "secret\n");
    assert_eq!(std::fs::read_to_string(&canary).expect("read"), "secret\n");
}

/// A directory as a standard stream is a way around the view: the control reads, and changes the mode of,
/// what lies beside it. Nothing starts with one.
#[test]
fn escape_by_a_directory_as_a_standard_stream() {
    let world = World::new();
    world.write("outside/sub/file", "x");
    let canary = world.write("outside/canary", "secret\n");
    let walk = "(cat $AT/../canary; chmod 640 $AT/../canary) >told 2>&1";
    for number in 0..3 {
        let with = format!("{number}<\"$OUT/sub\"");
        let set = format!("AT=/proc/$$/fd/{number}; {walk}");
        with_open(&world, &format!("sh -c '{set}' {with}"));
        assert_eq!((told(&world).as_str(), mode(&canary)), ("secret\n", 0o640), "{number}");
        fs::set_permissions(&canary, fs::Permissions::from_mode(0o600)).expect("a mode");
        fs::remove_file(world.project().join("told")).expect("removed");
        let line = format!("\"$ENDOW\" run --workspace rw -- sh -c '{set}' {with}");
        let refused = with_open(&world, &line);
        assert_eq!((refused.code, mode(&canary)), (125, 0o600), "{number}: {refused:?}");
        assert!(!world.project().join("told").exists(), "{number}");
    }
}

fn told(world: &World) -> String {
    fs::read_to_string(world.project().join("told")).expect("a file")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").permissions().mode() & 0o777
}
