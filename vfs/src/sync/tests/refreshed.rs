//! git writes an index anew when it only looks, and that is no move of the repository.

use std::os::fd::AsFd;
use std::path::Path;

use super::super::testing::*;
use super::super::*;
use crate::fs::OsFs;
use crate::testing::git;

const GIT: &str = "export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
    git() { command git -c user.name=t -c user.email=t@example.invalid \"$@\"; }";
/// A repository with one of a submodule in it, and something staged.
const TREE: &str =
    "git init -qb main .; mkdir .git/modules; git init -qb main --separate-git-dir=.git/modules/s s
    echo 'gitdir: ../.git/modules/s' > s/.git; git -C s config core.worktree ../../../s
    echo s > s/s; git -C s add s; git -C s commit -qm one
    echo a > a; git add a; git commit -qm one; echo b > b; git add b";
const COMMIT: &str = "echo c > c; git add c; git commit -qm two";
const LOOK: &str =
    "git update-index --force-write-index; git -C s update-index --force-write-index";

/// A run during which the host did something.
fn world(guest: &str, since: &str) -> World {
    let world = World::new(Where::Same, &format!("{GIT}\n{TREE}"));
    let mut open = OpenIndexes::default();
    open.open(&OsFs, (MOUNT, world.root_fd().as_fd()), world.stamp);
    world.guest(&format!("{GIT}\n{guest}"));
    host(&world, since);
    open.note(&OsFs, world.run.fd(), &|_, _| true).expect("noted");
    world
}

fn host(world: &World, script: &str) {
    world.host(&format!("{GIT}\n{script}"));
}

/// Returns what changed, and whether the host moved too.
fn united(world: &World) -> (ChangeSet, bool) {
    let mut set = world.collect();
    let moved = world.with_source(|source| unite(&OsFs, source, &mut set)).expect("united");
    (set, !moved.is_empty())
}

fn write_back(world: &World, only: &dyn Fn(&Path) -> bool) {
    let set = united(world).0;
    let rules = Rules { only, ..rules(OnConflict::Host) };
    let report = world.apply(&OsFs, &plan(&set, &rules)).expect("applied");
    assert!(report.conflicts.is_empty() && report.failed.is_empty(), "{report:?}");
}

fn log(world: &World) -> String {
    git(&world.root(), &["log", "--format=%s"])
}

#[test]
fn commit_is_written_back_after_git_looked_at_the_files() {
    let world = world(COMMIT, LOOK);
    write_back(&world, &|_| true);
    assert_eq!(log(&world), "two\none\n");
    assert_eq!(git(&world.root(), &["diff", "--cached", "--name-only"]), "");
}

#[test]
fn index_of_a_submodule_is_written_back_after_git_looked_at_the_files() {
    let world = world("cd s; echo t > t; git add t; git commit -qm two", LOOK);
    write_back(&world, &|_| true);
    assert_eq!(git(&world.root().join("s"), &["log", "--format=%s"]), "two\none\n");
    assert_eq!(git(&world.root().join("s"), &["status", "--porcelain"]), "");
}

#[test]
fn host_that_moved_is_told_from_one_that_looked() {
    for guest in [COMMIT, "echo c > c; git add c", "git tag new"] {
        assert!(!united(&world(guest, LOOK)).1, "{guest}");
        for since in [
            "echo d > d; git add d",
            "git rm -q --cached a",
            "git commit -qm staged",
            "git switch -qc other",
            "git update-index --assume-unchanged a",
            // Written into the file that was open.
            "cp .git/index .git/i; GIT_INDEX_FILE=.git/i git rm -q --cached a; cat .git/i > .git/index",
        ] {
            assert!(united(&world(guest, since)).1, "{guest}: {since}");
        }
    }
}

#[test]
fn index_of_which_nothing_is_noted_counts_as_changed() {
    let world = World::new(Where::Same, &format!("{GIT}\n{TREE}"));
    // It was written since the run began.
    host(&world, "echo d > d; git add d");
    let mut open = OpenIndexes::default();
    open.open(&OsFs, (MOUNT, world.root_fd().as_fd()), world.stamp);
    world.guest(&format!("{GIT}\ngit tag new"));
    open.note(&OsFs, world.run.fd(), &|_, _| true).expect("noted");
    assert!(united(&world).1);
}

/// As of a rebase that is held and applied later.
#[test]
fn rest_is_written_back_after_git_looked_at_what_was() {
    let rebase = |path: &Path| path.starts_with(".git/rebase-merge");
    for (since, is_moved) in [(LOOK, false), ("echo d > d; git add d", true)] {
        let world =
            world(&format!("{COMMIT}; mkdir .git/rebase-merge; echo x > .git/rebase-merge/x"), "");
        write_back(&world, &|path| !rebase(path));
        world.prune();
        host(&world, since);
        let (set, moved) = united(&world);
        let conflicts = set.changes.iter().filter(|change| change.conflict.is_some());
        assert_eq!((moved, conflicts.count() > 0), (is_moved, is_moved), "{:?}", told(&set));
    }
}

/// The repository's own branches are no matter of a work tree that is added.
#[test]
fn linked_work_tree_is_written_back_though_the_host_moved() {
    let add = "git worktree add -q --detach ../w";
    for (guest, is_moved) in [(add, false), (&format!("{add}; git tag new"), true)] {
        let world = world(guest, "git commit -qm staged; git pack-refs --all");
        let (set, moved) = united(&world);
        let conflicts = set.changes.iter().filter(|change| change.conflict.is_some());
        assert_eq!((moved, conflicts.count() > 0), (is_moved, is_moved), "{:?}", told(&set));
    }
}

/// What was taken back is what the run began with.
#[test]
fn run_is_written_back_again_after_git_looked_at_the_files() {
    for (since, is_moved) in [(LOOK, false), ("echo d > d; git add d", true)] {
        let world = world(COMMIT, "");
        write_back(&world, &|_| true);
        world.prune();
        world.undo_named(&OsFs).expect("undone");
        assert_eq!(log(&world), "one\n");
        host(&world, since);
        world.guest(&format!("{GIT}\n{COMMIT}"));
        assert_eq!(united(&world).1, is_moved, "{since}");
    }
}

#[test]
fn run_that_goes_on_from_another_knows_what_that_one_began_with() {
    let earlier = world(COMMIT, LOOK);
    let mut next = World::new(Where::Same, "true");
    (next.tree, next.identity, next.stamp) = (earlier.tree, earlier.identity, earlier.stamp);
    shell(
        next.run.path(),
        &format!("rm -r upper; cp -a '{}' upper", earlier.run.path().join("upper").display()),
    );
    let ends = (earlier.run.fd(), next.run.fd());
    assert!(united(&next).1);
    hand_on_indexes(&OsFs, ends, &[(MOUNT, MOUNT)]).expect("handed on");
    // Its own look at the start tells nothing: that is later.
    let mut open = OpenIndexes::default();
    open.open(&OsFs, (MOUNT, next.root_fd().as_fd()), next.stamp);
    open.note(&OsFs, next.run.fd(), &|_, _| true).expect("noted");
    assert!(!united(&next).1);
}
