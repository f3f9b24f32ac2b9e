use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use endow_policy::{
    Access, BackendSpec, GuestPath, HostPath, Made, MountClass, MountOptions, MountSpec, Origin,
};
use proptest::prelude::*;

use super::*;

fn guest(path: &str) -> GuestPath {
    GuestPath::new(path).expect("a path")
}

fn host(path: &str) -> HostPath {
    HostPath::new(path).expect("a path")
}

fn spec(at: &str, backend: BackendSpec, access: Access) -> MountSpec {
    let origin = Origin::Flag(format!("--at {at}").into());
    let (options, class) = (MountOptions::default(), MountClass::Granted);
    MountSpec { at: guest(at), backend, access, options, class, origin }
}

fn physical(at: &str, source: &str, access: Access) -> MountSpec {
    spec(at, BackendSpec::Physical { host: host(source) }, access)
}

fn ro(at: &str) -> MountSpec {
    physical(at, at, Access::Ro)
}

fn memory(at: &str) -> MountSpec {
    spec(at, BackendSpec::Memory { size_bytes: 1, inodes: None, mode: 0o755 }, Access::Rw)
}

fn table(specs: &[MountSpec]) -> MountTable {
    MountTable::new(specs.to_vec()).expect("a table")
}

fn places(table: &MountTable) -> Vec<String> {
    table.iter().map(|mount| mount.at().to_string()).collect()
}

#[test]
fn order_is_parents_first() {
    let table = table(&[ro("/a/b/c"), ro("/a-b"), ro("/a/b"), ro("/a"), ro("/")]);
    assert_eq!(places(&table), ["/", "/a", "/a/b", "/a/b/c", "/a-b"]);
}

#[test]
fn duplicate_names_both_origins() {
    let error = MountTable::new(vec![ro("/a"), ro("/b"), memory("/a")]).expect_err("refused");
    assert_eq!(error.to_string(), "mounted twice: /a (--at /a, --at /a)");
}

#[test]
fn mount_below_a_made_file_is_refused() {
    let passwd = spec("/etc/passwd", BackendSpec::Made { made: Made::Passwd }, Access::Ro);
    let error = MountTable::new(vec![ro("/etc/passwd/x"), passwd]).expect_err("refused");
    assert_eq!(error.to_string(), "mounted below a file: /etc/passwd/x (--at /etc/passwd/x)");
}

#[test]
fn covering_is_the_deepest_by_whole_names() {
    let table = table(&[ro("/a"), ro("/a/b"), ro("/a/b/c/d"), ro("/a-b"), ro("/x/y")]);
    let covering = |path| table.covering(&guest(path)).map(|mount| mount.at().to_string());
    assert_eq!(covering("/a"), Some("/a".into()));
    assert_eq!(covering("/a/bc"), Some("/a".into()));
    assert_eq!(covering("/a/b/c/e"), Some("/a/b".into()));
    assert_eq!(covering("/a/b/c/d/e"), Some("/a/b/c/d".into()));
    assert_eq!(covering("/a/z"), Some("/a".into()));
    assert_eq!(covering("/b"), None);
    assert_eq!(covering("/x"), None);
    assert_eq!(covering("/"), None);
}

#[test]
fn children_are_the_direct_ones() {
    let table = table(&[ro("/"), ro("/a"), ro("/a/b/c"), ro("/a/b/c/d"), ro("/a/e"), ro("/f")]);
    let children = |at| -> Vec<String> {
        let mount = table.at(&guest(at)).expect("a mount");
        table.children(mount).map(|child| child.at().to_string()).collect()
    };
    assert_eq!(children("/"), ["/a", "/f"]);
    assert_eq!(children("/a"), ["/a/b/c", "/a/e"]);
    assert!(children("/f").is_empty());
}

#[test]
fn moved_mount_has_other_paths_on_the_host() {
    let table = table(&[physical("/b", "/c", Access::Ro)]);
    let moved = table.at(&guest("/b")).expect("a mount");
    assert_eq!(moved.host_path(&guest("/b/d")), Some(host("/c/d")));
    assert_eq!(moved.host_path(&guest("/d")), None);
}

struct Host(&'static [&'static str]);

impl HostView for Host {
    fn exists(&self, path: &HostPath) -> bool {
        self.0.iter().any(|known| Path::new(known).starts_with(path.as_path()))
    }

    fn names(&self, path: &HostPath) -> Option<Vec<OsString>> {
        let below = |known: &&str| {
            let rest = Path::new(*known).strip_prefix(path.as_path()).ok()?;
            rest.iter().next().map(ToOwned::to_owned)
        };
        let names: BTreeSet<OsString> = self.0.iter().filter_map(below).collect();
        self.exists(path).then(|| names.into_iter().collect())
    }
}

#[test]
fn shadow_is_what_exists_and_differs() {
    let host_view = Host(&["/a/x", "/a/y", "/a/same", "/o"]);
    let table = table(&[ro("/a"), memory("/a/x"), memory("/a/none"), ro("/a/same")]);
    let shadows = table.shadowed(&host_view);
    let [Shadow::Part { by, of, hidden }] = shadows.as_slice() else {
        panic!("one shadow: {shadows:?}");
    };
    assert_eq!((by.at(), of.at(), hidden), (&guest("/a/x"), &guest("/a"), &host("/a/x")));
}

#[test]
fn shadow_of_a_moved_mount_is_by_its_source() {
    let table = table(&[physical("/g", "/h", Access::Ro), memory("/g/x")]);
    let shadows = table.shadowed(&Host(&["/h/x/file", "/h/other"]));
    assert!(matches!(&shadows[..], [Shadow::Part { hidden, .. }] if hidden == &host("/h/x")));
    assert!(table.shadowed(&Host(&["/g/x", "/h/other"])).is_empty());
}

#[test]
fn shadow_is_whole_when_every_name_is_covered() {
    let table = table(&[ro("/a"), memory("/a/x"), memory("/a/y")]);
    let whole = |view: &Host| {
        table.shadowed(view).iter().any(|shadow| matches!(shadow, Shadow::Whole { .. }))
    };
    assert!(whole(&Host(&["/a/x", "/a/y"])));
    assert!(!whole(&Host(&["/a/x", "/a/y", "/a/z"])));
}

fn some_path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "ab", "a-b", "z"]), 0..5)
        .prop_map(|names| format!("/{}", names.join("/")))
}

fn naive<'a>(specs: &'a [MountSpec], path: &GuestPath) -> Option<&'a GuestPath> {
    let above = specs.iter().map(|spec| &spec.at).filter(|at| path.is_within(at));
    above.max_by_key(|at| at.as_path().components().count())
}

proptest! {
    #[test]
    fn order_of_asking_is_irrelevant(
        places in prop::collection::btree_set(some_path(), 0..20),
        seed in any::<u64>(),
    ) {
        let specs: Vec<_> = places.iter().map(|at| ro(at)).collect();
        let mut shuffled = specs.clone();
        shuffled.sort_by_key(|spec| {
            spec.at.as_bytes().iter().fold(seed, |sum, byte| {
                sum.rotate_left(7).wrapping_mul(31) ^ u64::from(*byte)
            })
        });
        prop_assert_eq!(MountTable::new(specs), MountTable::new(shuffled));
    }

    #[test]
    fn covering_equals_a_naive_scan(
        places in prop::collection::btree_set(some_path(), 0..20),
        path in some_path(),
    ) {
        let specs: Vec<_> = places.iter().map(|at| ro(at)).collect();
        let table = table(&specs);
        let path = guest(&path);
        prop_assert_eq!(table.covering(&path).map(Mount::at), naive(&specs, &path));
    }

    #[test]
    fn parents_come_first_and_cover(places in prop::collection::btree_set(some_path(), 0..20)) {
        let specs: Vec<_> = places.iter().map(|at| ro(at)).collect();
        let table = table(&specs);
        for mount in &table {
            let others: Vec<_> = specs.iter().filter(|s| &s.at != mount.at()).cloned().collect();
            let parent = table.parent(mount);
            prop_assert_eq!(parent.map(Mount::at), naive(&others, mount.at()));
            prop_assert!(parent.is_none_or(|parent| parent.index() < mount.index()));
            prop_assert!(parent.is_none_or(|parent| table.children(parent).any(|c| c == mount)));
        }
    }
}
