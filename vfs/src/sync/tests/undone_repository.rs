//! An undo breaks no repository, whatever was done in it since.

use std::path::Path;

use super::super::testing::*;
use super::super::*;
use crate::fs::OsFs;
use crate::testing::git;

/// git as in [`git()`], for scripts.
const GIT: &str = "export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
    git() { command git -c user.name=t -c user.email=t@example.invalid \"$@\"; }";
const TREE: &str = "git init -qb main .; echo a > a; git add .; git commit -qm one";
const COMMIT: &str = "echo b >> a; git commit -qam two";

/// A repository in which a run did something that was written back.
fn world(place: Where, tree: &str, guest: &str) -> World {
    let world = World::new(place, &format!("{GIT}\n{tree}"));
    world.guest(&format!("{GIT}\n{guest}"));
    with_plan(&world);
    world.drop_layer();
    world
}

fn with_plan(world: &World) {
    let mut set = world.collect();
    world.with_source(|source| unite(&OsFs, source, &mut set)).expect("united");
    let report = world.apply(&OsFs, &plan(&set, &rules(OnConflict::Host))).expect("applied");
    assert!(report.is_complete(), "{report:?}");
}

/// Returns what of a write-back stays, once no repository is broken.
fn undone(world: &World, repository: &str) -> Vec<String> {
    let report = world.undo(&OsFs).expect("undone");
    assert_eq!(report.failed, [], "{report:?}");
    let stayed = report.changed_since.iter().map(|path| path.display().to_string());
    let mut stayed: Vec<String> = stayed.collect();
    stayed.sort();
    let root = world.root().join(repository);
    let found = git(&root, &["fsck", "--full", "--no-dangling"]);
    assert_eq!(found, "", "{stayed:?}");
    git(&root, &["diff", "--cached"]);
    git(&root, &["log", "--all", "--patch"]);
    stayed
}

fn is_undone(world: &World) -> bool {
    let ledger = Ledger::read(&OsFs, world.run.fd()).expect("read");
    ledger.applied(MOUNT).next().is_none()
}

fn said(root: &Path, words: &[&str]) -> String {
    git(root, words).trim_end().to_owned()
}

#[test]
fn commit_is_taken_back_after_git_looked_at_the_files() {
    for place in PLACES {
        let world = world(place, TREE, COMMIT);
        let index = || std::fs::read(world.root().join(".git/index")).expect("an index");
        let before = index();
        world.host(&format!("{GIT}\ngit update-index --force-write-index; git status"));
        assert_ne!(index(), before, "git wrote it anew");
        assert_eq!(undone(&world, ""), [""; 0], "{place:?}");
        assert_eq!(said(&world.root(), &["log", "--format=%s"]), "one");
        assert_eq!(said(&world.root(), &["status", "--porcelain"]), "");
        assert!(is_undone(&world));
    }
}

/// As when an undo of a later run told this one what came back, and another command opens it.
#[test]
fn what_an_index_said_is_known_when_files_are_noted_again() {
    let look = format!("{GIT}\ngit update-index --force-write-index; git status");
    for (since, stays) in [(look.as_str(), 0), (&format!("{GIT}\necho c > c; git add c"), 5)] {
        let world = world(Where::Same, TREE, COMMIT);
        world.host(&look);
        world.drop_layer();
        world.host(since);
        world.drop_layer();
        assert_eq!(undone(&world, "").len(), stays, "{since}");
    }
}

/// What an earlier write-back of the same run left is not what the last one did.
#[test]
fn index_that_says_what_an_earlier_write_back_left_is_another() {
    let mut world = world(Where::Same, TREE, "echo b > b; git add b");
    world.host("cp .git/index ../index");
    world.stamp = world.stamp_now();
    world.guest(&format!("{GIT}\necho c > c; git add c"));
    with_plan(&world);
    world.host("cp ../index .git/index");
    world.drop_layer();
    assert_eq!(undone(&world, ""), [".git/index"]);
}

#[test]
fn repository_that_moved_since_stays_where_it_is() {
    let state = ["COMMIT_EDITMSG", "index", "logs/HEAD", "logs/refs/heads/main", "refs/heads/main"];
    let state = state.map(|path| format!(".git/{path}"));
    for (guest, since, expected, stays) in [
        (COMMIT, "echo c > c; git add c; git commit -qm three", "three\ntwo\none", &state[..]),
        (COMMIT, "echo c > c; git add c", "two\none", &state[..]),
        ("echo b > b; git add b", "git commit -qm three", "three\none", &state[1..2]),
    ] {
        for place in PLACES {
            let world = world(place, TREE, guest);
            world.host(&format!("{GIT}\n{since}"));
            assert_eq!(undone(&world, ""), stays, "{place:?}: {since}");
            assert_eq!(said(&world.root(), &["log", "--format=%s"]), expected);
            assert!(!is_undone(&world));
        }
    }
}

#[test]
fn what_names_an_object_of_the_run_keeps_it() {
    for since in ["git branch keep", "git tag keep", "git worktree add -q ../keep"] {
        let world = world(Where::Same, TREE, COMMIT);
        world.host(&format!("{GIT}\n{since}"));
        assert_eq!(undone(&world, ""), [""; 0], "{since}");
        assert_eq!(said(&world.root(), &["log", "-1", "--format=%s", "keep"]), "two");
        assert_eq!(said(&world.root(), &["log", "--format=%s"]), "one");
        assert!(is_undone(&world), "what only stays is no part of the run");
    }
}

#[test]
fn repository_that_the_run_made_goes_as_a_whole_or_not_at_all() {
    let guest = format!("mkdir p; cd p; {TREE}");
    for place in PLACES {
        let world = world(place, "touch other", &guest);
        let before = world.snapshot();
        world.host("cd p; git status; git log");
        assert_eq!(world.undo(&OsFs).expect("undone").changed_since, Vec::<&Path>::new());
        assert!(!world.root().join("p").exists(), "{before:?}");
    }
    for since in ["git branch keep", "echo b > b; git add b", "git commit -q --allow-empty -m two"]
    {
        let world = world(Where::Same, "touch other", &guest);
        world.host(&format!("{GIT}\ncd p; {since}"));
        assert_eq!(undone(&world, "p"), ["p", "p/.git"], "{since}");
        let log = said(&world.root().join("p"), &["log", "--all", "--format=%s"]);
        assert!(log.ends_with("one"), "{log}");
    }
}

/// Nothing but what a run added stays.
#[test]
fn object_that_the_run_took_away_or_wrote_over_comes_back() {
    let tree = format!(
        "{TREE}; git init -q --bare .git/modules/lib; cd .git/modules/lib/objects/pack
        echo one > one.pack; echo two > two.pack; mkdir ../ab; echo ab > ../ab/cd"
    );
    for guest in [
        "cd .git/modules/lib/objects; rm pack/one.pack; echo evil > pack/two.pack; rm -r ab",
        "rm -r .git/modules/lib/objects",
    ] {
        for place in PLACES {
            let world = world(place, &tree, guest);
            assert_eq!(undone(&world, ""), [""; 0], "{place:?} {guest}");
            let text = |path: &str| {
                let path = world.root().join(".git/modules/lib/objects").join(path);
                std::fs::read_to_string(path).expect("it is back")
            };
            assert_eq!(
                ["pack/one.pack", "pack/two.pack", "ab/cd"].map(text),
                ["one\n", "two\n", "ab\n"]
            );
            assert!(is_undone(&world));
        }
    }
}

#[test]
fn submodule_that_the_run_made_goes_as_a_whole() {
    let guest =
        "git init -q --bare .git/modules/new; cd .git/modules/new; echo o > objects/pack/p.pack";
    let world = world(Where::Same, TREE, guest);
    assert_eq!(undone(&world, ""), [""; 0]);
    assert!(!world.root().join(".git/modules").exists() && is_undone(&world));
}

/// A command can't keep its commit by closing directories.
#[test]
fn closed_directories_of_git_are_taken_back() {
    for closed in [".git/logs", ".git/refs", ".git/refs/heads .git/refs"] {
        let world = world(Where::Same, TREE, &format!("{COMMIT}; chmod 000 {closed}"));
        let report = world.undo(&OsFs).expect("undone");
        assert!(
            report.changed_since.is_empty() && report.failed.is_empty(),
            "{closed}: {report:?}"
        );
        assert_eq!(said(&world.root(), &["log", "--format=%s"]), "one");
    }
}
