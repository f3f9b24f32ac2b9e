use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::fs::faulty::{FaultyFs, each_fault};
use crate::fs::{Errno, Fs, OsFs};
use crate::testing::{Scratch, in_user_namespace, is_root};
use crate::tree::remove_tree;

fn plan(hidden: &[&str], points: &[(&str, PointKind)]) -> MaskPlan {
    let points = points.iter().map(|(path, kind)| (Path::new(*path), *kind));
    MaskPlan::new(hidden.iter().map(Path::new), points).expect("a plan")
}

fn check(hidden: &[&str], points: &[(&str, PointKind)], expected: &[&str]) {
    let plan = plan(hidden, points);
    let text = plan.steps().iter().map(|step| match step {
        MaskStep::Directory(path) => format!("{}/", path.display()),
        MaskStep::Opaque(path) => format!("{}/ opaque", path.display()),
        MaskStep::Point(path, PointKind::Directory) => format!("{}/ point", path.display()),
        MaskStep::Point(path, PointKind::File) => format!("{} point", path.display()),
        MaskStep::Whiteout(path) => format!("{} out", path.display()),
    });
    assert_eq!(text.collect::<Vec<_>>(), expected);
}

const DIR: PointKind = PointKind::Directory;
const FILE: PointKind = PointKind::File;

#[test]
fn plan_has_the_way_to_each_name() {
    check(&[], &[], &[]);
    check(&["a/b/x", ".env", "a/y"], &[], &[".env out", "a/", "a/b/", "a/b/x out", "a/y out"]);
    check(&[], &[("a/b", DIR), ("f", FILE)], &["a/", "a/b/ point", "f point"]);
    check(&[], &[("a", DIR), ("a/b", DIR)], &["a/ point", "a/b/ point"]);
}

#[test]
fn plan_hides_what_is_below_a_hidden_name_with_it() {
    check(&["a", "a/b", "a/b/c"], &[], &["a out"]);
}

#[test]
fn plan_of_a_mount_point_in_a_hidden_directory_is_opaque() {
    check(&["a", "a/x"], &[("a/b/c", DIR)], &["a/ opaque", "a/b/", "a/b/c/ point"]);
    check(&["a"], &[("a", DIR)], &["a/ opaque"]);
    check(&["a"], &[("a", FILE)], &["a point"]);
    check(&["a/b"], &[("a", DIR)], &["a/ point", "a/b out"]);
}

#[test]
fn plan_refuses_paths_elsewhere() {
    for path in ["", "/a", "../a", "a/../b", "a\0b"] {
        let result = MaskPlan::new([Path::new(path)], []);
        assert_eq!(result, Err(MaskError::NotBelow { path: path.into() }), "{path:?}");
    }
    let points = [(Path::new("f"), FILE), (Path::new("f/x"), DIR)];
    let error = MaskPlan::new([], points).expect_err("refused");
    assert_eq!(error, MaskError::BelowFile { path: "f/x".into() });
}

/// A scratch with a `real` directory that has secrets.
fn planted() -> Scratch {
    let scratch = Scratch::new();
    let real = scratch.path().join("real");
    fs::create_dir_all(real.join("a/deep")).expect("mkdir");
    fs::create_dir_all(real.join("keys/sub")).expect("mkdir");
    for file in ["a/secret", "a/seen", "a/deep/secret", "keys/sub/key", "seen"] {
        fs::write(real.join(file), file).expect("write");
    }
    symlink("a", real.join("link")).expect("symlink");
    let old = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
    fs::File::open(real.join("a")).expect("open").set_times(old).expect("utimens");
    mode(&real.join("a/deep"), 0o711);
    mode(&real.join("a"), 0o2750);
    mode(&real, 0o500);
    scratch
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("chmod");
}

fn make(scratch: &Scratch, plan: &MaskPlan) -> Result<(), MaskApplyError> {
    make_with(&OsFs, scratch, plan)
}

fn make_with(fs: &dyn Fs, scratch: &Scratch, plan: &MaskPlan) -> Result<(), MaskApplyError> {
    let real = OsFs.open_handle(scratch.fd(), OsStr::new("real")).expect("open");
    apply(fs, plan, std::os::fd::AsFd::as_fd(&real), scratch.fd(), OsStr::new("mask"))
}

fn remove(scratch: &Scratch) {
    remove_tree(&OsFs, scratch.fd(), OsStr::new("mask")).expect("removable");
    assert!(!scratch.path().join("mask").exists());
}

#[test]
fn mask_copies_mode_and_times_and_has_whiteouts() {
    let scratch = planted();
    make(&scratch, &plan(&["a/secret", "a/deep/secret", "keys"], &[])).expect("made");
    let status = |path: &str| {
        let path = scratch.path().join(path);
        let metadata = fs::symlink_metadata(path).expect("there");
        (metadata.mode(), metadata.mtime(), metadata.mtime_nsec())
    };
    for dir in ["", "a", "a/deep"] {
        assert_eq!(status(&format!("mask/{dir}")), status(&format!("real/{dir}")), "{dir}");
    }
    mode(&scratch.path().join("mask"), 0o700);
    for name in ["a/secret", "a/deep/secret", "keys"] {
        let path = scratch.path().join("mask").join(name);
        let metadata = fs::symlink_metadata(path).expect("there");
        assert!(metadata.file_type().is_char_device() && metadata.rdev() == 0, "{name}");
    }
    mode(&scratch.path().join("mask"), 0o500);
    remove(&scratch);
}

#[test]
fn mask_of_odd_names() {
    let scratch = planted();
    let odd = [&[b'n'; 255][..], b"\xff\xfe", b"new\nline", b"-x", b"..."];
    let plan = MaskPlan::new(odd.iter().map(|name| Path::new(OsStr::from_bytes(name))), []);
    make(&scratch, &plan.expect("a plan")).expect("made");
    for name in odd {
        let path = scratch.path().join("mask").join(OsStr::from_bytes(name));
        assert!(fs::symlink_metadata(path).expect("there").file_type().is_char_device());
    }
    remove(&scratch);
}

#[test]
fn mask_through_a_link_or_file_is_refused() {
    let scratch = planted();
    for path in ["link/x", "seen/x"] {
        let error = make(&scratch, &plan(&[path], &[])).expect_err("refused");
        assert_eq!(error.errno, Errno::NOTDIR, "{path}");
        assert!(!scratch.path().join("mask").exists());
    }
}

#[test]
fn mask_below_an_unlisted_directory_needs_only_search() {
    let scratch = planted();
    mode(&scratch.path().join("real/a"), 0o300);
    make(&scratch, &plan(&["a/secret"], &[])).expect("made");
    remove(&scratch);
    mode(&scratch.path().join("real/a"), 0o600);
    let result = make(&scratch, &plan(&["a/deep/secret"], &[]));
    if is_root() {
        result.expect("root searches everything");
        remove(&scratch);
    } else {
        assert_eq!(result.expect_err("refused").errno, Errno::ACCESS);
        assert!(!scratch.path().join("mask").exists());
    }
}

#[test]
fn mask_leaves_what_was_there_before() {
    let scratch = planted();
    fs::create_dir(scratch.path().join("mask")).expect("mkdir");
    fs::write(scratch.path().join("mask/kept"), "").expect("write");
    let error = make(&scratch, &plan(&["seen"], &[])).expect_err("refused");
    assert_eq!(error.errno, Errno::EXIST);
    assert!(scratch.path().join("mask/kept").exists());
}

#[test]
fn mask_fault_is_reported_and_nothing_is_left() {
    let scratch = planted();
    let plan = plan(&["a/secret", "a/deep/secret", "keys"], &[("keys/m", DIR), ("n/f", FILE)]);
    let mut failures = 0;
    let calls = each_fault(Errno::NOSPC, |fs: &FaultyFs| {
        let result = make_with(fs, &scratch, &plan);
        failures += usize::from(result.is_err());
        assert_eq!(scratch.path().join("mask").exists(), result.is_ok(), "{result:?}");
        remove(&scratch);
    });
    assert_eq!(failures, calls, "no fault is swallowed");
}

#[test]
fn overlay_hides_also_what_the_host_replaces() {
    let scratch = planted();
    let points = [("keys/mount", DIR), ("new/mount", DIR), ("new/file", FILE)];
    make(&scratch, &plan(&["a/secret", "a/deep/secret", "keys"], &points)).expect("made");
    let script = "set -e; mkdir view
        mount -t overlay -o userxattr,lowerdir=mask:real overlay view
        test ! -e view/a/secret; test ! -e view/a/deep/secret
        test \"$(ls view)\" = 'a
keys
link
new
seen'
        test \"$(ls view/keys)\" = mount; test -d view/keys/mount
        test -d view/new/mount; test -f view/new/file
        test \"$(cat view/a/seen)\" = a/seen
        echo new > real/a/.tmp; mv real/a/.tmp real/a/secret
        test ! -e view/a/secret; test \"$(ls view/a)\" = 'deep
seen'
        test \"$(stat -c %a%Y view/a)\" = \"$(stat -c %a%Y mask/a)\"
        ! touch view/x 2>/dev/null
        echo hidden";
    assert_eq!(in_user_namespace(scratch.path(), script), "hidden\n");
    remove(&scratch);
}

fn some_paths() -> impl Strategy<Value = std::collections::BTreeSet<String>> {
    let name = prop::sample::select(vec!["a", "b", "c"]);
    let path = prop::collection::vec(name, 1..5).prop_map(|names| names.join("/"));
    prop::collection::btree_set(path, 0..8)
}

proptest! {
    #[test]
    fn plan_hides_all_and_makes_all(hidden in some_paths(), points in some_paths()) {
        let all = points.iter().map(|path| (Path::new(path), DIR));
        let plan = MaskPlan::new(hidden.iter().map(Path::new), all).expect("a plan");
        let steps = plan.steps();
        for (index, step) in steps.iter().enumerate() {
            let above = step.path().parent().expect("below the root");
            let is_made = |earlier: &MaskStep| {
                earlier.path() == above && !matches!(earlier, MaskStep::Whiteout(_))
            };
            prop_assert!(above.as_os_str().is_empty() || steps[..index].iter().any(is_made));
            prop_assert!(steps[..index].iter().all(|earlier| earlier.path() != step.path()));
        }
        for path in &points {
            let stands = |step: &MaskStep| {
                step.path() == Path::new(path)
                    && matches!(step, MaskStep::Point(..) | MaskStep::Opaque(_))
            };
            prop_assert!(steps.iter().any(stands), "{path}");
        }
        for path in hidden.iter().map(Path::new) {
            let covers = |step: &MaskStep| match step {
                MaskStep::Whiteout(above) | MaskStep::Opaque(above) => path.starts_with(above),
                _ => false,
            };
            prop_assert!(steps.iter().any(covers), "{}", path.display());
        }
    }
}
