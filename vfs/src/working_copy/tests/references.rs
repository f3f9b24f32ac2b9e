//! Setting and taking one reference.

use std::os::unix::fs::PermissionsExt;

use super::*;

const NAME: &str = "refs/endow/run";

struct Refs {
    world: World,
    one: String,
    two: String,
}

impl Refs {
    fn new() -> Self {
        let world = World::small("echo 1 > top; git add -A; git commit -qm zero; echo 2 > top");
        let [one, two] = ["HEAD~1", "HEAD"].map(|rev| world.git(&["rev-parse", rev]));
        Self { world, one, two }
    }

    fn put_at(&self, name: &str, expected: Option<&str>, new: &str) -> Result<Landed, LandError> {
        put_reference(&OsFs, self.world.open("host/.git").as_fd(), name, (expected, new))
    }

    fn put(&self, expected: Option<&str>, new: &str) -> Result<Landed, LandError> {
        self.put_at(NAME, expected, new)
    }

    fn take(&self, expected: &str) -> Result<(), LandError> {
        take_reference(&OsFs, self.world.open("host/.git").as_fd(), NAME, expected)
    }

    fn is(&self, expected: &str) {
        assert_eq!(self.world.git(&["rev-parse", NAME]), expected);
        self.is_unlocked();
    }

    fn is_gone(&self) {
        assert_eq!(self.world.git(&["for-each-ref", NAME]), "");
        self.is_unlocked();
    }

    fn is_unlocked(&self) {
        let locks = self.world.host_files().into_keys();
        let locks: Vec<_> =
            locks.filter(|it| it.extension().is_some_and(|it| it == "lock")).collect();
        assert_eq!(locks, Vec::<PathBuf>::new());
    }
}

fn moved(found: Option<&str>) -> impl Fn(&LandError) -> bool + use<'_> {
    move |error| matches!(error, LandError::Moved { found: it, .. } if it.as_deref() == found)
}

#[test]
fn reference_is_set_when_it_is_what_was_expected() {
    let refs = Refs::new();
    let (one, two) = (refs.one.as_str(), refs.two.as_str());
    assert!(moved(None)(&refs.put(Some(one), two).expect_err("missing")));
    refs.is_gone();
    assert_eq!(refs.put(None, one).expect("set"), Landed::Now);
    refs.is(one);
    assert_eq!(refs.put(None, one).expect("set"), Landed::Before);
    assert!(moved(Some(one))(&refs.put(None, two).expect_err("there")));
    assert!(moved(Some(one))(&refs.put(Some(two), &"0".repeat(40)).expect_err("another")));
    assert_eq!(refs.put(Some(one), two).expect("set"), Landed::Now);
    refs.is(two);
}

#[test]
fn packed_reference_is_found() {
    let refs = Refs::new();
    let (one, two) = (refs.one.as_str(), refs.two.as_str());
    refs.put(None, one).expect("set");
    refs.world.git(&["pack-refs", "--all"]);
    assert!(moved(Some(one))(&refs.put(None, two).expect_err("packed")));
    assert_eq!(refs.put(None, one).expect("packed"), Landed::Before);
    assert_eq!(refs.put(Some(one), two).expect("set"), Landed::Now);
    refs.is(two);
    // Both of them go, and the others stay.
    refs.world.git(&["tag", "-a", "-m", "x", "v1"]);
    refs.world.git(&["pack-refs", "--all", "--no-prune"]);
    assert!(moved(Some(two))(&refs.take(one).expect_err("another")));
    refs.is(two);
    refs.take(two).expect("taken");
    refs.is_gone();
    refs.take(two).expect("gone");
    assert_eq!(refs.world.git(&["rev-parse", "main", "v1^{}"]), format!("{two}\n{two}"));
    refs.world.fsck();
}

#[test]
fn annotated_tag_goes_with_what_it_stands_for() {
    let refs = Refs::new();
    refs.world.git(&["tag", "-a", "-m", "x", "v1"]);
    let tag = refs.world.git(&["rev-parse", "v1"]);
    refs.put(None, &tag).expect("set");
    refs.world.git(&["pack-refs", "--all"]);
    refs.take(&tag).expect("taken");
    refs.is_gone();
    assert_eq!(refs.world.git(&["rev-parse", "v1^{}"]), refs.two);
    let packed = fs::read_to_string(refs.world.path().join("host/.git/packed-refs")).expect("read");
    assert_eq!(packed.matches('^').count(), 1);
}

#[test]
fn locked_references_stay() {
    let refs = Refs::new();
    let (one, two) = (refs.one.as_str(), refs.two.as_str());
    refs.put(None, one).expect("set");
    let locked = |name: &str| {
        let lock = refs.world.path().join("host/.git").join(name);
        fs::write(&lock, "").expect("written");
        let (put, taken) = (refs.put(Some(one), two), refs.take(one));
        assert!(lock.exists());
        fs::remove_file(lock).expect("removed");
        (put, taken)
    };
    let (put, taken) = locked("refs/endow/run.lock");
    assert!(matches!(put, Err(LandError::Locked { .. })));
    assert!(matches!(taken, Err(LandError::Locked { .. })));
    refs.is(one);
    refs.world.git(&["pack-refs", "--all"]);
    let (put, taken) = locked("packed-refs.lock");
    assert_eq!(put.expect("that lock is for others"), Landed::Now);
    assert!(moved(Some(two))(&taken.expect_err("another")));
    refs.is(two);
    let lock = refs.world.path().join("host/.git/packed-refs.lock");
    fs::write(&lock, "").expect("written");
    assert!(matches!(refs.take(two), Err(LandError::Locked { .. })));
    fs::remove_file(lock).expect("removed");
    refs.is(two);
}

#[test]
fn name_above_or_below_another_reference_is_refused() {
    let refs = Refs::new();
    let one = refs.one.as_str();
    for packed in [false, true] {
        for other in ["refs/endow", "refs/endow/run/more", "refs/endow/run/a/b"] {
            refs.world.git(&["update-ref", other, one]);
            if packed {
                refs.world.git(&["pack-refs", "--all"]);
            }
            let refused = refs.put(None, one).expect_err("in the way");
            let told = format!("{refused}");
            assert!(matches!(refused, LandError::InTheWay { .. }), "{other}: {told}");
            refs.is_unlocked();
            refs.world.fsck();
            refs.world.git(&["update-ref", "-d", other]);
        }
    }
    refs.put(None, one).expect("nothing is in the way any more");
    refs.is(one);
}

#[test]
fn empty_directories_in_the_place_are_no_references() {
    let refs = Refs::new();
    fs::create_dir_all(refs.world.path().join("host/.git/refs/endow/run/a/b")).expect("made");
    fs::create_dir_all(refs.world.path().join("host/.git/refs/endow/run/c")).expect("made");
    refs.take(&refs.one).expect("none");
    refs.put(None, &refs.one).expect("set");
    refs.is(&refs.one);
}

#[test]
fn symbolic_and_broken_references_stay() {
    let refs = Refs::new();
    let one = refs.one.as_str();
    refs.world.git(&["symbolic-ref", NAME, "refs/heads/main"]);
    assert!(moved(Some("ref: refs/heads/main"))(&refs.put(None, one).expect_err("symbolic")));
    assert!(moved(Some("ref: refs/heads/main"))(&refs.take(one).expect_err("symbolic")));
    refs.is(&refs.two);
    let path = refs.world.path().join("host/.git").join(NAME);
    fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink("../heads/main", &path).expect("a link");
    refs.put(Some(&refs.two), one).expect_err("a link");
    refs.take(&refs.two).expect_err("a link");
    refs.is(&refs.two);
    fs::remove_file(&path).expect("removed");
    fs::write(&path, "rubbish").expect("written");
    assert!(moved(Some("rubbish"))(&refs.put(None, one).expect_err("rubbish")));
    fs::remove_file(&path).expect("removed");
    refs.is_gone();
}

#[test]
fn names_that_no_reference_has_are_refused() {
    let refs = Refs::new();
    let before = refs.world.host_files();
    for name in [
        "config",
        "HEAD",
        "refs/../config",
        "/refs/x",
        "refs/heads/a..b",
        "refs/x.lock",
        "refs//x",
        "",
        "refs/",
    ] {
        refs.put_at(name, None, &refs.one).expect_err(name);
    }
    assert_eq!(refs.world.host_files(), before);
}

#[test]
fn descent_is_found_in_any_history() {
    let world = World::small(
        "echo 1 > t; git add -A; git commit -qm 1; git checkout -q -b side; echo 2 > s; git add -A; git commit -qm 2\n\
         git checkout -q main; echo 3 > t; git commit -qam 3; git merge -q -m m side",
    );
    let id = |rev: &str| -> Id { world.git(&["rev-parse", rev]).parse().expect("an id") };
    let is = |new: &str, old: &str| descends(&world.repository, &id(new), &id(old)).expect("read");
    assert!(
        is("main", "main") && is("main", "side") && is("main", "main~3") && is("side", "main~3")
    );
    assert!(!is("side", "main") && !is("main~3", "main") && !is("main~2", "side"));
}

#[test]
fn descent_is_found_where_history_is_cut_off() {
    let world =
        World::small("for i in 1 2 3 4; do echo $i > t; git add -A; git commit -qm $i; done");
    let clone =
        "git clone -q --depth 2 file://$PWD/host shallow; cd shallow; git rev-parse HEAD HEAD~1";
    let ids = in_user_namespace(world.path(), &format!("{BEGIN}{clone}"));
    let ids: Vec<Id> = ids.lines().map(|line| line.parse().expect("an id")).collect();
    let shallow = Repository::open(&world.path().join("shallow")).expect("opened");
    assert!(descends(&shallow, &ids[0], &ids[1]).expect("read"));
    assert!(!descends(&shallow, &ids[1], &ids[0]).expect("its parent is no fault"));
}

#[test]
fn packed_references_keep_their_bits() {
    let refs = Refs::new();
    refs.put(None, &refs.one).expect("set");
    refs.world.git(&["pack-refs", "--all"]);
    let packed = refs.world.path().join("host/.git/packed-refs");
    fs::set_permissions(&packed, fs::Permissions::from_mode(0o660)).expect("bits");
    refs.take(&refs.one).expect("taken");
    refs.is_gone();
    assert_eq!(packed.metadata().expect("a status").permissions().mode() & 0o777, 0o660);
}
