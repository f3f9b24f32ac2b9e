//! Trees of stubs, made and compared; what an overlay shows of them is tested end to end.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::*;
use crate::fs::OsFs;
use crate::materialize::{Contents, MODIFIED, Maker, apply, make_file, plan};
use crate::snapshot::{Bounds, Builder, Naming, Node, Snapshot};
use crate::testing::Scratch;
use crate::trees::{
    Begun, Damage, Made, TreeCache, TreeKey, Verified, data_place, place, write_manifest,
};

const BOOT: &str = "this start";
const LARGE: &[u8] = b"large: its bytes are elsewhere";
const OTHER: &[u8] = b"other: its bytes are elsewhere";
const SMALL: &[u8] = b"small";

/// A tree of two stubs and a whole file.
struct Case {
    scratch: Scratch,
    cache: TreeCache,
    key: TreeKey,
}

struct Stubs;

impl Contents<&'static [u8]> for Stubs {
    fn maker(&self) -> Box<dyn Maker<&'static [u8]> + '_> {
        Box::new(Self)
    }
}

impl Maker<&'static [u8]> for Stubs {
    fn make(
        &mut self,
        bytes: &&'static [u8],
        executable: bool,
        at: At<'_>,
    ) -> Result<(), ContentError> {
        match *bytes {
            SMALL => make_file(&OsFs, at, executable, bytes),
            bytes => make_stub(&OsFs, at, executable, &Digest::of(bytes)),
        }
    }
}

fn tree() -> Snapshot<&'static [u8]> {
    let mut tree = Builder::new(Naming::Any, Bounds::default());
    let mut push = |name: &str, content: &'static [u8], executable| {
        let node = Node::File { content, size: content.len() as u64, executable };
        tree.push(Path::new(""), name.as_bytes(), node).map(drop).expect("added");
    };
    push("large", LARGE, true);
    push("other", OTHER, false);
    push("small", SMALL, false);
    tree.finish()
}

impl Case {
    fn new(key: TreeKey) -> Self {
        let scratch = Scratch::new();
        let cache = TreeCache::open(&OsFs, &scratch.path().join("cache")).expect("opened");
        let Begun::New(building) = cache.begin(&OsFs, &key).expect("begun") else { panic!("new") };
        let snapshot = tree();
        apply(&OsFs, building.root(), &plan(&snapshot), &Stubs, 1).expect("made");
        let data = building.make_data(&OsFs).expect("made");
        for bytes in [LARGE, OTHER] {
            let name = stub_content(&Digest::of(bytes));
            make_file(&OsFs, At { dir: data.as_fd(), name: &name }, false, bytes).expect("made");
        }
        let name = |bytes: &&[u8]| ContentName::Cas(Digest::of(bytes));
        write_manifest(&OsFs, building.manifest(), (&snapshot, &[]), name).expect("written");
        let made = Made { entries: 3, bytes: 0 };
        drop(cache.publish(&OsFs, building, made, BOOT).expect("published"));
        Self { scratch, cache, key }
    }

    /// Opens the tree as its owner can, and returns a path in it.
    fn path(&self, name: &str) -> PathBuf {
        let closed = self.cache.path().join(self.key.as_str());
        std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).expect("opened");
        place(&self.scratch.path().join("cache"), &self.key).join(name)
    }

    fn content(&self, bytes: &[u8]) -> PathBuf {
        let data = data_place(&self.scratch.path().join("cache"), &self.key);
        self.path("");
        data.join(stub_content(&Digest::of(bytes)))
    }

    /// Returns what is found at a path after something was done to the tree.
    fn damage(&self) -> Option<Damage> {
        match self.cache.verify(&OsFs, &self.key, BOOT).expect("compared") {
            Verified::Damaged(damage) => Some(damage),
            Verified::Whole => None,
            Verified::Absent => panic!("it was made"),
        }
    }
}

fn of_stubs() -> Case {
    Case::new(TreeKey::of_stubs("tree").expect("a key"))
}

/// Checks what is said of a tree to which something was done.
fn check(harm: impl FnOnce(&Case), path: &str, what: &str) {
    let case = of_stubs();
    assert_eq!(case.damage(), None, "whole before");
    harm(&case);
    let found = case.damage().unwrap_or_else(|| panic!("{what} is not noticed"));
    assert_eq!((found.path.as_path(), found.what), (Path::new(path), what));
}

fn set(path: &Path, name: &str, value: &[u8]) {
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::lsetxattr(path, name, value, flags).expect("an attribute");
}

#[test]
fn stub_has_bits_size_and_time_and_no_bytes() {
    let case = of_stubs();
    let found = case.path("large").metadata().expect("stat");
    assert_eq!((found.mode(), found.mtime()), (0o100_755, MODIFIED.tv_sec));
    assert_eq!((found.len(), found.blocks()), (LARGE.len() as u64, 0));
    assert!(std::fs::read(case.path("large")).expect("read").iter().all(|byte| *byte == 0));
}

/// Longer ones cost a block of the disk for each stub.
#[test]
fn attributes_have_room_in_an_inode() {
    // The inode's second part is 128 bytes, of which 32 are times and such; a header and an end of
    // 4 bytes each; 16 bytes and the name for each attribute; values in steps of 4.
    let room = 128 - 32 - 8;
    let one =
        |(name, value): &Attribute| 16 + name.len() - "user.".len() + value.len().div_ceil(4) * 4;
    assert!(attributes(&Digest::of(LARGE)).iter().map(one).sum::<usize>() <= room);
}

#[test]
fn changed_content_is_damage() {
    let bytes = "its bytes are not what they were";
    check(
        |it| std::fs::write(it.content(LARGE), LARGE.to_ascii_uppercase()).expect("written"),
        "large",
        bytes,
    );
    check(
        |it| std::fs::write(it.content(LARGE), [LARGE, b"x"].concat()).expect("written"),
        "large",
        bytes,
    );
    check(|it| std::fs::remove_file(it.content(OTHER)).expect("removed"), "other", bytes);
    let lose = |it: &Case| {
        let content = it.content(LARGE);
        let data = content.parent().expect("above");
        std::fs::rename(data, data.with_file_name("elsewhere")).expect("moved");
    };
    check(lose, "data", "it is missing");
}

#[test]
fn stub_that_shows_something_else_is_damage() {
    let (bytes, elsewhere) =
        ("its bytes are not what they were", "an attribute shows other bytes in its place");
    let cut = |it: &Case| {
        let file = std::fs::File::options().write(true).open(it.path("large")).expect("opened");
        file.set_len(3).expect("cut");
    };
    check(cut, "large", bytes);
    let other = format!("/{}", stub_content(&Digest::of(OTHER)).display());
    check(|it| set(&it.path("large"), REDIRECT, other.as_bytes()), "large", elsewhere);
    check(|it| set(&it.path("large"), METACOPY, b"x"), "large", elsewhere);
    check(|it| set(&it.path("small"), REDIRECT, other.as_bytes()), "small", elsewhere);
    check(|it| set(&it.path("large"), "user.overlay.opaque", b"y"), "large", elsewhere);
    let lose = |it: &Case| rustix::fs::lremovexattr(it.path("large"), METACOPY).expect("removed");
    check(lose, "large", elsewhere);
}

/// What of a stub is left without its attributes reads as zeros.
#[test]
fn stub_without_attributes_is_damage() {
    let lose = |it: &Case| {
        for name in [METACOPY, REDIRECT] {
            rustix::fs::lremovexattr(it.path("large"), name).expect("removed");
        }
    };
    check(lose, "large", "its bytes are not what they were");
}

/// The files of every other tree are shown as they are.
#[test]
fn stub_in_a_tree_without_stubs_is_damage() {
    let case = Case::new(TreeKey::new("sha256", "tree").expect("a key"));
    let found = case.damage().expect("damage");
    assert_eq!(
        (found.path.as_path(), found.what),
        (Path::new("large"), "its bytes are not what they were")
    );
}
