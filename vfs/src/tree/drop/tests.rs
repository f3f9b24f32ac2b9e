use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;
use crate::fs::OsFs;
use crate::testing::Scratch;

const CLOSED: [(&str, u32); 3] = [("closed/in", 0o000), ("closed", 0o300), ("read", 0o555)];

/// A layer with closed directories, and what it stands on.
fn planted() -> (Scratch, Scratch) {
    let (upper, host) = (Scratch::new(), Scratch::new());
    for root in [upper.path(), host.path()] {
        for dir in ["closed/in", "read", "again"] {
            fs::create_dir_all(root.join(dir)).expect("mkdir");
        }
        for file in ["closed/in/a", "closed/in/b", "read/a", "again/old", "again/a"] {
            fs::write(root.join(file), "x").expect("write");
        }
    }
    fs::remove_file(host.path().join("again/a")).expect("removed");
    let again = fs::File::open(upper.path().join("again")).expect("open");
    OsFs.make_opaque(again.as_fd()).expect("an attribute");
    OsFs.make_whiteout(upper.fd(), OsStr::new("gone")).expect("mknod");
    for (name, bits) in CLOSED {
        fs::set_permissions(upper.path().join(name), Permissions::from_mode(bits)).expect("chmod");
    }
    (upper, host)
}

fn drop_all((upper, host): &(Scratch, Scratch), paths: &[&str]) -> Result<(), DropError> {
    let paths: Vec<&Path> = paths.iter().map(Path::new).collect();
    drop_paths(&OsFs, (upper.fd(), host.fd()), &paths)
}

#[test]
fn closed_directories_are_opened_meanwhile() {
    let sides = planted();
    let root = sides.0.path();
    let before = fs::metadata(root.join("read")).expect("stat").modified().expect("a time");
    drop_all(&sides, &["closed/in/a", "read/a", "again/a", "gone"]).expect("dropped");
    let after = fs::metadata(root.join("read")).expect("stat").modified().expect("a time");
    assert_eq!(before, after, "no trace");
    assert!(!root.join("read/a").exists() && !root.join("again/a").exists());
    assert!(root.join("gone").symlink_metadata().is_err());
    for (name, bits) in CLOSED.into_iter().rev() {
        let path = root.join(name);
        assert_eq!(fs::metadata(&path).expect("stat").mode() & 0o777, bits, "{name}");
        fs::set_permissions(path, Permissions::from_mode(0o700)).expect("chmod");
    }
    assert!(!root.join("closed/in/a").exists() && root.join("closed/in/b").exists());
}

#[test]
fn nothing_goes_where_one_is_part_of_more() {
    for part in ["again/old", "gone/in"] {
        let sides = planted();
        let dropped = drop_all(&sides, &["read/a", part]);
        assert!(
            matches!(&dropped, Err(DropError::Part(path)) if path == Path::new(part)),
            "{part}"
        );
        assert!(sides.0.path().join("read/a").exists(), "{part}");
    }
}

#[test]
fn what_goes_with_a_directory_is_no_error() {
    let sides = planted();
    drop_all(&sides, &["read/a", "gone", "read", "read"]).expect("dropped");
    assert!(!sides.0.path().join("read").exists());
    let all: Vec<&Path> = ["b", "a-c", "a/b", "a", "a/b/c"].map(Path::new).to_vec();
    assert_eq!(outermost(&all), ["a", "a-c", "b"].map(Path::new));
    assert_eq!(outermost(&[Path::new("a"), Path::new("")]), [Path::new("")]);
}
