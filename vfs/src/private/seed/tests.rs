use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;
use crate::fs::OsFs;
use crate::fs::faulty::{FaultyFs, each_fault};
use crate::testing::{Scratch, is_root};
use crate::tree::remove_tree;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("chmod");
}

/// A scratch with a `from` tree and an empty `to`.
fn planted() -> Scratch {
    let scratch = Scratch::new();
    let from = scratch.path().join("from");
    fs::create_dir_all(from.join("sub/closed")).expect("mkdir");
    fs::create_dir(scratch.path().join("to")).expect("mkdir");
    fs::write(from.join("file"), "content").expect("write");
    fs::write(from.join("sub").join(OsStr::from_bytes(b"odd\n\xff")), "").expect("write");
    fs::write(from.join("sub/closed/inner"), "x".repeat(200_000)).expect("write");
    symlink("../file", from.join("sub/link")).expect("symlink");
    mode(&from.join("file"), 0o4640);
    mode(&from.join("sub/closed"), 0o555);
    let old = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
    let file = fs::File::open(from.join("file")).expect("open");
    file.set_times(old).expect("utimens");
    scratch
}

fn one(scratch: &Scratch, source: &str, to: &str) -> Vec<Seed> {
    vec![Seed { source: scratch.path().join(source), to: to.into() }]
}

fn to(scratch: &Scratch) -> OwnedFd {
    OsFs.open_dir(scratch.fd(), OsStr::new("to")).expect("open")
}

fn run(scratch: &Scratch, seeds: &[Seed], limits: SeedLimits) -> Result<Seeded> {
    seed(&OsFs, to(scratch).as_fd(), seeds, limits)
}

fn run_one(scratch: &Scratch, source: &str, to: &str) -> Seeded {
    run(scratch, &one(scratch, source, to), SeedLimits::default()).expect("seeded")
}

#[test]
fn file_keeps_bytes_time_and_bits_but_not_setuid() {
    let scratch = planted();
    let seeded = run_one(&scratch, "from/file", ".config/tool/file");
    assert_eq!(seeded, Seeded { entries: 1, bytes: 7, skipped: vec![] });
    let copy = scratch.path().join("to/.config/tool/file");
    let metadata = fs::metadata(&copy).expect("there");
    assert_eq!(fs::read(&copy).expect("read"), b"content");
    assert_eq!((metadata.mode() & 0o7777, metadata.mtime()), (0o640, 0));
    let above = fs::metadata(scratch.path().join("to/.config")).expect("there");
    assert_eq!(above.mode() & 0o7777, 0o700);
}

#[test]
fn directory_is_copied_whole() {
    let scratch = planted();
    let seeded = run_one(&scratch, "from", "copy");
    assert_eq!((seeded.entries, seeded.bytes), (7, 200_007));
    let copy = scratch.path().join("to/copy");
    assert_eq!(fs::read_link(copy.join("sub/link")).expect("a link"), Path::new("../file"));
    assert_eq!(fs::metadata(copy.join("sub/closed")).expect("there").mode() & 0o7777, 0o555);
    assert_eq!(fs::read(copy.join("sub/closed/inner")).expect("read").len(), 200_000);
    assert!(copy.join("sub").join(OsStr::from_bytes(b"odd\n\xff")).exists());
    let time = |path: &Path| fs::metadata(path).expect("there").modified().expect("a time");
    assert_eq!(time(&copy.join("sub")), time(&scratch.path().join("from/sub")));
}

#[test]
fn missing_and_special_are_noted() {
    let scratch = planted();
    let fifo = scratch.path().join("from/fifo");
    let dir = scratch.dir();
    rustix::fs::mknodat(&dir, "from/fifo", rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scratch.path().join("from/s")).unwrap();
    let noted = |source: &str| {
        let seeded = run_one(&scratch, source, "x");
        assert_eq!(seeded.entries, 0);
        seeded.skipped.into_iter().map(|skipped| skipped.reason).collect::<Vec<_>>()
    };
    assert_eq!(noted("from/fifo"), [SkipReason::Special]);
    assert_eq!(noted("from/none"), [SkipReason::Missing]);
    assert_eq!(noted("none/none"), [SkipReason::Missing]);
    assert_eq!(noted("from/file/none"), [SkipReason::Missing]);
    let seeded = run_one(&scratch, "from", "all");
    assert_eq!(seeded.skipped.len(), 2);
    assert!(seeded.skipped.contains(&Skipped { path: fifo, reason: SkipReason::Special }));
}

#[test]
fn unreadable_is_noted_for_an_ordinary_user() {
    let scratch = planted();
    mode(&scratch.path().join("from/file"), 0);
    let seeded = run_one(&scratch, "from/file", "x");
    if is_root() {
        assert_eq!(seeded.entries, 1, "root reads everything");
    } else {
        assert_eq!(seeded.skipped[0].reason, SkipReason::Unreadable);
    }
}

#[test]
fn link_above_a_source_is_refused_and_a_last_one_is_copied() {
    let scratch = planted();
    symlink("from", scratch.path().join("way")).expect("symlink");
    let seeds = one(&scratch, "way/file", "x");
    let error = run(&scratch, &seeds, SeedLimits::default()).expect_err("refused");
    assert!(matches!(error, SeedError::Io { errno: Errno::LOOP, .. }), "{error:?}");
    run_one(&scratch, "way", "x");
    assert!(scratch.path().join("to/x").is_symlink());
}

#[test]
fn place_outside_or_taken_is_refused() {
    let scratch = planted();
    for place in ["", "/etc/x", "../x", "a/../../x"] {
        let seeds = one(&scratch, "from/file", place);
        let error = run(&scratch, &seeds, SeedLimits::default()).expect_err("refused");
        assert!(matches!(error, SeedError::NoPlace { .. }), "{place}: {error:?}");
    }
    symlink("/", scratch.path().join("to/out")).expect("symlink");
    let seeds = one(&scratch, "from/file", "out/x");
    run(&scratch, &seeds, SeedLimits::default()).expect_err("a link is no way");
    run_one(&scratch, "from/file", "twice");
    let seeds = one(&scratch, "from/file", "twice");
    run(&scratch, &seeds, SeedLimits::default()).expect_err("it is there");
}

#[test]
fn limits_are_named() {
    let scratch = planted();
    let seeds = one(&scratch, "from", "x");
    let error = run(&scratch, &seeds, SeedLimits { entries: 6, bytes: 1 << 30 });
    assert!(error.expect_err("refused").to_string().starts_with("more than 6 files to seed: /"));
    let error =
        run(&scratch, &one(&scratch, "from", "y"), SeedLimits { entries: 7, bytes: 200_006 });
    let error = error.expect_err("refused").to_string();
    assert!(error.starts_with("more than 200006 bytes to seed: /"), "{error}");
    let limits = SeedLimits { entries: 7, bytes: 200_007 };
    run(&scratch, &one(&scratch, "from", "z"), limits).expect("just enough");
}

#[test]
fn depth_is_bounded() {
    let scratch = planted();
    let deep: PathBuf = std::iter::repeat_n("d", DEPTH + 1).collect();
    fs::create_dir_all(scratch.path().join("from").join(deep)).expect("mkdir");
    let error = run(&scratch, &one(&scratch, "from", "x"), SeedLimits::default());
    assert!(matches!(error, Err(SeedError::TooDeep { .. })));
}

#[test]
fn fault_is_reported_and_the_rest_can_be_removed() {
    let scratch = planted();
    let mut failures = 0;
    let calls = each_fault(Errno::NOSPC, |fs: &FaultyFs| {
        let to = to(&scratch);
        let seeds = one(&scratch, "from", "a/copy");
        let result = seed(fs, to.as_fd(), &seeds, SeedLimits::default());
        failures += usize::from(result.is_err());
        remove_tree(&OsFs, to.as_fd(), OsStr::new("a")).expect("removable");
    });
    assert_eq!(failures, calls, "no fault is swallowed");
}
