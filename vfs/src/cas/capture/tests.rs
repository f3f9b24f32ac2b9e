//! Layers above trees of a store: what is captured is what `put_tree` makes of the same directory.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::action::left_at;
use crate::cas::message::{ListedDirectory, Listing};
use crate::cas::testing::{assert_sound, damage, put, store};
use crate::cas::{StoreError, gc, put_tree};
use crate::fs::faulty::each_fault;
use crate::fs::{At, OsFs, Special};
use crate::testing::Scratch;
use crate::working_copy::{ChangedKind, ChangedPath};

/// A tree that a test makes up.
type Tree = BTreeMap<String, Made>;

#[derive(Clone, Debug, PartialEq)]
enum Made {
    File(String, u32),
    Link(String),
    Tree(Tree),
}

fn made() -> impl Strategy<Value = Made> {
    let mode = prop_oneof![Just(0o644), Just(0o755), Just(0o610)];
    let leaf = prop_oneof![
        ("[xy]{0,1}", mode).prop_map(|(text, mode)| Made::File(text, mode)),
        "[xy]".prop_map(Made::Link),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        prop::collection::btree_map("[abc]", inner, 0..4).prop_map(Made::Tree)
    })
}

fn tree() -> impl Strategy<Value = Tree> {
    prop::collection::btree_map("[abc]", made(), 0..4)
}

/// Makes a tree in a directory that is there.
fn make(at: &Path, tree: &Tree) {
    for (name, made) in tree {
        make_one(&at.join(name), made);
    }
}

fn make_one(at: &Path, made: &Made) {
    match made {
        Made::File(text, mode) => {
            fs::write(at, text).expect("written");
            fs::set_permissions(at, fs::Permissions::from_mode(*mode)).expect("a mode");
        }
        Made::Link(target) => symlink(target, at).expect("a link"),
        Made::Tree(tree) => {
            fs::create_dir(at).expect("made");
            make(at, tree);
        }
    }
}

/// Makes what overlayfs has above `old` when the view is `new`. What is equal is there or not, and
/// a directory is merged or made anew, as the numbers want it.
fn layer(at: &Path, old: &Tree, new: &Tree, choices: &mut impl Iterator<Item = bool>) {
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        let dir = fs::File::open(at).expect("opened");
        OsFs.make_whiteout(dir.as_fd(), OsStr::new(name)).expect("a whiteout");
    }
    for (name, is) in new {
        let (at, was) = (at.join(name), old.get(name));
        let is_copied = choices.next().unwrap_or_default();
        match (was, is) {
            (Some(was), is) if was == is && !is_copied => {}
            (Some(Made::Tree(was)), Made::Tree(is)) => {
                fs::create_dir(&at).expect("made");
                if choices.next().unwrap_or_default() {
                    OsFs.make_opaque(fs::File::open(&at).expect("opened").as_fd()).expect("opaque");
                    make(&at, is);
                } else {
                    layer(&at, was, is, choices);
                }
            }
            _ => make_one(&at, is),
        }
    }
}

/// A store, a base in it, and an empty layer above.
struct Case {
    scratch: Scratch,
    base: Digest,
    upper: Scratch,
    staging: Scratch,
}

impl Case {
    fn new(base: &Tree) -> Self {
        let (scratch, upper, staging) = (Scratch::new(), Scratch::new(), Scratch::new());
        let base = put_made(&store(&scratch), base);
        Self { scratch, base, upper, staging }
    }

    fn capture(&self) -> Result<Captured, CaptureError> {
        self.capture_through(&OsFs, Bounds::default(), None)
    }

    fn capture_through(
        &self,
        fs: &dyn Fs,
        bounds: Bounds,
        wanted: Option<&[String]>,
    ) -> Result<Captured, CaptureError> {
        let store = store(&self.scratch);
        let (upper, staging, base) = (self.upper.fd(), self.staging.fd(), self.base);
        capture(fs, &ChangedSource { upper, staging, store: &store, base, bounds, wanted })
    }

    fn land(&self, tip: &str) -> Result<u64, StoreError> {
        let store = store(&self.scratch);
        let publishing = store.publish()?;
        let staging = (self.staging.fd(), self.staging.path());
        land_staged(&OsFs, staging, &publishing, &tip.parse().expect("a digest"))
    }

    fn path(&self, path: &str) -> PathBuf {
        self.upper.path().join(path)
    }
}

#[test]
fn layer_without_entries_changes_nothing() {
    for base in [Tree::new(), Tree::from([("a".to_owned(), Made::Tree(Tree::new()))])] {
        let case = Case::new(&base);
        assert_eq!(case.capture().expect("captured"), unchanged(case.base));
    }
}

fn put_made(store: &Store<'_>, tree: &Tree) -> Digest {
    let there = Scratch::new();
    make(there.path(), tree);
    let publishing = store.publish().expect("the lock");
    put_tree(&OsFs, &publishing, there.fd(), Bounds::default()).expect("put").root
}

fn file(text: &str) -> Made {
    Made::File(text.to_owned(), 0o644)
}

fn of<const N: usize>(names: [(&str, Made); N]) -> Tree {
    names.into_iter().map(|(name, made)| (name.to_owned(), made)).collect()
}

/// All paths of a tree.
fn flat(tree: &Tree) -> BTreeMap<PathBuf, Made> {
    let mut all = BTreeMap::new();
    let mut pending = vec![(PathBuf::new(), tree)];
    while let Some((at, tree)) = pending.pop() {
        for (name, made) in tree {
            let shown = match made {
                Made::Tree(below) => {
                    pending.push((at.join(name), below));
                    Made::Tree(Tree::new())
                }
                // Any of the bits counts.
                Made::File(text, mode) => Made::File(text.clone(), mode & 0o111),
                other @ Made::Link(_) => other.clone(),
            };
            let shown = match shown {
                Made::File(text, mode) => Made::File(text, u32::from(mode != 0)),
                other => other,
            };
            all.insert(at.join(name), shown);
        }
    }
    all
}

/// What is different in two trees, found in another way.
fn differences(old: &Tree, new: &Tree) -> Vec<ChangedPath> {
    let (old, new) = (flat(old), flat(new));
    let paths: std::collections::BTreeSet<&PathBuf> = old.keys().chain(new.keys()).collect();
    let kind = |path: &PathBuf| match (old.get(path), new.get(path)) {
        (None, _) => Some(ChangedKind::Created),
        (_, None) => Some(ChangedKind::Deleted),
        (was, is) => (was != is).then_some(ChangedKind::Modified),
    };
    let changed = paths.into_iter().filter_map(|path| Some((path, kind(path)?)));
    changed.map(|(path, kind)| ChangedPath { path: path.clone(), kind }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn capture_is_what_a_put_of_the_view_is(
        old in tree(),
        new in tree(),
        choices in prop::collection::vec(any::<bool>(), 32),
    ) {
        let case = Case::new(&old);
        layer(case.upper.path(), &old, &new, &mut choices.into_iter());
        let captured = case.capture().expect("captured");
        case.land(&captured.tip).expect("landed");
        // Another store does not help by what it has.
        let other = Scratch::new();
        let expected = put_made(&store(&other), &new);
        prop_assert_eq!(captured.tip, expected.to_string());
        prop_assert_eq!(captured.is_made, expected != case.base);
        prop_assert_eq!(captured.changes, differences(&old, &new));
        prop_assert!(captured.refused.is_empty());
        assert_all_there(&case, &expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// What is wanted is as in the whole; of the rest, all that changed is told, and nothing is staged.
    #[test]
    fn wanted_part_is_that_of_the_whole(
        old in tree(),
        new in tree(),
        wanted in prop::collection::vec("[abc]", 1..4),
        choices in prop::collection::vec(any::<bool>(), 32),
    ) {
        let wanted = wanted.join("/");
        let case = Case::new(&old);
        layer(case.upper.path(), &old, &new, &mut choices.into_iter());
        let part = std::slice::from_ref(&wanted);
        let captured = case.capture_through(&OsFs, Bounds::default(), Some(part));
        let captured = captured.expect("captured");
        case.land(&captured.tip).expect("landed");
        let tip: Digest = captured.tip.parse().expect("a digest");
        let is_near = |path: &Path| path.starts_with(&wanted) || Path::new(&wanted).starts_with(path);
        prop_assert!(!captured.unwanted.iter().any(|path| is_near(path)), "{:?}", captured);
        let (was, is) = (flat(&old), flat(&new));
        for it in differences(&old, &new).iter().filter(|it| !is_near(&it.path)) {
            let told = captured.changes.iter().map(|it| &it.path).chain(&captured.unwanted);
            let is_told = told.into_iter().any(|path| it.path.starts_with(path));
            // A directory without files is told where the tree has none.
            let found = is.get(&it.path).or_else(|| was.get(&it.path));
            prop_assert!(is_told || matches!(found, Some(Made::Tree(_))), "{:?}: {:?}", it, captured);
        }
        assert_all_there(&case, &tip);
        let store = store(&case.scratch);
        let whole = put_made(&store, &new);
        let publishing = store.publish().expect("the lock");
        let at = |tip: &Digest| left_at(&publishing, tip, &wanted).expect("a tree");
        prop_assert_eq!(at(&tip), at(&whole));
    }
}

/// All that a tree needs is in the store, and sound.
fn assert_all_there(case: &Case, root: &Digest) {
    let store = store(&case.scratch);
    let snapshot = crate::cas::snapshot(&store, root, Bounds::default()).expect("a tree");
    for entry in snapshot.entries() {
        if let crate::snapshot::Node::File { content, .. } = &entry.node {
            store.verify(content).expect("there");
        }
    }
    assert_sound(&case.scratch);
}

#[test]
fn untouched_tree_keeps_its_digest_and_stages_nothing() {
    let case = Case::new(&of([("d", Made::Tree(of([("f", file("x"))]))), ("g", file("y"))]));
    fs::create_dir(case.path("d")).expect("made");
    fs::write(case.path("d/f"), "x").expect("written");
    let captured = case.capture().expect("captured");
    assert_eq!(captured.tip, case.base.to_string());
    assert!(!captured.is_made);
    assert_eq!((captured.objects, captured.changed), (0, 0));
}

/// A message with properties, as other tools write them, is another one than that of its listing.
#[test]
fn message_with_properties_keeps_its_digest() {
    let case = Case::new(&Tree::new());
    let store = store(&case.scratch);
    // Field 5, empty properties.
    let inner = put(&store, &[0x2a, 0]);
    let directory = ListedDirectory { name: "d".into(), digest: inner };
    let outer = Listing::new(Vec::new(), vec![directory], Vec::new()).expect("names");
    let case = Case { base: put(&store, &outer.encode()), ..case };
    fs::create_dir(case.path("d")).expect("made");
    assert_eq!(case.capture().expect("captured").tip, case.base.to_string());
}

#[test]
fn only_what_leads_to_a_change_is_read() {
    let near = Made::Tree(of([("f", file("x"))]));
    let far = Made::Tree(of([("other", file("y"))]));
    let case = Case::new(&of([("far", far.clone()), ("near", near)]));
    let Made::Tree(tree) = &far else { return };
    let store = store(&case.scratch);
    damage(&store, &put_made(&store, tree), b"none");
    fs::create_dir(case.path("near")).expect("made");
    fs::write(case.path("near/f"), "z").expect("written");
    let captured = case.capture().expect("the damaged one is not read");
    assert_eq!(captured.changed, 1);
    assert_eq!(captured.objects, 3, "a content and two messages");
    fs::create_dir(case.path("far")).expect("made");
    let again = Scratch::new();
    let case = Case { staging: again, ..case };
    assert!(matches!(case.capture(), Err(CaptureError::Store(_))), "on the way it is");
}

#[test]
fn what_no_tree_holds_is_refused_and_all_else_taken() {
    let case = Case::new(&of([("kept", file("x")), ("pipe", file("old"))]));
    let place = |name| At { dir: case.upper.fd(), name: OsStr::new(name) };
    OsFs.make_special(place("pipe"), Special::Fifo).expect("a FIFO");
    OsFs.make_special(place("socket"), Special::Socket).expect("a socket");
    let bad = case.upper.path().join(OsStr::from_bytes(b"\xff"));
    fs::create_dir(&bad).expect("made");
    fs::write(bad.join("inside"), "").expect("written");
    symlink(OsStr::from_bytes(b"\xff"), case.path("link")).expect("a link");
    fs::write(case.path("new"), "new").expect("written");
    let captured = case.capture().expect("captured");
    let refused: Vec<_> =
        captured.refused.iter().map(|it| it.path.as_os_str().as_bytes()).collect();
    assert_eq!(refused, [b"link".as_slice(), b"pipe", b"socket", b"\xff"]);
    let new = of([("kept", file("x")), ("new", file("new")), ("pipe", file("old"))]);
    assert_eq!(captured.tip, put_made(&store(&case.scratch), &new).to_string());
}

#[test]
fn closed_directory_is_read() {
    let case = Case::new(&Tree::new());
    fs::create_dir(case.path("d")).expect("made");
    fs::write(case.path("d/f"), "x").expect("written");
    fs::set_permissions(case.path("d"), fs::Permissions::from_mode(0o0)).expect("closed");
    let tip = case.capture().expect("captured").tip;
    let new = of([("d", Made::Tree(of([("f", file("x"))])))]);
    assert_eq!(tip, put_made(&store(&case.scratch), &new).to_string());
}

#[test]
fn bounds_hold_for_the_layer() {
    let bounded = |bounds| {
        let case = Case::new(&Tree::new());
        fs::create_dir_all(case.path("a/b/c")).expect("made");
        fs::write(case.path("a/file"), "12345").expect("written");
        case.capture_through(&OsFs, bounds, None)
    };
    let whole = Bounds { entries: 4, bytes: 5, depth: 4, path: 6, paths: 100 };
    assert!(bounded(whole).expect("captured").refused.is_empty());
    for bounds in [Bounds { entries: 3, ..whole }, Bounds { bytes: 4, ..whole }] {
        assert!(matches!(bounded(bounds), Err(CaptureError::TooMuch { .. })), "{bounds:?}");
    }
    for bounds in [Bounds { depth: 3, ..whole }, Bounds { path: 4, ..whole }] {
        assert_eq!(
            bounded(bounds).expect("captured").refused.len(),
            1 + usize::from(bounds.path == 4)
        );
    }
}

#[test]
fn planted_object_is_no_object() {
    let case = Case::new(&Tree::new());
    fs::write(case.path("f"), "x").expect("written");
    let captured = case.capture().expect("captured");
    let good = case.staging.path().join(&Digest::of(b"x").to_hex()[..2]);
    let good = good.join(&Digest::of(b"x").to_hex()[2..]);
    fs::write(&good, "y").expect("swapped");
    let landed = case.land(&captured.tip);
    assert!(matches!(landed, Err(StoreError::Damaged { .. })), "{landed:?}");
    assert_sound(&case.scratch);
    // A link that leads to the right content is none either, and then the tree is not whole.
    fs::remove_file(&good).expect("removed");
    fs::write(case.staging.path().join("other"), "x").expect("written");
    symlink(case.staging.path().join("other"), &good).expect("a link");
    let absent = Digest::of(b"a tree that nobody staged").to_string();
    assert!(matches!(case.land(&absent), Err(StoreError::Missing { .. })));
    assert!(!store(&case.scratch).has(&Digest::of(b"x")).expect("looked"));
}

#[test]
fn others_keep_what_a_collection_would_remove() {
    let case = Case::new(&of([("f", file("x"))]));
    fs::write(case.path("g"), "y").expect("written");
    let tip = case.capture().expect("captured").tip;
    case.land(&tip).expect("landed");
    let (store, root) = (store(&case.scratch), tip.parse().expect("a digest"));
    gc(&store, (0, vec![root]), &mut |_| ()).expect("a collection");
    assert_all_there(&case, &root);
    assert!(!store.has(&case.base).expect("looked"));
    gc(&store, (0, Vec::new()), &mut |_| ()).expect("a collection");
    assert!(!store.has(&root).expect("looked"));
}

#[test]
fn failing_call_never_makes_another_tree() {
    let whole = file_and_directory(&OsFs).expect("captured");
    let calls = each_fault(Errno::IO, |fs| {
        if let Ok(tip) = file_and_directory(fs) {
            assert_eq!(tip, whole);
        }
    });
    assert!(calls > 20, "{calls}");
}

fn file_and_directory(fs: &dyn Fs) -> Result<String, CaptureError> {
    let case = Case::new(&of([("d", Made::Tree(of([("f", file("x"))])))]));
    std::fs::create_dir(case.path("d")).expect("made");
    std::fs::write(case.path("d/g"), "y").expect("written");
    Ok(case.capture_through(fs, Bounds::default(), None)?.tip)
}

#[test]
fn what_was_staged_is_sound_until_it_is_damaged() {
    let case = Case::new(&of([("f", file("x"))]));
    fs::write(case.path("g"), "y").expect("written");
    let tip: Digest = case.capture().expect("captured").tip.parse().expect("a digest");
    let staging = fs::File::open(case.staging.path()).expect("opened");
    let store = store(&case.scratch);
    let is_still_sound = || is_sound(&OsFs, (staging.as_fd(), case.staging.path()), &store, &tip);
    assert!(is_still_sound());
    let digits = Digest::of(b"y").to_hex();
    let (fan, name) = digits.split_at(2);
    let object = case.staging.path().join(fan).join(name);
    for text in ["", "z"] {
        fs::write(&object, text).expect("written");
        assert!(!is_still_sound(), "{text:?}");
    }
    fs::write(object, "y").expect("written");
    assert!(is_still_sound());
    let digits = tip.to_hex();
    let (fan, name) = digits.split_at(2);
    fs::remove_file(case.staging.path().join(fan).join(name)).expect("removed");
    assert!(!is_still_sound());
}
