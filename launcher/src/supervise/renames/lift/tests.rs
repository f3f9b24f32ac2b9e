use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use super::*;
use crate::apply::half_way;

/// A run's directory, and a tree beside it with a directory to move.
fn world() -> (tempfile::TempDir, [OwnedFd; 2], PathBuf) {
    let root = tempfile::tempdir().expect("a directory");
    let tree = root.path().join("tree");
    fs::create_dir_all(tree.join("old/sub")).expect("directories");
    fs::write(tree.join("old/sub/file"), "x").expect("written");
    fs::create_dir(root.path().join("run")).expect("a directory");
    let open = |name: &str| fs::File::open(root.path().join(name)).expect("opened").into();
    let opened = ["run", "tree"].map(open);
    (root, opened, tree)
}

fn lifted(opened: &[OwnedFd; 2]) -> Result<(), Errno> {
    let [run, tree] = opened;
    let note = HalfWay::new(run.as_fd(), Path::new("/view/old"));
    lift(tree.as_fd(), OsStr::new("old"), Some(&note))
}

#[test]
fn directory_that_was_moved_leaves_no_note() {
    let (_root, opened, tree) = world();
    assert_eq!(lifted(&opened), Ok(()));
    assert_eq!(fs::read_to_string(tree.join("old/sub/file")).expect("there"), "x");
    assert_eq!(half_way(opened[0].as_fd()), None);
}

#[test]
fn directory_that_stays_leaves_no_note() {
    let (_root, opened, tree) = world();
    fs::write(tree.join(NEW), "the command's own").expect("written");
    assert_eq!(lifted(&opened), Err(Errno::EXIST));
    assert!(tree.join("old/sub/file").exists());
    assert_eq!(half_way(opened[0].as_fd()), None);
}

#[test]
fn nothing_is_moved_while_something_is_half_way() {
    let (_root, opened, tree) = world();
    let note = HalfWay::new(opened[0].as_fd(), Path::new("/view/other"));
    note.begin().expect("noted");
    assert_eq!(lifted(&opened), Err(Errno::EXIST));
    assert!(tree.join("old/sub/file").exists());
    assert_eq!(half_way(opened[0].as_fd()), Some(PathBuf::from("/view/other")));
}

#[test]
fn directory_that_could_not_be_emptied_gets_its_mode_back() {
    let (_root, opened, tree) = world();
    let mode = |path: &str| fs::metadata(tree.join(path)).expect("there").mode() & 0o7777;
    fs::set_permissions(tree.join("old/sub"), Permissions::from_mode(0o555)).expect("chmod");
    fs::create_dir_all(tree.join("new/sub")).expect("directories");
    fs::write(tree.join("new/sub/file"), "in the way").expect("written");
    let [old, new] = ["old", "new"].map(|name| open(opened[1].as_fd(), OsStr::new(name)));
    let (old, new) = (old.expect("opened"), new.expect("opened"));
    assert_eq!(pour(&old, &new), Err(Errno::EXIST));
    assert_eq!(mode("new/sub"), 0o555);
    fs::set_permissions(tree.join("new/sub"), Permissions::from_mode(0o755)).expect("chmod");
    fs::remove_file(tree.join("new/sub/file")).expect("removed");
    fs::set_permissions(tree.join("new/sub"), Permissions::from_mode(0o555)).expect("chmod");
    assert_eq!(pour(&new, &old), Ok(()));
    assert_eq!(mode("old/sub"), 0o555);
    assert!(tree.join("old/sub/file").exists());
}

/// More than a buffer of the kernel's has, in directories of several levels.
#[test]
fn every_one_of_many_names_is_moved() {
    let (_root, opened, tree) = world();
    for n in 0..1000 {
        fs::write(tree.join(format!("old/sub/{n:0200}")), "").expect("written");
        fs::create_dir(tree.join(format!("old/{n:0200}"))).expect("a directory");
    }
    assert_eq!(lifted(&opened), Ok(()));
    let count = |name: &str| fs::read_dir(tree.join(name)).expect("there").count();
    assert_eq!((count("old"), count("old/sub")), (1001, 1001));
    assert_eq!(fs::read_dir(&tree).expect("there").count(), 1);
}

/// Not more than the names of one buffer, however many there are: with a list of all of them it would be
/// some five megabytes.
#[test]
fn names_are_not_held_in_memory() {
    let (_root, opened, tree) = world();
    for n in 0..20_000 {
        fs::write(tree.join(format!("old/sub/{n:0200}")), "").expect("written");
    }
    let Some(pid) = crate::sys::clone::fork().expect("a process") else {
        let before = own_memory();
        let moved = lifted(&opened).is_ok();
        let grown = own_memory().saturating_sub(before);
        crate::sys::clone::exit_now(i32::from(!moved || grown > 2048));
    };
    let ended = crate::sys::wait::until_ended(pid).expect("ended").expect("ended");
    assert_eq!(ended.status, 0);
}

/// The memory of its own that this process has, in KiB; the heap gives little of it back.
fn own_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("read");
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:")).expect("a line");
    line.trim().trim_end_matches(" kB").trim().parse().expect("a number")
}
