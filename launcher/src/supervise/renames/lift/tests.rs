use std::fs;
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
