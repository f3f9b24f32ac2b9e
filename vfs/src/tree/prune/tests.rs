use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};

use super::*;
use crate::fs::OsFs;
use crate::fs::faulty::{FaultyFs, each_fault};
use crate::testing::Scratch;

fn needed(paths: &[&str], hiding: &[(&str, &[&str])]) -> Needed {
    let names = |names: &[&str]| names.iter().map(OsString::from).collect();
    Needed {
        paths: paths.iter().map(PathBuf::from).collect(),
        hiding: hiding.iter().map(|(dir, them)| (PathBuf::from(dir), names(them))).collect(),
    }
}

fn plant(scratch: &Scratch) {
    let root = scratch.path();
    for dir in ["applied/deep", "some/closed", "some/more", "opaque/in", "attributes"] {
        fs::create_dir_all(root.join(dir)).expect("mkdir");
    }
    for file in [
        "file",
        "applied/deep/file",
        "some/closed/stays",
        "some/closed/goes",
        "some/stays",
        "some/goes",
        "some/more/goes",
        "some2",
        "opaque/goes",
        "opaque/in/goes",
        "attributes/goes",
    ] {
        fs::write(root.join(file), "x").expect("write");
    }
    let dir = fs::File::open(root).expect("open");
    let opaque = OsFs.open_dir(dir.as_fd(), OsStr::new("opaque")).expect("open");
    OsFs.make_opaque(opaque.as_fd()).expect("an attribute");
    OsFs.make_whiteout(dir.as_fd(), OsStr::new("gone")).expect("mknod");
    OsFs.make_whiteout(dir.as_fd(), OsStr::new("waits")).expect("mknod");
    fs::set_permissions(root.join("some/closed"), Permissions::from_mode(0o000)).expect("chmod");
    fs::set_permissions(root.join("some"), Permissions::from_mode(0o500)).expect("chmod");
}

fn waiting() -> Needed {
    let paths =
        ["some/closed/stays", "some/stays", "waits", "opaque/held", "opaque/in/held", "attributes"];
    let hiding: [(&str, &[&str]); 3] =
        [("opaque", &["held"]), ("opaque/in", &["held"]), ("attributes", &[])];
    needed(&paths, &hiding)
}

/// Names with bits, closed directories included.
fn names(scratch: &Scratch) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![scratch.path().to_owned()];
    while let Some(dir) = pending.pop() {
        let mode = fs::metadata(&dir).expect("stat").mode();
        fs::set_permissions(&dir, Permissions::from_mode(0o700)).expect("chmod");
        for entry in fs::read_dir(&dir).expect("list") {
            let path = entry.expect("an entry").path();
            let status = fs::symlink_metadata(&path).expect("stat");
            let name = path.strip_prefix(scratch.path()).expect("below").display().to_string();
            let is_gone = status.file_type().is_char_device();
            let bits = if status.is_dir() { status.mode() & 0o777 } else { 0 };
            found.push(format!("{name} {bits:o}{}", if is_gone { " gone" } else { "" }));
            pending.extend(status.is_dir().then_some(path));
        }
        fs::set_permissions(&dir, Permissions::from_mode(mode)).expect("chmod");
    }
    found.sort();
    found
}

fn is_opaque(scratch: &Scratch) -> bool {
    let at = At { dir: scratch.fd(), name: OsStr::new("opaque") };
    OsFs.attributes(at).expect("attributes").iter().any(|(name, _)| name == OPAQUE)
}

const LEFT: [&str; 10] = [
    "attributes 755",
    "opaque 755",
    "opaque/held 0 gone",
    "opaque/in 755",
    "opaque/in/held 0 gone",
    "some 500",
    "some/closed 0",
    "some/closed/stays 0",
    "some/stays 0",
    "waits 0 gone",
];

fn clear(scratch: &Scratch) {
    for entry in OsFs.list(scratch.fd(), usize::MAX).expect("list") {
        remove_tree(&OsFs, scratch.fd(), &entry.name).expect("removed");
    }
}

#[test]
fn only_what_is_needed_stays() {
    let scratch = Scratch::new();
    plant(&scratch);
    let time = |name: &str| {
        fs::metadata(scratch.path().join(name)).expect("stat").modified().expect("a time")
    };
    let before = [time(""), time("some")];
    for _ in 0..2 {
        prune_layer(&OsFs, scratch.fd(), &waiting()).expect("pruned");
        assert_eq!(names(&scratch), LEFT);
        assert!(!is_opaque(&scratch));
        assert_eq!([time(""), time("some")], before);
    }
    prune_layer(&OsFs, scratch.fd(), &Needed::default()).expect("pruned");
    assert!(names(&scratch).is_empty());
}

#[test]
fn mark_of_a_directory_that_hides_nothing_stays() {
    let scratch = Scratch::new();
    plant(&scratch);
    prune_layer(&OsFs, scratch.fd(), &needed(&["opaque"], &[])).expect("pruned");
    assert_eq!(names(&scratch), ["opaque 755"]);
    assert!(is_opaque(&scratch));
}

#[test]
fn deep_tree_needs_few_descriptors() {
    let scratch = Scratch::new();
    let (mut at, mut path) = (scratch.dir(), PathBuf::new());
    for _ in 0..3000 {
        OsFs.make_dir(at.as_fd(), OsStr::new("d"), 0o700).expect("mkdir");
        at = OsFs.open_dir(at.as_fd(), OsStr::new("d")).expect("open");
        path.push("d");
    }
    for name in ["stays", "goes"] {
        OsFs.create_file(at.as_fd(), OsStr::new(name)).expect("create");
    }
    let needed = Needed { paths: [path.join("stays")].into(), ..Needed::default() };
    prune_layer(&OsFs, scratch.fd(), &needed).expect("pruned");
    let left = OsFs.list(at.as_fd(), 9).expect("list");
    assert_eq!(left.len(), 1);
}

#[test]
fn fault_leaves_all_that_is_needed() {
    let scratch = Scratch::new();
    let calls = each_fault(Errno::IO, |fs: &FaultyFs| {
        plant(&scratch);
        let result = prune_layer(fs, scratch.fd(), &waiting());
        let is_there = |name: &str| scratch.path().join(name).symlink_metadata().is_ok();
        let hides =
            is_opaque(&scratch) || ["opaque/held", "opaque/in/held"].map(is_there) == [true; 2];
        assert!(hides, "a name that waits shows through: {result:?}");
        let shows =
            !is_opaque(&scratch) || ["opaque/goes", "opaque/in/goes"].map(is_there) == [true; 2];
        assert!(shows, "a name that was written back looks removed: {result:?}");
        let _ = prune_layer(&OsFs, scratch.fd(), &waiting());
        let left: Vec<String> = names(&scratch);
        let without_bits = |name: &str| name.split(' ').next().unwrap_or_default().to_owned();
        let left: Vec<String> = left.iter().map(|name| without_bits(name)).collect();
        assert_eq!(left, LEFT.map(without_bits));
        clear(&scratch);
    });
    assert!(calls > 50, "{calls}");
}

#[test]
fn killed_at_any_call_and_done_again() {
    let scratch = Scratch::new();
    for call in 0..10_000 {
        plant(&scratch);
        let fs = FaultyFs::killed(call);
        let _ = prune_layer(&fs, scratch.fd(), &waiting());
        prune_layer(&OsFs, scratch.fd(), &waiting()).expect("pruned");
        assert!(!is_opaque(&scratch));
        clear(&scratch);
        if fs.calls() <= call {
            return;
        }
    }
}
