use std::collections::HashSet;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::*;
use crate::cas::{Digest, Store, put_tree};
use crate::fs::{Errno, OsFs};

struct Place {
    dir: tempfile::TempDir,
    memory: OwnedFd,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["root", "memory"] {
            fs::create_dir(dir.path().join(name)).expect("made");
        }
        let memory = fs::File::open(dir.path().join("memory")).expect("opened").into();
        Self { dir, memory }
    }

    fn root(&self) -> std::path::PathBuf {
        self.dir.path().join("root")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("above")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// Makes everything older than the grain of any file system's clock.
    fn age(&self) {
        // No call sets the time of the last change, so only waiting helps.
        let newest = |path: &Path| {
            use std::os::unix::fs::MetadataExt;
            fs::symlink_metadata(path).map_or(0, |it| it.ctime().max(it.mtime()))
        };
        let mut open = vec![self.root()];
        let mut last = 0;
        while let Some(path) = open.pop() {
            last = last.max(newest(&path));
            open.extend(fs::read_dir(&path).into_iter().flatten().map(|it| it.expect("it").path()));
        }
        let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("now");
        while i64::try_from(now().as_secs()).expect("fits") <= last + 2 {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn walk_some(&self, takes: &(dyn Fn(&str) -> bool + Sync)) -> Result<Found, InputError> {
        let root = fs::File::open(self.root()).expect("opened");
        walk(&Inputs {
            fs: &OsFs,
            root: root.as_fd(),
            memory: Some(self.memory.as_fd()),
            enters: &|_| true,
            takes,
            bounds: Bounds::default(),
        })
    }

    fn identity(&self, memory: Option<std::os::fd::BorrowedFd<'_>>) -> [u8; 32] {
        identity(&OsFs, &self.root(), memory).expect("looked").hash
    }

    fn walk(&self) -> Found {
        self.walk_some(&|_| true).expect("walked")
    }
}

#[test]
fn tree_is_the_one_that_the_store_would_have() {
    let place = Place::new();
    for (path, text) in [("a.c", "a"), ("src/b.c", "b"), ("src/deep/er/c.h", ""), ("src.c", "s")] {
        place.write(path, text);
    }
    symlink("a.c", place.root().join("link")).expect("a link");
    let script = place.root().join("src/b.c");
    fs::set_permissions(script, fs::Permissions::from_mode(0o744)).expect("executable");
    let found = place.walk();
    assert_eq!((found.tree.count(), found.hashed), (5, 4));
    let store = Store::open(&OsFs, &place.dir.path().join("store")).expect("a store");
    let root = fs::File::open(place.root()).expect("opened");
    let publishing = store.publish().expect("publishing");
    let put = put_tree(&OsFs, &publishing, root.as_fd(), Bounds::default()).expect("put");
    assert_eq!(found.tree.digest(), Ok(put.root));
}

#[test]
fn unchanged_file_is_read_once() {
    let place = Place::new();
    place.write("a", "one");
    place.write("b/c", "two");
    assert_eq!(place.walk().hashed, 2);
    // What is as young as the clock is coarse may change without a trace.
    assert_eq!(place.walk().hashed, 2);
    place.age();
    let aged = place.walk();
    assert_eq!(aged.hashed, 2);
    let again = place.walk();
    assert_eq!(again.hashed, 0);
    assert_eq!((&again.tree, again.tree.digest()), (&aged.tree, aged.tree.digest()));
    place.write("a", "six");
    let changed = place.walk();
    assert_eq!(changed.hashed, 1);
    let expected = Leaf::File { digest: Digest::of(b"six"), executable: false };
    assert_eq!(changed.tree.leaf("a"), Some(&expected));
}

/// Digests of directories that are remembered are those of what is there, whatever happens between two walks.
#[test]
fn remembered_directories_are_what_is_there() {
    let place = Place::new();
    for path in ["top", "a/1", "a/2", "a/3", "b/1", "b/deep/1", "c/1", "d/1", "e/1", "e/2"] {
        place.write(path, path);
    }
    symlink("1", place.root().join("c/link")).expect("a link");
    let at = |path: &str| place.root().join(path);
    let mode = |path: &str, mode| fs::set_permissions(at(path), fs::Permissions::from_mode(mode));
    let leaf = |path: &str| fs::remove_file(at(path));
    // Each in directories of its own.
    let changes: [&dyn Fn() -> std::io::Result<()>; 3] = [
        &|| Ok(()),
        &|| {
            leaf("a/2")?;
            leaf("b/deep/1")?;
            mode("d/1", 0o755)?;
            symlink("1", at("e/link"))
        },
        &|| {
            fs::rename(at("a/3"), at("a/2"))?;
            fs::create_dir(at("d/deep"))?;
            fs::write(at("d/deep/1"), "")?;
            leaf("c/link")?;
            fs::rename(at("e"), at("f"))
        },
    ];
    // What has no memory says what is right, and so does what takes less of the same.
    let walk = |memory: Option<std::os::fd::BorrowedFd<'_>>,
                takes: &(dyn Fn(&str) -> bool + Sync)| {
        let root = fs::File::open(place.root()).expect("opened");
        let (fs, root, bounds) = (&OsFs, root.as_fd(), Bounds::default());
        walk(&Inputs { fs, root, memory, enters: &|_| true, takes, bounds }).expect("walked")
    };
    for (number, change) in changes.iter().enumerate() {
        place.age();
        place.walk();
        change().expect("changed");
        for takes in [&|_: &str| true, &|path: &str| !path.ends_with('1')]
            as [&(dyn Fn(&str) -> bool + Sync); 2]
        {
            let memory = Some(place.memory.as_fd());
            let (found, right) = (walk(memory, takes).tree, walk(None, takes).tree);
            assert_eq!(found, right, "{number}");
            let digests = |tree: &Folder| -> Vec<_> {
                tree.all().into_iter().map(|(path, it)| (path, it.digest())).collect()
            };
            assert_eq!(digests(&found), digests(&right), "{number}");
        }
    }
}

#[test]
fn directory_whose_files_vanish_meanwhile_is_none() {
    let place = Place::new();
    for path in ["a/1", "a/2", "b/1"] {
        place.write(path, path);
    }
    let found = place.walk_some(&|path| {
        if path.starts_with("a/") {
            fs::remove_file(place.root().join(path)).expect("removed");
        }
        true
    });
    assert_eq!(found.expect("walked").tree, folder(&[("b/1", "b/1")]));
}

#[test]
fn selection_of_a_tree_is_the_tree_of_what_is_selected() {
    let all = folder(&[("a", "1"), ("b/x", "2"), ("b/y", "3"), ("c/d/x", "4"), ("c/e/y", "5")]);
    let below = |below: &str, has_all: &dyn Fn(&str) -> bool, takes: &dyn Fn(&str) -> bool| {
        all.select(&Selection { below, has_all, takes })
    };
    let select =
        |has_all: &dyn Fn(&str) -> bool, takes: &dyn Fn(&str) -> bool| below("", has_all, takes);
    let with_x = select(&|_| false, &|path| path.ends_with('x'));
    assert_eq!(with_x, folder(&[("b/x", "2"), ("c/d/x", "4")]));
    let whole = select(&|path| path == "b", &|path| path == "a");
    assert_eq!(whole, folder(&[("a", "1"), ("b/x", "2"), ("b/y", "3")]));
    assert!(std::ptr::eq(whole.folder("b").expect("b"), all.folder("b").expect("b")));
    assert!(Arc::ptr_eq(&select(&|_| true, &|_| false), &all));
    assert_eq!(select(&|_| false, &|_| false), Arc::default());
    let some = |path: &str| below(path, &|_| false, &|path| path.ends_with('x'));
    assert_eq!(some("c"), folder(&[("c/d/x", "4")]));
    assert_eq!(some("b/x"), folder(&[("b/x", "2")]));
    for nothing in ["b/y", "c/e", "c/f", "z", "a/b"] {
        assert_eq!(some(nothing), Arc::default(), "{nothing}");
    }
    let whole = below("c", &|path| path == "c", &|_| false);
    assert!(std::ptr::eq(whole.folder("c").expect("c"), all.folder("c").expect("c")));
}

#[test]
fn leaf_is_replaced_in_its_place() {
    let all = folder(&[("a", "1"), ("b/c/x", "2"), ("b/y", "3")]);
    all.digest().expect("known before");
    let with = all.with("b/c/x", leaf("4"));
    let expected = folder(&[("a", "1"), ("b/c/x", "4"), ("b/y", "3")]);
    assert_eq!((&with, with.digest()), (&expected, expected.digest()));
    assert_eq!(all.with("b/z", leaf("4")), all);
    assert_eq!(with.leaf("b/c/x"), Some(&leaf("4")));
    assert_eq!((with.leaf("b/c"), with.leaf("b/c/x/z"), with.leaf("z")), (None, None, None));
}

/// As an editor does that writes twice in one tick, and as a tool that puts times back.
#[test]
fn edit_of_the_same_size_is_never_missed() {
    let place = Place::new();
    place.write("a", "0000");
    place.age();
    place.walk();
    assert_eq!(place.walk().hashed, 0);
    let before = fs::metadata(place.root().join("a")).expect("its times").modified().expect("it");
    for number in 1..200 {
        let text = format!("{number:04}");
        place.write("a", &text);
        let file = fs::File::options().write(true).open(place.root().join("a")).expect("opened");
        file.set_modified(before).expect("put back");
        let found = place.walk();
        let expected = Leaf::File { digest: Digest::of(text.as_bytes()), executable: false };
        assert_eq!(found.tree.leaf("a"), Some(&expected));
    }
}

#[test]
fn damaged_memory_is_no_memory() {
    let place = Place::new();
    place.write("a", "one");
    place.age();
    let right = place.walk().tree;
    assert_eq!(place.walk().hashed, 0);
    let memory = fs::read_dir(place.dir.path().join("memory")).expect("listed");
    let memory = memory.last().expect("a file").expect("a file").path();
    let whole = fs::read(&memory).expect("read");
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        fs::write(&memory, damaged).expect("written");
        assert_eq!(place.walk().tree, right, "{at}");
    }
    fs::write(&memory, &whole[..whole.len() / 2]).expect("cut off");
    let found = place.walk();
    assert_eq!((found.hashed, found.tree), (1, right));
}

#[test]
fn what_no_tree_can_hold_is_told_when_it_counts() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    place.write("a", "");
    let odd = std::ffi::OsStr::from_bytes(b"odd-\xff");
    fs::write(place.root().join(odd), "").expect("written");
    let found = place.walk();
    assert_eq!(found.tree.count(), 1, "the others are found");
    let error = found.whole().expect_err("not UTF-8");
    assert!(matches!(error, InputError::Text { .. }), "{error}");
    let some = place.walk_some(&|path| path == "a").and_then(Found::whole);
    some.expect("it does not count");
    fs::remove_file(place.root().join(odd)).expect("removed");
    let _socket = std::os::unix::net::UnixListener::bind(place.root().join("s")).expect("bound");
    let found = place.walk();
    assert!(
        matches!(found.faults.as_slice(), [InputError::Kind { path }] if path == Path::new("s"))
    );
}

fn leaf(text: &str) -> Leaf {
    Leaf::File { digest: Digest::of(text.as_bytes()), executable: false }
}

fn folder(leaves: &[(&str, &str)]) -> Arc<Folder> {
    let leaves: Vec<(&str, Leaf)> = leaves.iter().map(|(path, text)| (*path, leaf(text))).collect();
    Folder::new(leaves.iter().map(|(path, leaf)| (*path, leaf))).expect("a tree")
}

#[test]
fn union_is_the_tree_of_all() {
    let one = folder(&[("a", "1"), ("d/x", "2"), ("shared/h", "3")]);
    let other = folder(&[("b", "4"), ("d/y/z", "5"), ("shared/h", "3")]);
    let all = folder(&[("a", "1"), ("b", "4"), ("d/x", "2"), ("d/y/z", "5"), ("shared/h", "3")]);
    let union = Folder::union(&one, &other).expect("no clash");
    assert_eq!(union.digest(), all.digest());
    assert_eq!(Folder::union(&other, &one).expect("no clash").digest(), all.digest());
    let below = Folder::below("p/q", folder(&[("a", "1")]));
    assert_eq!(below.digest(), folder(&[("p/q/a", "1")]).digest());
}

#[test]
fn two_things_at_one_path_are_a_clash() {
    let clash = |one: &[(&str, &str)], other: &[(&str, &str)]| {
        let clash = Folder::union(&folder(one), &folder(other)).expect_err("a clash");
        assert_eq!(Folder::union(&folder(other), &folder(one)), Err(clash.clone()));
        clash.0
    };
    assert_eq!(clash(&[("d/a", "1")], &[("d/a", "2")]), "d/a");
    assert_eq!(clash(&[("d/a", "1")], &[("d/a/b", "1")]), "d/a");
    let (one, other) = (leaf("1"), leaf("2"));
    assert_eq!(Folder::new([("a", &one), ("a/b", &other)]).map(drop), Err(Clash("a/b".into())));
    assert_eq!(Folder::new([("a/b", &one), ("a", &other)]).map(drop), Err(Clash("a".into())));
}

#[test]
fn tree_of_the_store_is_read_as_it_was() {
    let place = Place::new();
    let store = Store::open(&OsFs, &place.dir.path().join("store")).expect("a store");
    let publishing = store.publish().expect("publishing");
    let tree = folder(&[("a", "1"), ("d/x", "2"), ("d/e/y", "3")]);
    let tree = Folder::union(&tree, &Folder::directory("d/empty")).expect("no clash");
    tree.put(&publishing, &mut HashSet::new()).expect("put");
    let root = tree.digest().expect("a digest");
    let read = Folder::of_store(&publishing, &root, Bounds::default()).expect("read");
    assert_eq!(read, tree);
    let message = tree.tree_message().expect("a message");
    let whole = publishing.put_bytes(&message).expect("put").digest;
    let read = Folder::of_store(&publishing, &whole, Bounds::default()).expect("read");
    assert_eq!(read.digest(), Ok(root));
    let at = |path: &str| crate::action::left_at(&publishing, &root, path).expect("looked up");
    let file = crate::action::LeftNode::File { digest: Digest::of(b"3"), executable: false };
    assert_eq!(at("d/e/y"), Some(file));
    assert_eq!((at("d/e/z"), at("a/b"), at("c")), (None, None, None));
    let sub = folder(&[("y", "3")]);
    let message = sub.tree_message().expect("a message");
    let (root, tree) = (sub.digest().expect("a digest"), Digest::of(&message));
    assert_eq!(at("d/e"), Some(crate::action::LeftNode::Directory { root, tree }));
    assert!(publishing.has(&tree).expect("looked up"));
}

#[test]
fn empty_directories_stand_in_a_tree() {
    let out = Folder::directory("out/gen");
    let both = Folder::union(&out, &folder(&[("out/a", "1")])).expect("no clash");
    let leaves: Vec<String> = both.leaves().into_iter().map(|(path, _)| path).collect();
    assert_eq!(both.count(), leaves.len());
    assert_eq!(leaves, ["out/a"]);
    assert_ne!(both.digest(), folder(&[("out/a", "1")]).digest());
}

#[test]
fn identity_changes_with_any_byte() {
    let place = Place::new();
    for path in ["bin/tool", "include/a.h", "include/deep/b.h"] {
        place.write(path, "0123456789");
    }
    symlink("tool", place.root().join("bin/link")).expect("a link");
    let look = || place.identity(Some(place.memory.as_fd()));
    let before = look();
    assert_eq!(look(), before);
    let path = place.root().join("include/deep/b.h");
    let times = fs::metadata(&path).expect("its times").modified().expect("it");
    // The clock moves between the two.
    std::thread::sleep(Duration::from_millis(20));
    let file = fs::File::options().write(true).open(&path).expect("opened");
    std::os::unix::fs::FileExt::write_all_at(&file, b"X", 3).expect("written");
    file.set_modified(times).expect("put back");
    let changed = look();
    assert_ne!(changed, before);
    fs::remove_file(place.root().join("bin/link")).expect("removed");
    assert_ne!(look(), changed);
    let file = identity(&OsFs, &path, None).expect("a file alone");
    assert!(!file.is_settled);
    assert!(matches!(identity(&OsFs, &place.root().join("gone"), None), Err(Errno::NOENT)));
}

/// Names that are kept are those that are there, whatever happens between two looks.
#[test]
fn identity_with_names_that_are_kept_is_the_one_without() {
    let place = Place::new();
    for path in ["bin/tool", "include/a.h", "include/deep/b.h"] {
        place.write(path, "0123456789");
    }
    let at = |path: &str| place.root().join(path);
    let look = || place.identity(Some(place.memory.as_fd()));
    place.age();
    let before = look();
    let kept = || fs::read_dir(place.dir.path().join("memory")).expect("listed").count();
    assert_eq!(kept(), 1);
    let changes: [&dyn Fn() -> std::io::Result<()>; 5] = [
        &|| fs::write(at("include/deep/c.h"), "new"),
        &|| fs::rename(at("include/deep"), at("deep")),
        &|| fs::remove_file(at("deep/c.h")),
        &|| fs::rename(at("deep"), at("include/deep")),
        &|| fs::write(place.dir.path().join("memory/x"), ""),
    ];
    for (number, change) in changes.iter().enumerate() {
        change().expect("changed");
        assert_eq!(look(), place.identity(None), "{number}");
        assert_eq!(look() == before, number >= 3, "{number}");
        place.age();
        assert_eq!(look(), place.identity(None), "{number}");
    }
    for entry in fs::read_dir(place.dir.path().join("memory")).expect("listed") {
        let path = entry.expect("it").path();
        let mut bytes = fs::read(&path).expect("read");
        bytes.pop();
        fs::write(&path, bytes).expect("damaged");
    }
    assert_eq!(look(), before);
}

/// Each descriptor there is a file with times of its own. The control is a directory on the disk.
#[test]
fn identity_tells_nothing_of_what_the_kernel_makes_when_it_is_asked_for() {
    let place = Place::new();
    let paths = [place.root(), "/proc/self/fd".into(), "/sys/kernel".into()];
    let look = || paths.each_ref().map(|path| identity(&OsFs, path, None).expect("looked"));
    let before = look();
    place.write("new", "");
    let opened = place.memory.try_clone().expect("opened");
    let after = look();
    assert_eq!([0, 1, 2].map(|it| before[it].hash == after[it].hash), [false, true, true]);
    assert_eq!(after.map(|it| it.is_settled), [false, true, true]);
    drop(opened);
}
