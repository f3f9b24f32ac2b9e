use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::fs::Errno;
use crate::testing::{Scratch, git, is_sweep};

fn names(tracked: &Tracked) -> Vec<String> {
    tracked.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

fn loaded(path: &Path) -> Tracked {
    let (tracked, warning) = load(path, &|_| true);
    assert_eq!(warning, None);
    tracked
}

fn fault(path: &Path) -> IndexFault {
    match load(path, &|_| true) {
        (tracked, Some(IndexWarning::Unusable { fault, .. })) if tracked.is_empty() => fault,
        other => panic!("a fault: {other:?}"),
    }
}

const FILES: [&str; 6] =
    ["a/b/long/.env", "a/b/long/.env.example", "a/b/x", "a-b", "key.pem", "new\nline"];

/// A repository in `r` that tracks `FILES` and not `untracked`.
fn planted(options: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    git(scratch.path(), &[&["init", "-q", "r"], options].concat());
    let root = scratch.path().join("r");
    fs::create_dir_all(root.join("a/b/long")).expect("mkdir");
    for file in FILES {
        fs::write(root.join(file), file).expect("write");
    }
    git(&root, &["add", "."]);
    fs::write(root.join("a/b/untracked"), "").expect("write");
    scratch
}

fn expected() -> Vec<String> {
    let mut names = FILES.map(String::from);
    names.sort();
    names.into()
}

#[test]
fn index_of_each_version_and_id_is_read() {
    for format in ["sha1", "sha256"] {
        let scratch = planted(&["--object-format", format]);
        let root = scratch.path().join("r");
        for version in ["2", "4", "2"] {
            git(&root, &["update-index", "--index-version", version]);
            assert_eq!(names(&loaded(&root)), expected(), "{format} {version}");
        }
        // A flag of the second pair makes it version 3.
        fs::write(root.join("z"), "").expect("write");
        git(&root, &["add", "-N", "z"]);
        assert_eq!(fs::read(root.join(".git/index")).expect("read")[7], 3);
        assert_eq!(loaded(&root).len(), FILES.len() + 1);
    }
}

#[test]
fn index_agrees_with_git_on_many_names() {
    let scratch = planted(&[]);
    let root = scratch.path().join("r");
    for number in 0..2000 {
        let dir = root.join(format!("d{}", number % 37));
        fs::create_dir_all(&dir).expect("mkdir");
        fs::write(dir.join(format!("{}-{number}", "n".repeat(number % 90))), "").expect("write");
    }
    for version in ["2", "4"] {
        git(&root, &["update-index", "--index-version", version]);
        git(&root, &["add", "."]);
        let listed = git(&root, &["ls-files", "-z"]);
        let listed: Vec<_> = listed.split_terminator('\0').map(String::from).collect();
        assert_eq!(names(&loaded(&root)), listed);
        assert!(listed.len() > 2000);
    }
}

#[test]
fn state_is_remembered_of_exactly_what_is_tracked() {
    let scratch = planted(&[]);
    let tracked = loaded(&scratch.path().join("r"));
    let has = |path: &str| tracked.remembered(path.as_bytes()).is_some();
    assert!(has("a/b/x") && has("key.pem"));
    assert!(!has("a"), "a file in place of a tracked directory is not tracked");
    assert!(!has("a/b/untracked") && !has("a/b/lon") && !has("z") && !has(""));
}

#[test]
fn what_is_not_wanted_is_left_out() {
    let scratch = planted(&[]);
    let root = scratch.path().join("r");
    let wanted = |name: &[u8]| name.starts_with(b"a/b/long/");
    let (some, warning) = load(&root, &wanted);
    assert_eq!((names(&some), warning), (expected()[1..3].to_vec(), None));
    let all = loaded(&root);
    assert_eq!(some.remembered(b"a/b/long/.env"), all.remembered(b"a/b/long/.env"));
    assert_eq!(some.remembered(b"key.pem"), None);
}

#[test]
fn shorter_index_than_it_was_is_damaged() {
    struct Shorter(Vec<u8>);
    impl window::Bytes for Shorter {
        fn length(&self) -> u64 {
            self.0.len() as u64 + 1
        }

        fn read_at(&self, place: u64, into: &mut [u8]) -> Result<usize, IndexFault> {
            (&self.0[..]).read_at(place, into)
        }
    }
    let scratch = planted(&[]);
    let bytes = fs::read(scratch.path().join("r/.git/index")).expect("read");
    assert!(tracked(&bytes).is_ok(), "the control");
    let shorter = parse::parse(&Shorter(bytes), &|_| true);
    assert_eq!(shorter, Err(IndexFault::Damaged));
}

#[test]
fn index_of_linked_worktree_submodule_and_link_is_found() {
    let scratch = planted(&[]);
    let root = scratch.path().join("r");
    git(&root, &["commit", "-qm", "all"]);
    git(&root, &["worktree", "add", "-q", "../linked"]);
    assert_eq!(names(&loaded(&scratch.path().join("linked"))), expected());
    git(scratch.path(), &["init", "-q", "super"]);
    let above = scratch.path().join("super");
    let args = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../r", "sub"];
    git(&above, &args);
    assert_eq!(names(&loaded(&above.join("sub"))), expected());
    let tracked = loaded(&above);
    assert!(tracked.remembered(b"sub").is_some());
    assert!(tracked.remembered(b"sub/key.pem").is_none());
    fs::create_dir(scratch.path().join("by-link")).expect("mkdir");
    symlink("../r/.git", scratch.path().join("by-link/.git")).expect("symlink");
    assert_eq!(names(&loaded(&scratch.path().join("by-link"))), expected());
}

#[test]
fn sparse_index_tracks_only_what_is_there() {
    let scratch = planted(&[]);
    let root = scratch.path().join("r");
    git(&root, &["commit", "-qm", "all"]);
    git(&root, &["sparse-checkout", "set", "--cone", "--sparse-index", "none"]);
    assert_eq!(names(&loaded(&root)), ["a-b", "key.pem", "new\nline"]);
}

#[test]
fn split_index_is_refused() {
    let scratch = planted(&[]);
    let root = scratch.path().join("r");
    git(&root, &["update-index", "--split-index"]);
    assert_eq!(fault(&root), IndexFault::Split);
    let warning = load(&root, &|_| true).1.expect("a warning").to_string();
    assert!(warning.starts_with("git index: split index: /"), "{warning}");
}

#[test]
fn no_repository_or_index_tracks_nothing() {
    let scratch = Scratch::new();
    assert!(loaded(scratch.path()).is_empty());
    git(scratch.path(), &["init", "-q", "."]);
    assert!(loaded(scratch.path()).is_empty());
}

#[test]
fn hostile_places_are_refused() {
    let scratch = Scratch::new();
    let git = scratch.path().join(".git");
    for text in ["", "gitdir: ", "gitdir: \0", "elsewhere", &"x".repeat(9000)] {
        fs::write(&git, text).expect("write");
        assert!(load(scratch.path(), &|_| true).1.is_some(), "{text}");
    }
    fs::remove_file(&git).expect("unlink");
    fs::create_dir(&git).expect("mkdir");
    let dir = scratch.dir();
    rustix::fs::mknodat(&dir, ".git/index", rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert_eq!(fault(scratch.path()), IndexFault::NotAFile);
    fs::remove_file(git.join("index")).expect("unlink");
    fs::create_dir(git.join("index")).expect("mkdir");
    assert_eq!(fault(scratch.path()), IndexFault::NotAFile);
    fs::remove_dir(git.join("index")).expect("rmdir");
    symlink("index", git.join("index")).expect("symlink");
    let warning = load(scratch.path(), &|_| true).1;
    assert!(matches!(warning, Some(IndexWarning::Unreadable { errno: Errno::LOOP, .. })));
    fs::remove_file(git.join("index")).expect("unlink");
    fs::File::create(git.join("index")).expect("create").set_len(1 << 40).expect("truncate");
    assert_eq!(fault(scratch.path()), IndexFault::TooLarge);
}

fn header(version: u32, count: u32) -> Vec<u8> {
    [&b"DIRC"[..], &version.to_be_bytes(), &count.to_be_bytes()].concat()
}

#[test]
fn unfolding_without_end_is_refused() {
    // Each entry of version 4 keeps the name before and adds to it.
    let mut bytes = header(4, 100);
    for _ in 0..100 {
        bytes.extend([0; 60]);
        bytes.extend([0, 0, 0]);
        bytes.extend([b'x'; 100]);
        bytes.push(0);
    }
    assert_eq!(tracked(&bytes), Err(IndexFault::Damaged));
    assert_eq!(tracked(&header(5, 0)), Err(IndexFault::Version(5)));
    assert_eq!(tracked(&header(2, u32::MAX)), Err(IndexFault::Damaged));
}

#[test]
fn unsorted_index_is_sorted() {
    let mut bytes = header(4, 3);
    for (removed, name) in [(0, "b"), (1, "a"), (1, "b")] {
        bytes.extend([0; 60]);
        bytes.extend([0, 0, removed]);
        bytes.extend(name.as_bytes());
        bytes.push(0);
    }
    bytes.extend([0; 20]);
    assert_eq!(names(&tracked(&bytes).expect("parsed")), ["a", "b"]);
}

#[test]
fn truncated_index_is_damaged_at_every_length() {
    let scratch = planted(&[]);
    let bytes = fs::read(scratch.path().join("r/.git/index")).expect("read");
    for length in 0..bytes.len() {
        assert!(tracked(&bytes[..length]).is_err(), "{length}");
    }
}

/// Returns what the index in `r` has of some files, as ids in hexadecimal.
fn ids(root: &Path, wanted: &[&str]) -> Vec<(String, String)> {
    let is_wanted = |name: &[u8]| wanted.iter().any(|wanted| wanted.as_bytes() == name);
    let git_dir = fs::File::open(root.join(".git")).expect("open");
    let found = blobs(git_dir.as_fd(), &is_wanted).expect("read");
    let hex = |id: [u8; 20]| id.map(|byte| format!("{byte:02x}")).concat();
    let one = |name: &[u8]| {
        let blob = found.remembered(name).expect("remembered");
        (String::from_utf8(name.to_vec()).expect("a text"), hex(blob.id))
    };
    found.iter().map(one).collect()
}

#[test]
fn ids_are_those_that_git_tells() {
    let scratch = planted(&[]);
    let root = scratch.path().join("r");
    symlink("a-b", root.join("link")).expect("symlink");
    fs::write(root.join("name-only"), "text").expect("write");
    git(&root, &["add", "link"]);
    git(&root, &["add", "-N", "name-only"]);
    let expected: Vec<(String, String)> = ["a-b", "a/b/x", "key.pem"]
        .map(|name| (name.to_owned(), git(&root, &["hash-object", name]).trim_end().to_owned()))
        .into();
    for version in ["3", "4"] {
        git(&root, &["update-index", "--index-version", version]);
        let wanted = ["key.pem", "a-b", "a/b/x", "a/b/untracked", "link", "name-only"];
        assert_eq!(ids(&root, &wanted), expected, "{version}");
    }
}

#[test]
fn conflict_has_no_id() {
    let scratch = planted(&[]);
    let root = scratch.path().join("r");
    git(&root, &["commit", "-qm", "base"]);
    git(&root, &["branch", "other"]);
    fs::write(root.join("a-b"), "one").expect("write");
    git(&root, &["commit", "-qam", "one"]);
    git(&root, &["checkout", "-q", "other"]);
    fs::write(root.join("a-b"), "two").expect("write");
    git(&root, &["commit", "-qam", "two"]);
    assert_eq!(ids(&root, &["a-b"]).len(), 1);
    git(&root, &["read-tree", "-m", "HEAD~1", "HEAD", "@{-1}"]);
    assert!(git(&root, &["ls-files", "-u"]).contains("a-b"), "the control");
    assert_eq!(ids(&root, &["a-b"]), []);
}

#[test]
fn ids_of_another_kind_and_links_are_not_read() {
    let scratch = planted(&["--object-format", "sha256"]);
    let git_dir = fs::File::open(scratch.path().join("r/.git")).expect("open");
    let wanted = |name: &[u8]| name == b"a-b";
    assert!(blobs(git_dir.as_fd(), &wanted).is_err());
    let scratch = planted(&[]);
    let git_dir = scratch.path().join("r/.git");
    fs::rename(git_dir.join("index"), git_dir.join("other")).expect("rename");
    symlink("other", git_dir.join("index")).expect("symlink");
    let git_dir = fs::File::open(git_dir).expect("open");
    assert!(blobs(git_dir.as_fd(), &wanted).is_err());
}

#[test]
fn state_is_before_a_moment_only_by_both_times() {
    let entry = |changed: [u32; 2], modified: [u32; 2]| {
        let numbers = [changed, modified, [0, 0], [0, 0], [0, 7]].concat();
        let bytes: Vec<u8> = numbers.into_iter().flat_map(u32::to_be_bytes).collect();
        Stamp::parse(&bytes).expect("a stamp")
    };
    let moment = crate::fs::Timespec { tv_sec: 10, tv_nsec: 5 };
    let rows = [
        ([9, 9], [8, 8], true),
        ([10, 4], [10, 4], true),
        ([10, 5], [8, 8], false),
        ([9, 9], [10, 5], false),
        ([9, 9], [11, 0], false),
        ([9, 0], [9, 0], true),
        ([10, 0], [9, 0], false),
        ([0, 0], [0, 0], false),
    ];
    for (changed, modified, expected) in rows {
        let stamp = entry(changed, modified);
        assert_eq!(stamp.is_before(moment), expected, "{changed:?} {modified:?}");
        assert_eq!(stamp.size(), 7);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_sweep() { 256 } else { 64 }))]

    #[test]
    fn window_shows_all_bytes_in_turn(
        bytes in proptest::collection::vec(any::<u8>(), 0..200_000),
        steps in proptest::collection::vec(1_usize..20_000, 1..400),
    ) {
        let (all, mut seen) = (&bytes[..], 0);
        let mut window = window::Window::new(&all);
        for step in steps {
            let shown = window.look().expect("read").to_vec();
            prop_assert_eq!(&shown[..], &bytes[seen..seen + shown.len()]);
            prop_assert!(shown.len() >= 8192 || seen + shown.len() == bytes.len());
            prop_assert_eq!(window.left(), (bytes.len() - seen) as u64);
            let is_there = seen + step <= bytes.len();
            prop_assert_eq!(window.skip(step as u64).is_ok(), is_there);
            seen += if is_there { step } else { 0 };
        }
    }

}

proptest! {
    #[test]
    fn any_bytes_are_survived(version in 2_u32..5, count in 0_u32..9, rest: Vec<u8>) {
        let mut bytes = header(version, count);
        bytes.extend(rest);
        drop(tracked(&bytes));
        drop(super::parse::parse_blobs(&&bytes[..], &|name| name.is_empty()));
    }
}
