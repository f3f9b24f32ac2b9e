//! Paths that change while a sandbox is made: the host side swaps a directory and a link.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::harness::World;

/// Swaps two names for as long as `work` runs.
fn while_swapping<T>(one: &Path, two: &Path, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE).expect("swapped");
            }
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        done
    })
}

/// A directory with a public file, and a link to one with a secret of the same name.
fn directory_and_link(world: &World) -> (PathBuf, PathBuf) {
    let real = world.write("home/project/real/file", "public\n");
    world.write("outside/file", "canary\n");
    let link = world.project().join("link");
    std::os::unix::fs::symlink(world.root().join("outside"), &link).expect("a link");
    (real.parent().expect("a directory").to_owned(), link)
}

/// How often sandboxes start while names are swapped.
const STARTS: usize = 100;

/// endow's own directories can't be granted, whatever a name leads to at which moment: a start
/// either shows the directory that was there or is refused.
#[test]
fn escape_by_swapping_a_source_during_the_start() {
    let world = World::new();
    let real = world.write("home/project/real/file", "public\n");
    world.write("state/file", "canary\n");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(world.state(), private).expect("a mode");
    let link = world.project().join("link");
    std::os::unix::fs::symlink(world.state(), &link).expect("a link");
    let real = real.parent().expect("a directory").to_owned();
    let grant = format!("/granted={}", real.display());
    let options = ["--workspace", "none", "--chdir", "/", "--ro", &grant];
    let said = while_swapping(&real, &link, || {
        let start = |_| world.run(&options, "cat /granted/file");
        (0..STARTS).map(start).collect::<Vec<_>>()
    });
    let (shown, refused): (Vec<_>, Vec<_>) = said.into_iter().partition(|said| said.code == 0);
    assert!(refused.iter().all(|said| said.code == 125), "{refused:?}");
    assert!(shown.iter().all(|said| said.stdout == "public\n"), "{shown:?}");
    assert!(!shown.is_empty() && !refused.is_empty(), "nothing was swapped");
}

/// A mount point in a live grant is swapped with a link: the mount must never land outside.
#[test]
fn escape_by_swapping_a_mount_point_during_the_start() {
    let world = World::new();
    let (real, link) = directory_and_link(&world);
    world.write("inner/file", "inner\n");
    let inner = world.root().join("inner");
    let grant = format!("{}={}", real.display(), inner.display());
    let options = ["--workspace", "rw", "--rw", &grant];
    let write = format!("echo changed > {}/file", real.display());
    while_swapping(&real, &link, || {
        for _ in 0..STARTS {
            world.run(&options, &write);
        }
    });
    let canary = fs::read_to_string(world.root().join("outside/file")).expect("the canary");
    assert_eq!(canary, "canary\n");
}
