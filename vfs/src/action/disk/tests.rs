use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use super::*;
use crate::action::{Left, LeftNode};
use crate::cas::{Publishing, Store};
use crate::fs::OsFs;
use crate::fs::faulty::FaultyFs;
use crate::testing::Scratch;

/// Two stores, and a cache that their builds share.
struct Two {
    scratch: Scratch,
}

impl Two {
    fn new() -> Self {
        Self { scratch: Scratch::new() }
    }

    fn store(&self, name: &str) -> Store<'static> {
        Store::open(&OsFs, &self.scratch.path().join(name)).expect("a store")
    }

    fn shared(&self) -> PathBuf {
        self.scratch.path().join("shared")
    }

    fn cache(&self) -> DiskCache<'static> {
        DiskCache::open(&OsFs, &self.shared()).expect("a cache")
    }

    fn file(&self, kind: &str, digest: &Digest) -> PathBuf {
        let (fan, name) = place(digest);
        self.shared().join(kind).join(fan).join(name)
    }
}

/// The result of an action that left a file and a directory with one, in a store.
fn result(publishing: &Publishing<'_>) -> ActionResult {
    let put = |bytes: &[u8]| publishing.put_bytes(bytes).expect("put").digest;
    let file = put(b"content");
    let folder = crate::inputs::Folder::new([(
        "sub/file",
        &crate::inputs::Leaf::File { digest: put(b"deeper"), executable: true },
    )])
    .expect("a tree");
    folder.put(publishing, &mut std::collections::HashSet::new()).expect("put");
    let tree = put(&folder.tree_message().expect("a message"));
    let left = |path: &str, node| Left { path: path.to_owned(), node };
    ActionResult {
        exit_code: 0,
        stdout: put(b"said"),
        stderr: put(b""),
        outputs: vec![
            left("dir", LeftNode::Directory { root: folder.digest().expect("a digest"), tree }),
            left("file", LeftNode::File { digest: file, executable: false }),
        ],
    }
}

fn action() -> Digest {
    Digest::of(b"an action")
}

/// Shares a result of the first store.
fn shared(two: &Two) -> ActionResult {
    let store = two.store("one");
    let publishing = store.publish().expect("open");
    let result = result(&publishing);
    two.cache().share(&action(), &result, &publishing).expect("shared");
    result
}

#[test]
fn result_of_one_is_found_by_the_other() {
    let two = Two::new();
    assert_eq!(two.cache().find(&action()).expect("looked up"), None);
    let result = shared(&two);
    let store = two.store("other");
    let publishing = store.publish().expect("open");
    let found = two.cache().find(&action()).expect("looked up").expect("a result");
    assert_eq!(found, result);
    two.cache().fetch(&found, &publishing).expect("fetched");
    for digest in found.contents().chain(found.directories()).chain(&[Digest::of(b"deeper")]) {
        assert!(store.has(digest).expect("looked up"), "{digest}");
    }
    let text = fs::read(two.file("cas", &Digest::of(b"content"))).expect("Bazel's place");
    assert_eq!(text, b"content");
}

#[test]
fn content_that_is_another_is_refused() {
    let two = Two::new();
    let result = shared(&two);
    for (wrong, digest) in
        [(&b"CONTENT"[..], Digest::of(b"content")), (b"x", Digest::of(b"deeper"))]
    {
        let file = two.file("cas", &digest);
        let right = fs::read(&file).expect("a content");
        fs::write(&file, wrong).expect("poisoned");
        let store = two.store(&format!("{}", wrong.len()));
        let error =
            two.cache().fetch(&result, &store.publish().expect("open")).expect_err("refused");
        assert!(error.to_string().contains(&digest.to_string()), "{error}");
        assert!(!store.has(&digest).expect("looked up"));
        assert!(!file.exists(), "it is taken away");
        let publishing = store.publish().expect("open");
        two.cache().fetch(&result, &publishing).expect_err("missing");
        fs::write(&file, right).expect("mended");
        two.cache().fetch(&result, &publishing).expect("whole");
    }
}

#[test]
fn result_that_somebody_else_may_have_written_is_none() {
    let two = Two::new();
    shared(&two);
    let file = two.file("ac", &action());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("open to all");
    let found = two.cache().find(&action());
    assert!(matches!(found, Err(DiskCacheError::Foreign { .. })), "{found:?}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("closed");
    for above in [file.parent().expect("a fan").to_owned(), two.shared().join("ac"), two.shared()] {
        let mode =
            |mode| fs::set_permissions(&above, fs::Permissions::from_mode(mode)).expect("a mode");
        assert!(two.cache().find(&action()).expect("one's own").is_some());
        mode(0o777);
        let found = two.cache().find(&action());
        assert!(matches!(found, Err(DiskCacheError::Foreign { .. })), "{found:?}");
        mode(0o755);
    }
    fs::rename(&file, two.shared().join("elsewhere")).expect("moved");
    symlink(two.shared().join("elsewhere"), &file).expect("a link");
    assert!(matches!(two.cache().find(&action()), Err(DiskCacheError::Foreign { .. })));
    fs::remove_file(&file).expect("removed");
    fs::write(&file, "nonsense").expect("written");
    assert!(matches!(two.cache().find(&action()), Err(DiskCacheError::Result { .. })));
}

/// A store that was damaged harms nobody else.
#[test]
fn damaged_content_is_not_shared() {
    let two = Two::new();
    let store = two.store("one");
    let publishing = store.publish().expect("open");
    let result = result(&publishing);
    let digits = Digest::of(b"content").to_hex();
    let object = walkdir(&two.scratch.path().join("one"), &digits);
    fs::set_permissions(&object, fs::Permissions::from_mode(0o644)).expect("writable");
    fs::write(&object, "CONTENT").expect("damaged");
    two.cache().share(&action(), &result, &publishing).expect_err("refused");
    assert_eq!(two.cache().find(&action()).expect("looked up"), None);
    assert!(!two.file("cas", &Digest::of(b"content")).exists());
}

/// Finds an object of a store.
fn walkdir(root: &Path, digits: &str) -> PathBuf {
    let (fan, name) = digits.split_at(2);
    let mut pending = vec![root.to_owned()];
    while let Some(dir) = pending.pop() {
        let object = dir.join(fan).join(name);
        if object.exists() {
            return object;
        }
        let below = fs::read_dir(dir).expect("a directory").map(|it| it.expect("a name").path());
        pending.extend(below.filter(|it| it.is_dir()));
    }
    panic!("no object {digits}");
}

/// Wherever it ends, a result that is found is whole.
#[test]
fn sharing_that_is_interrupted_leaves_no_half_result() {
    let two = Two::new();
    let store = two.store("one");
    let publishing = store.publish().expect("open");
    let result = result(&publishing);
    let share = |fs: &FaultyFs| {
        let cache = DiskCache::open(fs, &two.shared());
        cache.and_then(|cache| cache.share(&action(), &result, &publishing))
    };
    let whole = FaultyFs::counting();
    share(&whole).expect("shared");
    let calls = whole.calls();
    assert!(calls > 30, "{calls}");
    let ends = |call| [FaultyFs::killed(call), FaultyFs::new(call, Errno::NOSPC)];
    for (number, fs) in (0..calls).flat_map(ends).enumerate() {
        let gone = two.scratch.path().join(format!("gone-{number}"));
        fs::rename(two.shared(), gone).expect("anew");
        let shared = share(&fs);
        let other = two.store(&format!("other-{number}"));
        let publishing = other.publish().expect("open");
        let found = two.cache().find(&action()).expect("one, or none");
        assert!(found.is_some() || shared.is_err(), "{number}: {shared:?}");
        if let Some(found) = found {
            two.cache().fetch(&found, &publishing).expect("all of it");
        }
        share(&FaultyFs::counting()).expect("shared after all");
        two.cache().fetch(&result, &publishing).expect("all of it");
    }
}
