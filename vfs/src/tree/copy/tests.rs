use std::collections::{BTreeMap, HashMap};
use std::fs::{self, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use super::*;
use crate::fs::OsFs;
use crate::fs::faulty::{FaultyFs, Lack, each_fault};
use crate::testing::Scratch;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("chmod");
}

fn copy(fs: &dyn Fs, from: &Scratch, to: &Scratch) -> std::result::Result<(), CopyError> {
    let (one, other) = (OsStr::new("upper"), OsStr::new("new"));
    let to = At { dir: to.fd(), name: other };
    let stripped = copy_layer(fs, At { dir: from.fd(), name: one }, to)?;
    assert_eq!(stripped, [""; 0].map(PathBuf::from));
    Ok(())
}

fn set(path: &Path, name: &str, value: &[u8]) {
    rustix::fs::lsetxattr(path, name, value, rustix::fs::XattrFlags::empty()).expect("setxattr");
}

/// An upper layer with one of everything that a command, and overlayfs, may leave in it.
fn plant(scratch: &Scratch) {
    let root = scratch.path().join("upper");
    fs::create_dir_all(root.join("a/b/c")).expect("mkdir");
    fs::create_dir(root.join("sticky")).expect("mkdir");
    fs::write(root.join("a/b/file"), "content").expect("write");
    fs::write(scratch.path().join("outside"), "kept").expect("write");
    for (target, name) in [("../outside", "a/link"), ("/nowhere", "dangling"), ("..", "a/up")] {
        symlink(target, root.join(name)).expect("symlink");
    }
    let mut holes = fs::File::create(root.join("holes")).expect("create");
    holes.set_len(1 << 20).expect("truncate");
    holes.seek(SeekFrom::Start(512 << 10)).expect("seek");
    holes.write_all(b"in between").expect("write");
    fs::write(root.join("linked"), "one inode").expect("write");
    fs::hard_link(root.join("linked"), root.join("a/b/linked")).expect("link");
    fs::hard_link(root.join("linked"), root.join("a/b/c/linked")).expect("link");
    fs::hard_link(root.join("dangling"), root.join("a/b/dangling")).expect("link");
    for odd in [&b"new\nline"[..], b"\xff\xfe", &[b'n'; 255], b"-rf", b"..."] {
        fs::write(root.join(OsStr::from_bytes(odd)), "").expect("write");
    }
    let dir = fs::File::open(&root).expect("open");
    let here = |name| At { dir: dir.as_fd(), name: OsStr::new(name) };
    for (name, special) in
        [("gone", Special::Whiteout), ("pipe", Special::Fifo), ("socket", Special::Socket)]
    {
        OsFs.make_special(here(name), special).expect("mknod");
    }
    fs::hard_link(root.join("gone"), root.join("a/gone")).expect("link");
    set(&root, "user.overlay.impure", b"y");
    set(&root.join("a/b"), "user.overlay.opaque", b"y");
    set(&root.join("a/b/file"), "user.overlay.origin", b"");
    set(&root.join("a/b/file"), "user.own", b"value\0with zero");
}

/// Odd bits and times, at last: what is below can't be reached afterwards.
fn close(scratch: &Scratch) {
    let root = scratch.path().join("upper");
    set(&root.join("linked"), "user.shared", b"x");
    for (name, bits) in [
        ("a/b/file", 0),
        ("linked", 0o4711),
        ("pipe", 0o200),
        ("a/b/c", 0),
        ("a/b", 0o500),
        ("a", 0o2070),
        ("sticky", 0o1777),
        ("", 0o311),
    ] {
        mode(&root.join(name), bits);
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Found {
    mode: u32,
    modified: (i64, i64),
    kind: &'static str,
    content: u64,
    attributes: Vec<(OsString, Vec<u8>)>,
    blocks: u64,
    /// The first of its names.
    first: String,
}

/// Everything below a directory, closed ones included.
fn snapshot(root: &Path) -> BTreeMap<String, Found> {
    let (mut found, mut firsts) = (BTreeMap::new(), HashMap::new());
    let mut pending = vec![root.to_owned()];
    let mut closed = Vec::new();
    while let Some(path) = pending.pop() {
        let status = fs::symlink_metadata(&path).expect("stat");
        let name = path.strip_prefix(root).expect("below").to_string_lossy().into_owned();
        if !status.is_symlink() {
            closed.push((path.clone(), status.mode()));
            mode(&path, status.mode() | 0o700);
        }
        if status.is_dir() {
            let mut below: Vec<_> =
                fs::read_dir(&path).expect("list").map(|it| it.expect("entry").path()).collect();
            below.sort();
            pending.extend(below.into_iter().rev());
        }
        let special = status.file_type();
        let shared = status.nlink() > 1 && !status.is_dir() && !special.is_char_device();
        let first = if shared { status.ino() } else { 0 };
        let first = firsts.entry(first).or_insert_with(|| name.clone()).clone();
        found.insert(
            name,
            Found {
                mode: if special.is_char_device() { 0 } else { status.mode() },
                modified: if special.is_char_device() {
                    (0, 0)
                } else {
                    (status.mtime(), status.mtime_nsec())
                },
                kind: if special.is_char_device() { "whiteout" } else { "other" },
                content: content(&path, &status),
                attributes: attributes(&path),
                blocks: if status.is_file() { status.blocks() } else { 0 },
                first,
            },
        );
    }
    for (path, bits) in closed.into_iter().rev() {
        mode(&path, bits);
    }
    found
}

/// Returns what tells contents apart, and is short enough to be printed.
fn content(path: &Path, status: &fs::Metadata) -> u64 {
    let mut hasher = DefaultHasher::new();
    if status.is_symlink() {
        fs::read_link(path).expect("readlink").hash(&mut hasher);
    } else if status.is_file() {
        fs::read(path).expect("read").hash(&mut hasher);
    }
    hasher.finish()
}

fn attributes(path: &Path) -> Vec<(OsString, Vec<u8>)> {
    let above = fs::File::open(path.parent().expect("a parent")).expect("open");
    let name = path.file_name().expect("a name");
    OsFs.attributes(At { dir: above.as_fd(), name }).expect("attributes")
}

#[test]
fn copy_is_exact_and_leaves_the_layer_as_it_was() {
    let (from, to) = (Scratch::new(), Scratch::new());
    plant(&from);
    close(&from);
    let before = snapshot(&from.path().join("upper"));
    copy(&OsFs, &from, &to).expect("copied");
    assert_eq!(snapshot(&from.path().join("upper")), before);
    assert_eq!(snapshot(&to.path().join("new")), before);
    let left: Vec<_> = fs::read_dir(to.path()).expect("list").collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn copy_from_memory_to_another_file_system() {
    let to = Scratch::new();
    let from = to.elsewhere();
    plant(&from);
    close(&from);
    copy(&OsFs, &from, &to).expect("copied");
    let without_blocks = |root: &Path| {
        let mut found = snapshot(root);
        let holes = found["holes"].blocks;
        assert!(holes * 512 < 256 << 10, "holes are filled: {holes}");
        for it in found.values_mut() {
            it.blocks = 0;
        }
        found
    };
    let before = without_blocks(&from.path().join("upper"));
    assert_eq!(without_blocks(&to.path().join("new")), before);
}

#[test]
fn deep_tree_of_closed_directories_needs_few_descriptors() {
    const DEPTH: usize = 3000;
    let (from, to) = (Scratch::new(), Scratch::new());
    let mut at = from.dir();
    let mut made = Vec::new();
    for depth in 0..DEPTH {
        let name = OsStr::new(if depth == 0 { "upper" } else { "d" });
        OsFs.make_dir(at.as_fd(), name, 0o700).expect("mkdir");
        let below = OsFs.open_dir(at.as_fd(), name).expect("open");
        made.push((at, below.try_clone().expect("a descriptor")));
        if made.len() > 64 {
            // The way down stays open to its owner; only the last ones are closed.
            made.remove(0);
        }
        at = below;
    }
    drop(OsFs.create_file(at.as_fd(), OsStr::new("bottom")).expect("create"));
    for (_, dir) in made.iter().rev() {
        OsFs.set_mode(dir.as_fd(), 0o100).expect("chmod");
    }
    drop(made);
    copy(&OsFs, &from, &to).expect("copied");
    let mut at = OsFs.open_dir(to.fd(), OsStr::new("new")).expect("open");
    for _ in 1..DEPTH {
        if OsFs.status_of(at.as_fd()).expect("stat").mode == 0o100 {
            OsFs.set_mode(at.as_fd(), 0o700).expect("chmod");
        }
        let status = OsFs.status(at.as_fd(), OsStr::new("d")).expect("stat");
        if status.mode == 0o100 {
            OsFs.set_dir_mode(at.as_fd(), OsStr::new("d"), 0o700).expect("chmod");
        }
        at = OsFs.open_dir(at.as_fd(), OsStr::new("d")).expect("open");
    }
    OsFs.status(at.as_fd(), OsStr::new("bottom")).expect("the file at the bottom");
}

#[test]
fn fault_leaves_nothing_and_the_layer_whole() {
    let (from, to) = (Scratch::new(), Scratch::new());
    plant(&from);
    close(&from);
    let before = snapshot(&from.path().join("upper"));
    let calls = each_fault(Errno::IO, |fs: &FaultyFs| {
        let result = copy(fs, &from, &to);
        if result.is_ok() {
            assert_eq!(snapshot(&to.path().join("new")), before);
            remove_tree(&OsFs, to.fd(), OsStr::new("new")).expect("removed");
        }
        let left = fs::read_dir(to.path()).expect("list").count();
        assert_eq!(left, 0, "something of a copy that failed is left: {result:?}");
        // What opens a closed directory again may be what fails.
        reopen(&from);
        close(&from);
        assert_eq!(snapshot(&from.path().join("upper")), before, "the layer is another");
    });
    assert!(calls > 150, "{calls}");
}

fn reopen(scratch: &Scratch) {
    for name in ["", "a", "a/b", "a/b/c", "a/b/file"] {
        mode(&scratch.path().join("upper").join(name), 0o700);
    }
}

#[test]
fn attributes_that_the_copy_can_not_keep_are_left_out_and_named() {
    let (from, to) = (Scratch::new(), Scratch::new());
    let root = from.path().join("upper");
    fs::create_dir_all(root.join("d")).expect("mkdir");
    for (name, attribute) in [("d/f", "user.large"), ("d", "user.large"), ("g", "user.small")] {
        if name != "d" {
            fs::write(root.join(name), name).expect("written");
        }
        set(&root.join(name), attribute, b"v");
    }
    let faulty = FaultyFs::lacking(Lack::Attribute, Errno::NOSPC);
    let upper = At { dir: from.fd(), name: OsStr::new("upper") };
    let copy = |name| At { dir: to.fd(), name: OsStr::new(name) };
    let mut stripped = copy_layer(&faulty, upper, copy("new")).expect("copied");
    stripped.sort();
    assert_eq!(stripped, ["d", "d/f"].map(PathBuf::from));
    assert_eq!(fs::read_to_string(to.path().join("new/d/f")).expect("there"), "d/f");
    let kept = OsFs.attributes(At { dir: to.fd(), name: OsStr::new("new/g") }).expect("read");
    assert_eq!(kept, [("user.small".into(), b"v".to_vec())]);
    let all = copy_tree(&faulty, upper, copy("all")).expect_err("not all");
    assert_eq!(all.errno, Errno::TOOBIG);
}
