use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::*;
use crate::fs::OsFs;
use crate::fs::faulty::{FaultyFs, each_fault};
use crate::testing::{Scratch, in_user_namespace, is_root};

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("chmod");
}

fn remove(scratch: &Scratch, name: &str) -> std::result::Result<(), RemoveError> {
    remove_tree(&OsFs, scratch.fd(), OsStr::new(name))
}

/// A tree with one of everything.
fn plant(scratch: &Scratch) {
    let root = scratch.path().join("t");
    fs::create_dir_all(root.join("a/b/c")).expect("mkdir");
    fs::create_dir(root.join("empty")).expect("mkdir");
    fs::write(root.join("a/b/file"), "x").expect("write");
    fs::write(scratch.path().join("outside"), "kept").expect("write");
    symlink("../outside", root.join("a/link")).expect("symlink");
    symlink("..", root.join("a/up")).expect("symlink");
    let dir = fs::File::open(&root).expect("open");
    OsFs.make_whiteout(dir.as_fd(), OsStr::new("whiteout")).expect("mknod");
    for odd in [&b"new\nline"[..], b"\xff\xfe", &[b'n'; 255], b"-rf", b"..."] {
        fs::write(root.join(OsStr::from_bytes(odd)), "").expect("write");
    }
}

fn close_dirs(scratch: &Scratch) {
    let root = scratch.path().join("t");
    mode(&root.join("a/b/c"), 0);
    mode(&root.join("a/b"), 0o500);
    mode(&root.join("a"), 0o000);
    mode(&root, 0o500);
}

#[test]
fn everything_goes_and_links_are_not_followed() {
    let scratch = Scratch::new();
    plant(&scratch);
    remove(&scratch, "t").expect("removed");
    assert!(!scratch.path().join("t").exists());
    assert!(scratch.path().join("outside").exists());
}

#[test]
fn closed_directories_are_opened() {
    let scratch = Scratch::new();
    plant(&scratch);
    close_dirs(&scratch);
    let list = fs::read_dir(scratch.path().join("t/a"));
    assert_eq!(list.is_ok(), is_root(), "only root may list a closed directory");
    remove(&scratch, "t").expect("removed");
    assert!(!scratch.path().join("t").exists());
}

#[test]
fn absent_file_and_link_are_fine() {
    let scratch = Scratch::new();
    remove(&scratch, "absent").expect("nothing to do");
    fs::write(scratch.path().join("file"), "").expect("write");
    symlink("file", scratch.path().join("link")).expect("symlink");
    remove(&scratch, "link").expect("removed");
    assert!(scratch.path().join("file").exists());
    remove(&scratch, "file").expect("removed");
    assert!(!scratch.path().join("file").exists());
}

#[test]
fn deep_tree_needs_few_descriptors() {
    let scratch = Scratch::new();
    let mut at = scratch.dir();
    for _ in 0..3000 {
        OsFs.make_dir(at.as_fd(), OsStr::new("d"), 0o700).expect("mkdir");
        at = OsFs.open_dir(at.as_fd(), OsStr::new("d")).expect("open");
    }
    remove(&scratch, "d").expect("removed");
    assert!(!scratch.path().join("d").exists());
}

#[test]
fn deep_tree_of_closed_directories_goes_too() {
    let scratch = Scratch::new();
    let mut at = scratch.dir();
    let mut dirs = Vec::new();
    for _ in 0..100 {
        OsFs.make_dir(at.as_fd(), OsStr::new("d"), 0o700).expect("mkdir");
        let below = OsFs.open_dir(at.as_fd(), OsStr::new("d")).expect("open");
        dirs.push(std::mem::replace(&mut at, below));
    }
    for dir in dirs.iter().skip(1).rev() {
        OsFs.set_mode(dir.as_fd(), 0).expect("chmod");
    }
    remove(&scratch, "d").expect("removed");
}

#[test]
fn wide_directory_is_taken_in_batches() {
    let scratch = Scratch::new();
    let root = scratch.path().join("t");
    fs::create_dir(&root).expect("mkdir");
    for number in 0..3 * BATCH {
        fs::write(root.join(number.to_string()), "").expect("write");
    }
    remove(&scratch, "t").expect("removed");
}

#[test]
fn creation_meanwhile_is_outlived() {
    let scratch = Scratch::new();
    let root = scratch.path().join("t");
    fs::create_dir(&root).expect("mkdir");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..5000 {
                let dir = root.join(format!("d{}", number % 7));
                drop(fs::create_dir_all(&dir));
                drop(fs::write(dir.join(number.to_string()), ""));
            }
        });
        while !writer.is_finished() {
            drop(remove(&scratch, "t"));
        }
    });
    remove(&scratch, "t").expect("removed");
    assert!(!root.exists());
}

#[test]
fn mount_below_is_left_alone() {
    // Runs once more, in a namespace where it may mount, and knows that by what is there.
    let here = Path::new(".");
    if here.join("outside/kept").exists() {
        let dir = fs::File::open(here).expect("open");
        let error = remove_tree(&OsFs, dir.as_fd(), OsStr::new("t")).expect_err("a mount stays");
        assert_eq!(error.path, Path::new("t/mount"));
        return;
    }
    let scratch = Scratch::new();
    let test = std::env::current_exe().expect("a path");
    let script = format!(
        "set -e; mkdir -p outside t/mount t/a/b; touch outside/kept t/file
        mount --bind outside t/mount
        {} --exact tree::remove::tests::mount_below_is_left_alone >/dev/null
        test -e outside/kept; ls -a t",
        test.display()
    );
    assert_eq!(in_user_namespace(scratch.path(), &script), ".\n..\nmount\n");
}

#[test]
fn fault_is_reported_and_the_rest_goes() {
    let scratch = Scratch::new();
    let mut reported = 0;
    let calls = each_fault(Errno::IO, |fs: &FaultyFs| {
        plant(&scratch);
        let result = remove_tree(fs, scratch.fd(), OsStr::new("t"));
        let is_gone = !scratch.path().join("t").exists();
        assert!(is_gone || result.is_err(), "a silent leftover");
        if let Err(error) = result {
            reported += 1;
            assert!(error.path.starts_with("t") && error.left > 0, "{error:?}");
        }
        remove(&scratch, "t").expect("the second try finishes");
    });
    assert!(calls > 20 && reported > 15, "{calls} calls, {reported} reports");
}
