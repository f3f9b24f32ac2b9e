use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::PathBuf;

use super::*;
use crate::fs::OsFs;
use crate::testing::{Scratch, is_root};

fn measure(scratch: &Scratch) -> Measure {
    measure_tree(&OsFs, scratch.fd(), OsStr::new("tree")).expect("measured")
}

#[test]
fn nothing_is_nothing() {
    assert_eq!(measure(&Scratch::new()), Measure::default());
}

#[test]
fn blocks_count_and_holes_do_not() {
    let scratch = Scratch::new();
    let tree = scratch.path().join("tree");
    fs::create_dir_all(tree.join("a")).expect("mkdir");
    let before = measure(&scratch);
    assert_eq!((before.entries, before.closed), (2, 0));
    let sparse = File::create(tree.join("a/sparse")).expect("create");
    sparse.write_all_at(b"x", 1 << 40).expect("write");
    fs::write(tree.join("full"), vec![b'x'; 1 << 20]).expect("write");
    fs::hard_link(tree.join("full"), tree.join("a/again")).expect("link");
    symlink("/", tree.join("root")).expect("symlink");
    let after = measure(&scratch);
    assert_eq!(after.entries, 6);
    let grown = after.bytes - before.bytes;
    assert!((1 << 20..3 << 20).contains(&grown), "{grown}");
}

#[test]
fn deep_tree_is_measured_whole() {
    let scratch = Scratch::new();
    let mut dir = scratch.dir();
    OsFs.make_dir(dir.as_fd(), OsStr::new("tree"), 0o700).expect("mkdir");
    dir = OsFs.open_dir(dir.as_fd(), OsStr::new("tree")).expect("open");
    for _ in 0..3000 {
        for name in ["d", "e"] {
            OsFs.make_dir(dir.as_fd(), OsStr::new(name), 0o700).expect("mkdir");
        }
        dir = OsFs.open_dir(dir.as_fd(), OsStr::new("d")).expect("open");
    }
    assert_eq!(measure(&scratch).entries, 6001);
}

#[test]
fn closed_directory_is_left_closed_and_told() {
    let scratch = Scratch::new();
    let closed: PathBuf = scratch.path().join("tree/closed");
    fs::create_dir_all(closed.join("x")).expect("mkdir");
    fs::set_permissions(&closed, Permissions::from_mode(0o000)).expect("chmod");
    let found = measure(&scratch);
    let expected = if is_root() { (3, 0) } else { (2, 1) };
    assert_eq!((found.entries, found.closed), expected);
    assert_eq!(fs::metadata(&closed).expect("there").permissions().mode() & 0o777, 0);
}

#[test]
fn directory_that_may_only_be_listed_is_told() {
    let scratch = Scratch::new();
    let closed: PathBuf = scratch.path().join("tree/closed");
    fs::create_dir_all(&closed).expect("mkdir");
    fs::write(closed.join("x"), "x").expect("write");
    fs::set_permissions(&closed, Permissions::from_mode(0o400)).expect("chmod");
    let found = measure(&scratch);
    let expected = if is_root() { (3, 0) } else { (2, 1) };
    assert_eq!((found.entries, found.closed), expected);
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).expect("chmod");
}
