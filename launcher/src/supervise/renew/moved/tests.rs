use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

struct Tree(tempfile::TempDir);

impl Tree {
    fn new(names: &[&str]) -> Self {
        let tree = Self(tempfile::tempdir().expect("a directory"));
        for name in names {
            tree.write(name, "secret");
        }
        tree
    }

    fn root(&self) -> PathBuf {
        self.0.path().canonicalize().expect("a path")
    }

    /// Returns a path; of the root, its own name, for a closed directory can't be searched for `.`.
    fn at(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root() } else { self.root().join(path) }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.root().join(from), self.root().join(to)).expect("moved");
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.root().join(name)).ok()
    }

    /// Watches names as a run would.
    fn watch(&self, names: &[&str]) -> Renewal {
        let source = HostPath::new(self.root()).expect("a path");
        let renew = |name: &&str| Renew {
            source: source.clone(),
            at: endow_policy::GuestPath::new("/w").expect("a path"),
            path: (*name).into(),
            cover: Cover::Hidden,
        };
        let names: Vec<Renew> = names.iter().map(renew).collect();
        Renewal::new(&names, Default::default()).expect("watched").expect("names")
    }
}

/// Hides `conf/s` and every `.env`, but for those in `vendor`.
fn hides(_: &HostPath, path: &Path, _: bool) -> bool {
    let is_env = path.file_name() == Some(OsStr::new(".env")) && !path.starts_with("vendor");
    is_env || path == Path::new("conf/s") || path == Path::new("a/b/conf/.env")
}

fn put_back(watched: &Renewal, hides: &Hides<'_>) -> Vec<Moved> {
    watched.put_back(&PutBack { hides, run: "/nowhere".into(), is_last: false })
}

fn back(number: usize, to: &str) -> Moved {
    Moved { number, to: to.into(), back: Ok(Back::Free) }
}

#[test]
fn name_that_is_seen_where_it_was_moved_goes_back_alone() {
    let tree = Tree::new(&["conf/s", "conf/other", "a/b/conf/.env"]);
    let watched = tree.watch(&["conf/s", "a/b/conf/.env"]);
    assert_eq!(put_back(&watched, &hides), []);
    fs::set_permissions(tree.root().join("a/b"), Permissions::from_mode(0o751)).expect("chmod");
    tree.rename("conf", "moved");
    tree.rename("a/b", "vendor");
    fs::remove_dir(tree.root().join("a")).expect("removed");
    let moved = put_back(&watched, &hides);
    assert_eq!(moved, [back(0, "/w/moved/s"), back(1, "/w/vendor/conf/.env")]);
    assert_eq!(tree.read("conf/s").as_deref(), Some("secret"));
    assert_eq!(tree.read("moved/other").as_deref(), Some("secret"));
    assert_eq!(tree.read("a/b/conf/.env").as_deref(), Some("secret"));
    assert!(!tree.root().join("conf/other").exists() && tree.root().join("vendor/conf").exists());
}

#[test]
fn name_that_is_hidden_where_it_was_moved_stays_there() {
    let tree = Tree::new(&["a/.env", "a/x"]);
    let watched = tree.watch(&["a/.env", "a/x"]);
    tree.rename("a", "b");
    assert_eq!(put_back(&watched, &hides), []);
    assert!(tree.root().join("b/.env").exists() && tree.root().join("b/x").exists());
}

/// No command moves anything out of its mount: the host's user did.
#[test]
fn what_the_host_took_elsewhere_stays_there() {
    let tree = Tree::new(&["conf/s"]);
    let elsewhere = tempfile::tempdir().expect("a directory");
    let watched = tree.watch(&["conf/s"]);
    fs::rename(tree.root().join("conf"), elsewhere.path().join("safe")).expect("moved");
    assert_eq!(put_back(&watched, &hides), []);
    assert!(elsewhere.path().join("safe/s").exists() && !tree.root().join("conf").exists());
}

/// What stands in the way goes where the name was meanwhile.
#[test]
fn nothing_is_replaced() {
    let tree = Tree::new(&["conf/s", "d/conf/.env", "d/conf/e/.env"]);
    let watched = tree.watch(&["conf/s", "d/conf/.env", "d/conf/e/.env"]);
    tree.rename("conf", "moved");
    tree.write("conf/s", "new");
    tree.rename("d", "vendor");
    symlink("vendor", tree.root().join("d")).expect("a link");
    let moved = put_back(&watched, &hides);
    let taken = |number, to: &str, aside: &str| Moved {
        back: Ok(Back::For(aside.into())),
        ..back(number, to)
    };
    let expected = [
        taken(0, "/w/moved/s", "/w/moved/s"),
        taken(1, "/w/vendor/conf/.env", "/w/vendor/conf/d"),
        back(2, "/w/vendor/conf/e/.env"),
    ];
    assert_eq!(moved, expected);
    assert_eq!(tree.read("conf/s").as_deref(), Some("secret"));
    assert_eq!(tree.read("moved/s").as_deref(), Some("new"));
    assert_eq!(tree.read("d/conf/.env").as_deref(), Some("secret"));
    let link = fs::read_link(tree.root().join("vendor/conf/d")).expect("a link");
    assert_eq!(link, Path::new("vendor"));
}

/// Where hidden names stand in the way of others, all of them come back.
#[test]
fn names_that_took_the_place_of_others_go_back_too() {
    let names = ["a/s", "b/s", "c/s"];
    for last in ["y", "c"] {
        let hides =
            |_: &HostPath, path: &Path, _: bool| names.iter().any(|it| path == Path::new(it));
        let tree = Tree::new(&[]);
        for name in names {
            tree.write(name, name);
        }
        let watched = tree.watch(&names);
        tree.rename("a", "x");
        tree.rename("b", "a");
        tree.rename("c", "b");
        tree.rename("x", last);
        let moved = put_back(&watched, &hides);
        assert!(moved.iter().all(|it| it.back == Ok(Back::Free)), "{moved:?}");
        for name in names {
            assert_eq!(tree.read(name).as_deref(), Some(name), "{moved:?}");
        }
        assert!(!tree.root().join("y/s").exists());
        assert_eq!(put_back(&watched, &hides), []);
    }
}

/// A path that is too long for the kernel to tell leads to a name all the same.
#[test]
fn name_that_is_very_deep_goes_back() {
    for many in [false, true] {
        let names: Vec<String> = (0..300).map(|number| format!("d{number}/.env")).collect();
        let mut all: Vec<&str> =
            if many { names.iter().map(String::as_str).collect() } else { vec![] };
        all.push("conf/s");
        let tree = Tree::new(&all);
        let watched = tree.watch(&all);
        tree.rename("conf", "cur");
        let long = "x".repeat(250);
        for _ in 0..17 {
            fs::create_dir(tree.root().join("t")).expect("made");
            tree.rename("cur", &format!("t/{long}"));
            tree.rename("t", "cur");
        }
        let moved = put_back(&watched, &hides);
        let number = all.len() - 1;
        if many {
            // Nobody can look there, which is told.
            assert_eq!(moved, [Moved { back: Err(Errno::NOENT), ..back(number, "/w") }]);
        } else {
            assert_eq!(moved, [back(number, "/w")]);
            assert_eq!(tree.read("conf/s").as_deref(), Some("secret"));
        }
    }
}

/// Where directories are not held open, closed ones are looked into, too.
#[test]
fn names_of_very_many_directories_that_were_closed_go_back() {
    let names: Vec<String> = (0..300).map(|number| format!("all/d{number}/.env")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let tree = Tree::new(&names);
    let watched = tree.watch(&names);
    fs::create_dir(tree.root().join("vendor")).expect("made");
    tree.rename("all", "vendor/all");
    for closed in ["vendor/all/d7", "vendor/all"] {
        fs::set_permissions(tree.root().join(closed), Permissions::from_mode(0o0)).expect("chmod");
    }
    let moved = put_back(&watched, &hides);
    assert!(moved.len() == 300 && moved.iter().all(|it| it.back == Ok(Back::Free)), "{moved:?}");
    for name in names {
        assert_eq!(tree.read(name).as_deref(), Some("secret"), "{name}");
    }
}

/// What was taken away with a directory that is protected comes back when nothing is looked at any more.
#[test]
fn name_that_was_taken_away_goes_back_last() {
    let (tree, run) = (Tree::new(&["conf/s", "a/b/conf/.env"]), Tree::new(&["layer/x"]));
    let watched = tree.watch(&["conf/s", "a/b/conf/.env"]);
    for (from, to) in [("conf", "layer/conf"), ("a/b/conf", "layer/.env")] {
        fs::rename(tree.root().join(from), run.root().join(to)).expect("taken");
    }
    tree.write("a/b/conf/.env", "new");
    let rules = |is_last| PutBack { hides: &hides, run: run.root(), is_last };
    assert_eq!(watched.put_back(&rules(false)), []);
    let taken = Moved { number: 1, to: "/w".into(), back: Err(Errno::EXIST) };
    assert_eq!(watched.put_back(&rules(true)), [back(0, "/w"), taken]);
    assert_eq!(tree.read("conf/s").as_deref(), Some("secret"));
    assert_eq!(tree.read("a/b/conf/.env").as_deref(), Some("new"));
    assert_eq!(run.read("layer/.env/.env").as_deref(), Some("secret"));
}

/// What the command made in the place of a name takes its place elsewhere, also where that is hidden.
#[test]
fn name_whose_place_was_taken_goes_back() {
    let tree = Tree::new(&["a/.env"]);
    let watched = tree.watch(&["a/.env"]);
    tree.rename("a", "b");
    tree.write("a/.env", "forged");
    let taken = Moved { back: Ok(Back::For("/w/b/.env".into())), ..back(0, "/w/b/.env") };
    assert_eq!(put_back(&watched, &hides), [taken]);
    let read = |name: &str| tree.read(name).expect("there");
    assert_eq!((&*read("a/.env"), &*read("b/.env")), ("secret", "forged"));
}

/// Where there is no room for what stands in the way, all stays as it was.
#[test]
fn what_can_not_be_put_aside_stays() {
    let tree = Tree::new(&["d/conf/.env"]);
    let watched = tree.watch(&["d/conf/.env"]);
    tree.rename("d", "vendor");
    tree.write("d", "in the way");
    tree.write("vendor/conf/d", "other");
    for number in 1..100 {
        tree.write(&format!("vendor/conf/d.{number}"), "other");
    }
    let left = Moved { back: Err(Errno::EXIST), ..back(0, "/w/vendor/conf/.env") };
    assert_eq!(put_back(&watched, &hides), [left]);
    assert_eq!(tree.read("d").as_deref(), Some("in the way"));
    assert_eq!(tree.read("vendor/conf/d").as_deref(), Some("other"));
    assert_eq!(tree.read("vendor/conf/.env").as_deref(), Some("secret"));
}

/// A directory is written to itself when it gets another parent.
#[test]
fn directory_that_is_closed_itself_goes_back() {
    let tree = Tree::new(&["conf/s/in"]);
    let watched = tree.watch(&["conf/s"]);
    tree.rename("conf", "moved");
    let mode = |mode| Permissions::from_mode(mode);
    fs::set_permissions(tree.root().join("moved/s"), mode(0o500)).expect("chmod");
    assert_eq!(put_back(&watched, &hides), [back(0, "/w/moved/s")]);
    let found = fs::metadata(tree.root().join("conf/s")).expect("there");
    assert_eq!(found.permissions().mode() & 0o777, 0o500);
    assert_eq!(tree.read("conf/s/in").as_deref(), Some("secret"));
}

/// The command can close its own directories on the way, too.
#[test]
fn directories_that_are_closed_to_their_owner_give_it_back() {
    for closed in [0o500, 0o0] {
        let tree = Tree::new(&["conf/s", "a/b/conf/.env"]);
        let watched = tree.watch(&["conf/s", "a/b/conf/.env"]);
        tree.rename("conf", "moved");
        tree.rename("a/b", "vendor");
        let chmod = |path: &str, mode| {
            let mode = Permissions::from_mode(mode);
            fs::set_permissions(tree.at(path), mode).expect("chmod");
        };
        chmod("moved", closed);
        chmod("a", closed);
        chmod("", closed);
        let expected = [back(0, "/w/moved/s"), back(1, "/w/vendor/conf/.env")];
        assert_eq!(put_back(&watched, &hides), expected);
        let mode = |path: &str| {
            let found = fs::metadata(tree.at(path)).expect("there");
            found.permissions().mode() & 0o777
        };
        assert_eq!(mode(""), closed);
        chmod("", 0o700);
        assert_eq!([mode("moved"), mode("a")], [closed, closed]);
        chmod("a", 0o700);
        assert_eq!(tree.read("conf/s").as_deref(), Some("secret"));
        assert_eq!(tree.read("a/b/conf/.env").as_deref(), Some("secret"));
    }
}

/// More directories than are held open are looked for by what is in them.
#[test]
fn names_of_very_many_directories_are_found() {
    let names: Vec<String> = (0..300).map(|number| format!("d{number}/.env")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let tree = Tree::new(&names);
    let watched = tree.watch(&names);
    fs::create_dir(tree.root().join("vendor")).expect("made");
    tree.rename("d7", "vendor/d7");
    tree.rename("d8", "other");
    // By a link all would seem to be as it was.
    symlink("vendor/d7", tree.root().join("d7")).expect("a link");
    let moved = put_back(&watched, &hides);
    let aside = Back::For("/w/vendor/d7/d7".into());
    assert_eq!(moved, [Moved { back: Ok(aside), ..back(7, "/w/vendor/d7/.env") }]);
    assert_eq!(tree.read("d7/.env").as_deref(), Some("secret"));
}

/// Nobody can look so far down.
fn make_deep(tree: &Tree) {
    fs::create_dir_all(tree.root().join("d/".repeat(200))).expect("made");
}

/// Where what was taken away could not be looked through, a name that is nowhere else may be in it.
#[test]
fn name_that_may_have_been_taken_away_is_told() {
    for (is_deep, told) in [(false, vec![]), (true, vec![Err(Errno::NOENT)])] {
        let (tree, run) = (Tree::new(&["conf/s"]), Tree::new(&["layer/x"]));
        let watched = tree.watch(&["conf/s"]);
        fs::remove_dir_all(tree.root().join("conf")).expect("removed");
        if is_deep {
            make_deep(&run);
        }
        let moved = watched.put_back(&PutBack { hides: &hides, run: run.root(), is_last: true });
        assert_eq!(moved.into_iter().map(|it| it.back).collect::<Vec<_>>(), told);
    }
}

/// The host may remove a directory; the command can't.
#[test]
fn name_that_was_removed_is_not_sought() {
    let tree = Tree::new(&["conf/s"]);
    let watched = tree.watch(&["conf/s"]);
    make_deep(&tree);
    fs::remove_dir_all(tree.root().join("conf")).expect("removed");
    assert_eq!(put_back(&watched, &hides), []);
}
