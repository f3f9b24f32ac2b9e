//! The manifest of a tree in the cache.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_vfs::fs::{At, OsFs};
use endow_vfs::materialize::{ContentError, Contents, Maker, apply, make_file, plan};
use endow_vfs::snapshot::{Bounds, Builder, Naming, Node, Snapshot};
use endow_vfs::trees::{Begun, ContentName, Made, TreeCache, TreeKey, Verified, write_manifest};
use sha1::{Digest as _, Sha1};
use sha2::Sha256;

use crate::scratch::Scratch;

/// Of this start of the machine, so that nothing else than the manifest is in doubt.
const BOOT: &str = "boot";
/// The names of `one\n` and of nothing, as a store gives them.
const ONE: &str = "sha256:2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806/4";
const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855/0";

thread_local! {
    static PLACE: RefCell<Option<Place>> = const { RefCell::new(None) };
}

struct Place {
    scratch: Scratch,
    cache: TreeCache,
    key: TreeKey,
}

/// Compares a tree with any bytes as its manifest. Only one that tells of the same tree lets it pass.
pub(crate) fn manifest(input: &[u8]) {
    PLACE.with_borrow_mut(|place| {
        let Place { scratch, cache, key } = place.get_or_insert_with(Place::new);
        make(cache, key);
        let path = cache.path().join(format!("{key}.manifest"));
        let right = std::fs::read(&path).expect("the manifest");
        // So that mutations begin at one that is right.
        let text = if input.is_empty() { &right } else { input };
        std::fs::write(&path, text).expect("written");
        match cache.verify(&OsFs, key, BOOT).expect("only the manifest is odd") {
            Verified::Whole => assert_eq!(lines(text), lines(&right), "a tree by another manifest"),
            Verified::Damaged(damage) => assert!(!damage.what.is_empty() && text != right),
            Verified::Absent => panic!("it was made above"),
        }
        if path.exists() {
            std::fs::write(&path, &right).expect("written");
        }
        assert!(scratch.path().exists());
    });
}

/// The entries of a manifest, in no order and in one spelling.
fn lines(text: &[u8]) -> Vec<[Vec<u8>; 4]> {
    let fields: Vec<&[u8]> = text.split(|byte| *byte == 0).collect();
    let mut lines: Vec<_> = fields.as_chunks::<4>().0.iter().map(line).collect();
    lines.sort();
    lines
}

/// Of a directory only its path counts, of a link no size; a content has a name for each source.
fn line([kind, what, size, path]: &[&[u8]; 4]) -> [Vec<u8>; 4] {
    let is_name = |text: &str| names(text).iter().any(|name| name.as_bytes() == *what);
    let what = match *kind {
        b"d" => Vec::new(),
        b"l" => what.to_vec(),
        _ if is_name("one\n") => ONE.into(),
        _ if is_name("") => EMPTY.into(),
        _ => what.to_vec(),
    };
    let size: Option<u64> = std::str::from_utf8(size).ok().and_then(|size| size.parse().ok());
    let size = size.filter(|_| !matches!(*kind, b"d" | b"l")).unwrap_or_default().to_string();
    let path: PathBuf = Path::new(OsStr::from_bytes(path)).components().collect();
    [kind.to_vec(), what, size.into(), path.into_os_string().into_encoded_bytes()]
}

/// The names that a git repository gives to a content.
fn names(text: &str) -> [String; 2] {
    let blob = format!("blob {}\0{text}", text.len());
    let digits =
        |hash: &[u8]| -> String { hash.iter().map(|byte| format!("{byte:02x}")).collect() };
    [
        format!("git-sha1:{}", digits(&Sha1::digest(&blob))),
        format!("git-sha256:{}", digits(&Sha256::digest(&blob))),
    ]
}

impl Place {
    fn new() -> Self {
        let scratch = Scratch::new();
        let cache = TreeCache::open(&OsFs, &scratch.path().join("cache")).expect("opened");
        Self { cache, scratch, key: TreeKey::new("fuzz", "tree").expect("a key") }
    }
}

/// Makes the tree again when the last input had it taken away.
fn make(cache: &TreeCache, key: &TreeKey) {
    let Begun::New(building) = cache.begin_or_find(&OsFs, key).expect("begun") else { return };
    let snapshot = tree();
    apply(&OsFs, building.root(), &plan(&snapshot), &Texts, 1).expect("made");
    let name = |text: &&str| -> ContentName {
        if text.is_empty() { EMPTY } else { ONE }.parse().expect("a name")
    };
    write_manifest(&OsFs, building.manifest(), (&snapshot, &[]), name).expect("written");
    let made = Made { entries: snapshot.entries().len() as u64, bytes: snapshot.bytes() };
    drop(cache.publish(&OsFs, building, made, BOOT).expect("published"));
}

fn tree() -> Snapshot<&'static str> {
    let mut tree = Builder::new(Naming::Any, Bounds::default());
    let mut push = |directory: &str, name: &str, node| {
        tree.push(Path::new(directory), name.as_bytes(), node).map(drop).expect("added");
    };
    let file = |content: &'static str, executable| Node::File {
        content,
        size: content.len() as u64,
        executable,
    };
    push("", "dir", Node::Directory);
    push("dir", "one", file("one\n", true));
    push("dir", "link", Node::Symlink { target: "one".into() });
    push("", "empty", file("", false));
    tree.finish()
}

struct Texts;

impl Contents<&'static str> for Texts {
    fn maker(&self) -> Box<dyn Maker<&'static str> + '_> {
        Box::new(Self)
    }
}

impl Maker<&'static str> for Texts {
    fn make(
        &mut self,
        text: &&'static str,
        executable: bool,
        at: At<'_>,
    ) -> Result<(), ContentError> {
        make_file(&OsFs, at, executable, text.as_bytes())
    }
}
