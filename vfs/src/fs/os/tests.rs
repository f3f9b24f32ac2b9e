use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};

use super::*;
use crate::testing::Scratch;

/// A scratch with a directory, a file, and a link to each.
fn planted() -> Scratch {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path().join("dir")).expect("mkdir");
    fs::write(scratch.path().join("file"), "content").expect("write");
    symlink("dir", scratch.path().join("to-dir")).expect("symlink");
    symlink("file", scratch.path().join("to-file")).expect("symlink");
    scratch
}

fn name(name: &str) -> &OsStr {
    OsStr::new(name)
}

#[test]
fn opens_follow_no_link() {
    let scratch = planted();
    let at = scratch.fd();
    let refused = |result: Result<OwnedFd>| result.expect_err("refused");
    OsFs.open_dir(at, name("dir")).expect("opened");
    OsFs.open_dir_here(at, name("dir")).expect("opened");
    OsFs.open_handle(at, name("dir")).expect("opened");
    OsFs.open_file(at, name("file")).expect("opened");
    let link = name("to-dir");
    assert!(matches!(refused(OsFs.open_dir(at, link)), Errno::LOOP | Errno::NOTDIR));
    assert!(matches!(refused(OsFs.open_dir_here(at, link)), Errno::LOOP | Errno::NOTDIR));
    assert!(matches!(refused(OsFs.open_handle(at, link)), Errno::LOOP | Errno::NOTDIR));
    assert_eq!(refused(OsFs.open_file(at, name("to-file"))), Errno::LOOP);
    assert_eq!(refused(OsFs.create_file(at, name("to-file"))), Errno::EXIST);
    assert_eq!(refused(OsFs.open_dir(at, name("file"))), Errno::NOTDIR);
    let through = scratch.path().join("to-dir");
    assert_eq!(refused(OsFs.open_canonical(&through)), Errno::LOOP);
    OsFs.open_canonical(&scratch.path().join("dir")).expect("opened");
}

#[test]
fn mode_of_a_link_s_target_is_left_alone() {
    let scratch = planted();
    let mode = || fs::metadata(scratch.path().join("dir")).expect("there").mode() & 0o7777;
    let before = mode();
    OsFs.set_dir_mode(scratch.fd(), name("to-dir"), 0o711).expect_err("refused");
    assert_eq!(mode(), before);
    OsFs.set_dir_mode(scratch.fd(), name("dir"), 0o711).expect("set");
    assert_eq!(mode(), 0o711);
}

#[test]
fn times_of_a_link_are_its_own() {
    let scratch = planted();
    let mut status = OsFs.status(scratch.fd(), name("file")).expect("a status");
    let before = status.modified;
    status.modified = Timespec { tv_sec: 1_000_000_000, tv_nsec: 123_456_789 };
    OsFs.set_times_at(scratch.fd(), name("to-file"), &status).expect("set");
    let link = OsFs.status(scratch.fd(), name("to-file")).expect("a status");
    assert_eq!((link.kind, link.modified), (Kind::Symlink, status.modified));
    let file = OsFs.status(scratch.fd(), name("file")).expect("a status");
    assert_eq!((file.kind, file.modified, file.size), (Kind::File, before, 7));
}

#[test]
fn whiteout_is_the_device_0_0() {
    let scratch = planted();
    OsFs.make_whiteout(scratch.fd(), name("gone")).expect("made");
    let metadata = fs::symlink_metadata(scratch.path().join("gone")).expect("there");
    assert!(metadata.file_type().is_char_device());
    assert_eq!(metadata.rdev(), 0);
    assert_eq!(OsFs.status(scratch.fd(), name("gone")).expect("a status").kind, Kind::Other);
}

#[test]
fn list_begins_anew_and_stops_at_the_limit() {
    let scratch = planted();
    let dir = OsFs.open_dir(scratch.fd(), name(".")).expect("opened");
    for _ in 0..2 {
        let mut entries = OsFs.list(dir.as_fd(), 100).expect("listed");
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let names: Vec<_> = entries.iter().filter_map(|entry| entry.name.to_str()).collect();
        assert_eq!(names, ["dir", "file", "to-dir", "to-file"]);
        let kinds: Vec<_> = entries.iter().filter_map(|entry| entry.kind).collect();
        assert_eq!(kinds, [Kind::Directory, Kind::File, Kind::Symlink, Kind::Symlink]);
    }
    assert_eq!(OsFs.list(dir.as_fd(), 3).expect("listed").len(), 3);
}

#[test]
fn created_file_is_closed_to_others() {
    let scratch = planted();
    let file = OsFs.create_file(scratch.fd(), name("new")).expect("created");
    assert_eq!(OsFs.write(file.as_fd(), b"text").expect("written"), 4);
    let status = OsFs.status_of(file.as_fd()).expect("a status");
    assert_eq!((status.mode & 0o077, status.size), (0, 4));
    OsFs.rename(scratch.fd(), name("new"), name("file")).expect("renamed");
    assert_eq!(fs::read(scratch.path().join("file")).expect("read"), b"text");
}
