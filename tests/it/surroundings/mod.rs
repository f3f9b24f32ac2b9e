//! endow inside other people's sandboxes: the declared level holds, or the run does not start.

use std::path::Path;

use crate::harness::{Said, World, debian_program, endow, said};

/// Installs what the default filter of a container engine refuses, and starts a program.
pub(crate) const CONTAINER: &str = include_str!("container.py");
/// What the command tries: what it was granted, what it was not, and a user namespace of its own.
const TRIES: &str = "cat file; cat ../secret 2>/dev/null || echo kept
    unshare -U true 2>/dev/null || echo none; (echo more >>file) 2>/dev/null; tail -1 file";

fn world() -> World {
    let world = World::new();
    world.write("home/project/file", "content\n");
    world.write("home/secret", "canary\n");
    world
}

/// Runs a program inside of another sandbox.
fn inside(world: &World, around: &[&str], program: &[&str]) -> Said {
    let (first, rest) = around.split_first().expect("a program");
    said(world.command(first).args(rest).args(program))
}

fn run<'a>(endow: &'a Path, options: &[&'a str]) -> Vec<&'a str> {
    let endow = endow.to_str().expect("text");
    [&[endow, "run"], options, &["--", "sh", "-c", TRIES]].concat()
}

#[test]
fn container_without_namespaces_refuses_full_and_holds_landlock() {
    let (world, endow) = (world(), endow());
    let container = ["python3", "-c", CONTAINER];
    let control = inside(&world, &container, &["sh", "-c", TRIES]);
    assert_eq!(control.ok(), "content\ncanary\nnone\nmore\n");
    for full in [&["--workspace", "rw"][..], &["--workspace", "rw", "--require", "full"]] {
        let refused = inside(&world, &container, &run(&endow, full));
        let message = refused.fails(122);
        assert!(message.contains("refuses user namespaces") && message.contains("hint: "));
        assert_eq!(refused.stdout, "");
    }
    let held =
        inside(&world, &container, &run(&endow, &["--workspace", "rw", "--require", "landlock"]));
    assert_eq!(held.ok(), "content\nmore\nkept\nnone\nmore\n", "{held:?}");
    let doctor = inside(&world, &container, &[endow.to_str().expect("text"), "doctor"]);
    assert!(doctor.stdout.contains("`--require landlock` works"), "{doctor:?}");
}

#[test]
fn bubblewrap_around_holds_the_level() {
    let Some(bwrap) = debian_program("bwrap") else { return };
    let (world, endow) = (world(), endow());
    let bwrap = bwrap.to_str().expect("text");
    let view = [bwrap, "--dev-bind", "/", "/", "--unshare-user", "--unshare-pid"];
    for more in
        [&["--proc", "/proc"][..], &[], &["--unshare-net", "--unshare-ipc", "--unshare-uts"]]
    {
        let around = [&view, more].concat();
        let held = inside(&world, &around, &run(&endow, &["--workspace", "ro"]));
        // For root it covers parts of the one that it mounts.
        if more.contains(&"--proc") && rustix::process::getuid().is_root() {
            assert!(held.fails(122).contains("parts of /proc"), "{held:?}");
            continue;
        }
        assert_eq!(held.ok(), "content\nkept\nnone\ncontent\n", "{more:?}");
    }
    let around = [&view[..], &["--proc", "/proc", "--disable-userns"]].concat();
    let refused = inside(&world, &around, &run(&endow, &["--workspace", "ro"]));
    assert!(refused.fails(122).contains("refuses user namespaces"), "{refused:?}");
    let held =
        inside(&world, &around, &run(&endow, &["--workspace", "ro", "--require", "landlock"]));
    assert_eq!(held.ok(), "content\nkept\nnone\ncontent\n");
}

/// Without its covers a process file system would show what the outer sandbox hides: the kernel refuses
/// another one, and so does endow.
#[test]
fn covered_proc_of_a_container_is_no_full_level() {
    let (world, endow) = (world(), endow());
    let covered = "mount -t tmpfs none /proc/sys && exec \"$@\"";
    let around = ["unshare", "-Urmpf", "--mount-proc", "sh", "-c", covered, "sh"];
    let refused = inside(&world, &around, &run(&endow, &["--workspace", "ro"]));
    assert!(refused.fails(122).contains("/proc"), "{refused:?}");
    assert_eq!(refused.stdout, "");
    let held =
        inside(&world, &around, &run(&endow, &["--workspace", "ro", "--require", "landlock"]));
    assert_eq!(held.ok(), "content\nkept\nnone\ncontent\n");
}
