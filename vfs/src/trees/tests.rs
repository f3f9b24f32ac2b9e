//! A cache on a real disk, used by several at once.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::*;
use crate::fs::OsFs;
use crate::materialize::{ContentError, Contents, Maker, apply, make_file, plan};
use crate::snapshot::{Bounds, Builder, Naming, Node, Snapshot};
use crate::testing::{Scratch, is_root, no_program_starts};

const BOOT: &str = "this start";
/// Names of `one\n` and of nothing, as git gives them.
const ONE: &str = "git-sha1:5626abf0f72e58d7a153368ba57db4c673c0e171";
const EMPTY: &str = "git-sha1:e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

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
        at: crate::fs::At<'_>,
    ) -> Result<(), ContentError> {
        make_file(&OsFs, at, executable, text.as_bytes())
    }
}

fn tree() -> Snapshot<&'static str> {
    let mut tree = Builder::new(Naming::Any, Bounds::default());
    let file = |text: &'static str, executable| Node::File {
        content: text,
        size: text.len() as u64,
        executable,
    };
    let mut push = |directory: &str, name: &str, node| {
        tree.push(Path::new(directory), name.as_bytes(), node).map(drop).expect("added");
    };
    push("", "dir", Node::Directory);
    push("dir", "one", file("one\n", true));
    push("dir", "link", Node::Symlink { target: "one".into() });
    push("", "empty", file("", false));
    tree.finish()
}

fn name(text: &&str) -> ContentName {
    if text.is_empty() { EMPTY } else { ONE }.parse().expect("a name")
}

fn key(name: &str) -> TreeKey {
    TreeKey::new("test", name).expect("a key")
}

fn cache(scratch: &Scratch) -> TreeCache {
    TreeCache::open(&OsFs, &scratch.path().join("cache")).expect("opened")
}

fn fill(building: &Building) -> Made {
    let snapshot = tree();
    apply(&OsFs, building.root(), &plan(&snapshot), &Texts, 1).expect("made");
    write_manifest(&OsFs, building.manifest(), (&snapshot, &[]), name).expect("written");
    Made { entries: snapshot.entries().len() as u64, bytes: snapshot.bytes() }
}

fn build(cache: &TreeCache, key: &TreeKey) -> Tree {
    match cache.begin(&OsFs, key).expect("begun") {
        Begun::Ready(tree) => tree,
        Begun::New(building) => {
            let made = fill(&building);
            cache.publish(&OsFs, building, made, BOOT).expect("published")
        }
    }
}

/// Looks into a tree as pid 1 of a sandbox can.
fn open(cache: &TreeCache, key: &TreeKey) -> PathBuf {
    let closed = cache.path().join(key.as_str());
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).expect("opened");
    closed.join(ROOT)
}

fn names(cache: &TreeCache) -> Vec<String> {
    let entries = cache.path().read_dir().expect("list");
    let mut names: Vec<_> =
        entries.map(|it| it.expect("entry").file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

#[test]
fn tree_is_found_once_it_is_whole() {
    let scratch = Scratch::new();
    let (cache, key) = (cache(&scratch), key("a"));
    assert!(cache.find(&OsFs, &key).expect("looked").is_none());
    let Begun::New(building) = cache.begin(&OsFs, &key).expect("begun") else { panic!("new") };
    let made = fill(&building);
    assert!(cache.find(&OsFs, &key).expect("looked").is_none(), "not yet");
    let tree = cache.publish(&OsFs, building, made, BOOT).expect("published");
    assert_eq!(tree.path(), cache.path().join("test-a/root"));
    let found = cache.find(&OsFs, &key).expect("looked").expect("there");
    assert_eq!(found.seal, tree.seal);
    assert_eq!(found.seal.made, Made { entries: 4, bytes: 4 });
    assert!(found.is_doubtful("another start") && !found.is_doubtful(BOOT));
    assert!(matches!(cache.begin(&OsFs, &key).expect("begun"), Begun::Ready(_)));
    assert_eq!(std::fs::read(open(&cache, &key).join("dir/one")).expect("read"), b"one\n");
    // Whoever finds it next closes what was left open.
    assert!(cache.find(&OsFs, &key).expect("looked").is_some());
    let closed = cache.path().join("test-a").metadata().expect("stat");
    assert_eq!(closed.permissions().mode() & 0o777, 0);
}

#[test]
fn tree_is_out_of_reach_by_its_path() {
    let scratch = Scratch::new();
    let cache = cache(&scratch);
    let tree = build(&cache, &key("a"));
    let file = tree.path().join("dir/one");
    // Root's own programs pass everywhere.
    let is_refused = std::fs::write(&file, "stray").is_err();
    assert_eq!(is_refused, !is_root());
}

#[test]
fn what_was_not_finished_is_made_anew() {
    let scratch = Scratch::new();
    let (cache, key) = (cache(&scratch), key("a"));
    let Begun::New(building) = cache.begin(&OsFs, &key).expect("begun") else { panic!("new") };
    fill(&building);
    drop(building);
    assert!(cache.find(&OsFs, &key).expect("looked").is_none());
    build(&cache, &key);
    assert_eq!(cache.verify(&OsFs, &key, BOOT).expect("compared"), Verified::Whole);
    assert_eq!(names(&cache), [".lock-test-a", "test-a", "test-a.manifest", "test-a.seal"]);
}

#[test]
fn tree_that_is_given_up_leaves_nothing() {
    let scratch = Scratch::new();
    let (cache, key) = (cache(&scratch), key("a"));
    let Begun::New(building) = cache.begin(&OsFs, &key).expect("begun") else { panic!("new") };
    fill(&building);
    cache.abandon(&OsFs, building).expect("given up");
    assert_eq!(names(&cache), [".lock-test-a"]);
    build(&cache, &key);
}

#[test]
fn one_builds_and_the_others_wait() {
    let scratch = Scratch::new();
    let cache = cache(&scratch);
    let built = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| match cache.begin(&OsFs, &key("a")).expect("begun") {
                Begun::Ready(_) => {}
                Begun::New(building) => {
                    built.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let made = fill(&building);
                    drop(cache.publish(&OsFs, building, made, BOOT).expect("published"));
                }
            });
        }
    });
    assert_eq!(built.into_inner(), 1);
}

#[test]
fn exchanged_directory_is_not_the_tree() {
    let scratch = Scratch::new();
    let (cache, key) = (cache(&scratch), key("a"));
    build(&cache, &key);
    // A directory that is moved elsewhere must be open to its owner.
    open(&cache, &key);
    std::fs::rename(cache.path().join("test-a"), scratch.path().join("aside")).expect("renamed");
    std::fs::create_dir_all(cache.path().join("test-a/root")).expect("planted");
    assert!(cache.find(&OsFs, &key).expect("looked").is_none());
    build(&cache, &key);
    assert_eq!(cache.verify(&OsFs, &key, BOOT).expect("compared"), Verified::Whole);
}

/// What somebody does to a tree.
type Harm = fn(&Path);

#[test]
fn every_damage_is_found_and_taken_away() {
    let damages: [(&str, Harm); 11] = [
        ("dir/one", |root| std::fs::write(root.join("dir/one"), "onf\n").expect("written")),
        ("dir/one", |root| std::fs::write(root.join("dir/one"), "one\n\n").expect("written")),
        ("empty", |root| std::fs::write(root.join("empty"), "x").expect("written")),
        ("empty", |root| std::fs::remove_file(root.join("empty")).expect("removed")),
        ("", |root| std::fs::write(root.join("more"), "x").expect("written")),
        ("dir", |root| std::fs::write(root.join("dir/more"), "x").expect("written")),
        ("dir/one", |root| {
            let mode = PermissionsExt::from_mode(0o644);
            std::fs::set_permissions(root.join("dir/one"), mode).expect("set");
        }),
        ("dir/link", |root| {
            std::fs::remove_file(root.join("dir/link")).expect("removed");
            std::os::unix::fs::symlink("/etc", root.join("dir/link")).expect("link");
        }),
        ("dir/link", |root| {
            std::fs::remove_file(root.join("dir/link")).expect("removed");
            std::os::unix::fs::symlink("one/", root.join("dir/link")).expect("link");
        }),
        ("dir/one", |root| {
            let manifest = root.join("../../test-a.manifest");
            let text = std::fs::read_to_string(&manifest).expect("read");
            let (one, link) = (format!("x\0{ONE}\x004\0dir/one\0"), "l\0one\x000\0dir/link\0");
            assert!(text.contains(&one) && text.contains(link));
            std::fs::write(&manifest, text.replace(link, &one)).expect("written");
            std::fs::remove_file(root.join("dir/link")).expect("removed");
            std::fs::write(root.join("dir/anything"), "").expect("written");
        }),
        ("dir", |root| {
            std::fs::rename(root.join("dir"), root.join("../dir")).expect("renamed");
            std::os::unix::fs::symlink("../dir", root.join("dir")).expect("link");
        }),
    ];
    let scratch = Scratch::new();
    let (cache, key) = (cache(&scratch), key("a"));
    for (path, damage) in damages {
        build(&cache, &key);
        assert_eq!(cache.verify(&OsFs, &key, BOOT).expect("compared"), Verified::Whole);
        damage(&open(&cache, &key));
        match cache.verify(&OsFs, &key, BOOT).expect("compared") {
            Verified::Damaged(damage) => assert_eq!(damage.path, Path::new(path)),
            other => panic!("{path}: {other:?}"),
        }
        assert!(cache.find(&OsFs, &key).expect("looked").is_none());
    }
    assert_eq!(cache.verify(&OsFs, &key, BOOT).expect("compared"), Verified::Absent);
}

#[test]
fn compared_tree_is_no_longer_doubtful() {
    let scratch = Scratch::new();
    let (cache, key) = (cache(&scratch), key("a"));
    let held = build(&cache, &key);
    let found = |cache: &TreeCache| cache.find(&OsFs, &key).expect("looked").expect("there");
    let verify = |boot| assert_eq!(cache.verify(&OsFs, &key, boot).expect("ok"), Verified::Whole);
    verify("later");
    assert!(found(&cache).is_doubtful("later"), "a run has the seal");
    drop(held);
    verify(BOOT);
    assert!(found(&cache).is_doubtful("later"), "it may not be on the disk yet");
    verify("later");
    assert!(!found(&cache).is_doubtful("later"));
}

#[test]
fn sweep_keeps_what_is_shown_and_what_was_used_last() {
    let _locks_are_ours = no_program_starts();
    let scratch = Scratch::new();
    let cache = cache(&scratch);
    let keys = ["a", "b", "c", "d"].map(key);
    let mut trees: Vec<Option<Tree>> = keys.iter().map(|key| Some(build(&cache, key))).collect();
    for (age, key) in keys.iter().enumerate() {
        let seal = OsFs.open_file(cache.fd(), &beside(key, ".seal")).expect("open");
        let at = crate::fs::At { dir: seal.as_fd(), name: OsStr::new("") };
        let tv_sec = 2_000_000_000 + i64::try_from(age).expect("small");
        OsFs.set_modified(at, crate::fs::Timespec { tv_sec, tv_nsec: 0 }).expect("set");
    }
    for at in [1, 2, 3] {
        trees[at] = None;
    }
    // Each holds 4 bytes. The first is shown, so the second and the third go.
    let swept = cache.sweep(&OsFs, 8).expect("swept");
    let removed: Vec<_> = swept.removed.iter().map(|tree| tree.key.as_str()).collect();
    assert_eq!(removed, ["test-b", "test-c"]);
    assert_eq!((swept.kept, swept.bytes), (2, 8));
    assert!(cache.find(&OsFs, &keys[0]).expect("looked").is_some());
    trees[0] = None;
    let swept = cache.sweep(&OsFs, 0).expect("swept");
    assert_eq!((swept.removed.len(), swept.kept), (2, 0));
    assert_eq!(names(&cache), [""; 0]);
}

#[test]
fn sweep_takes_what_dead_builders_left() {
    let _locks_are_ours = no_program_starts();
    let scratch = Scratch::new();
    let cache = cache(&scratch);
    let Begun::New(dead) = cache.begin(&OsFs, &key("dead")).expect("begun") else { panic!("new") };
    fill(&dead);
    drop(dead);
    let Begun::New(alive) = cache.begin(&OsFs, &key("alive")).expect("begun") else {
        panic!("new")
    };
    build(&cache, &key("whole"));
    std::fs::create_dir(cache.path().join("test-halfway")).expect("mkdir");
    cache.sweep(&OsFs, u64::MAX).expect("swept");
    let left: Vec<_> = names(&cache).into_iter().filter(|name| !name.contains("whole")).collect();
    assert_eq!(left, [".lock-test-alive", ".new-test-alive"]);
    let made = fill(&alive);
    cache.publish(&OsFs, alive, made, BOOT).expect("published");
}

fn build_layer(cache: &TreeCache, key: &TreeKey) -> Tree {
    let Begun::New(building) = cache.begin(&OsFs, key).expect("begun") else { panic!("new") };
    let (snapshot, gone) = (tree(), [PathBuf::from("dir/gone"), PathBuf::from("old")]);
    let plan = crate::materialize::plan_layer(&snapshot, &gone);
    apply(&OsFs, building.root(), &plan, &Texts, 1).expect("made");
    write_manifest(&OsFs, building.manifest(), (&snapshot, &gone), name).expect("written");
    let entries = (snapshot.entries().len() + gone.len()) as u64;
    cache.publish(&OsFs, building, Made { entries, bytes: 4 }, BOOT).expect("published")
}

#[test]
fn layer_hides_what_is_gone_and_is_compared() {
    let harms: [Harm; 3] = [
        |root| std::fs::remove_file(root.join("dir/gone")).expect("removed"),
        |root| {
            std::fs::remove_file(root.join("old")).expect("removed");
            std::fs::write(root.join("old"), "").expect("written");
        },
        |root| std::fs::write(root.join("dir/one"), "onf\n").expect("written"),
    ];
    let scratch = Scratch::new();
    let cache = cache(&scratch);
    let key = key("a").on(&key("b")).expect("a layer's key");
    for harm in harms {
        build_layer(&cache, &key);
        assert_eq!(cache.verify(&OsFs, &key, BOOT).expect("compared"), Verified::Whole);
        let root = open(&cache, &key);
        let node = OsFs.node(rustix::fs::CWD, root.join("old").as_os_str()).expect("there");
        assert_eq!(node.special, Some(crate::fs::Special::Whiteout));
        let dir = std::fs::metadata(root.join("dir")).expect("there");
        assert_eq!(dir.modified().expect("a time"), modified(), "made before its time was set");
        harm(&root);
        let verified = cache.verify(&OsFs, &key, BOOT).expect("compared");
        assert!(matches!(verified, Verified::Damaged(_)), "{verified:?}");
    }
}

fn modified() -> std::time::SystemTime {
    let seconds = u64::try_from(crate::materialize::MODIFIED.tv_sec).expect("after 1970");
    std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds)
}

#[test]
fn sweep_takes_layers_before_what_they_stand_on() {
    let _locks_are_ours = no_program_starts();
    let scratch = Scratch::new();
    let cache = cache(&scratch);
    let (base, other) = (key("base"), key("other"));
    let layer = key("a").on(&base).expect("a layer's key");
    build(&cache, &base);
    build(&cache, &other);
    let held = build_layer(&cache, &layer);
    let found = |name| layer_base(&OsFs, &scratch.path().join("cache"), &key(name));
    assert_eq!((found("a"), found("other")), (Some(base.clone()), None));
    let order: Vec<_> =
        cache.trees(&OsFs).expect("listed").into_iter().map(|tree| tree.key).collect();
    let at = |key: &TreeKey| order.iter().position(|it| it == key);
    assert!(at(&layer) < at(&base), "{order:?}");
    // Nobody has the base, but who has the layer needs it.
    let swept = cache.sweep(&OsFs, 0).expect("swept");
    assert_eq!((swept.removed.len(), swept.kept), (1, 2));
    assert!(cache.find(&OsFs, &base).expect("looked").is_some());
    drop(held);
    assert_eq!(cache.sweep(&OsFs, 0).expect("swept").kept, 0);
    assert_eq!(names(&cache), [""; 0]);
}

#[test]
fn keys_of_layers_name_both_trees() {
    let [a, b] = ["a", "b"].map(|name| TreeKey::new("git-sha1", name).expect("a key"));
    let layer = a.on(&b).expect("a key");
    assert_eq!(layer.as_str(), "git-sha1-a-on-b");
    assert_eq!(
        (layer.base(), a.base(), TreeKey::of_name(layer.as_str())),
        (Some(b.clone()), None, Some(layer.clone()))
    );
    assert_eq!((b.on(&layer), layer.on(&b)), (None, None), "a layer stands on a whole tree");
    assert_eq!(a.on(&TreeKey::new("git-sha256", "b").expect("a key")), None, "of one kind");
}

#[test]
fn keys_are_plain_names() {
    assert_eq!(
        TreeKey::new("git", "../A/b").map(|key| key.to_string()),
        Some("git----/-b".replace('/', "-"))
    );
    assert_eq!(TreeKey::new("", "x"), None);
    assert_eq!(TreeKey::new("git", &"x".repeat(300)), None);
    assert_eq!(TreeKey::of_name("git-.."), None);
    assert!(TreeKey::of_name("git-0a").is_some());
}

#[test]
fn names_of_contents_are_read_back() {
    let names = [
        ONE,
        EMPTY,
        &format!("sha256:{}/12", "0f".repeat(32)),
        &format!("git-sha256:{}", "a0".repeat(32)),
    ];
    for name in names {
        assert_eq!(name.parse::<ContentName>().expect("a name").to_string(), name);
    }
    for name in ["sha256:00", "git-sha1:", &ONE.to_uppercase(), "md5:00"] {
        name.parse::<ContentName>().expect_err(name);
    }
}
