//! Files that a sparse checkout leaves out of the work tree.

use super::*;

const SOME: &str = "mkdir -p a/b d/e; echo 1 > top; echo 2 > a/one; echo 3 > a/b/two\n\
    echo 4 > d/only; echo 5 > d/e/deep";

fn told(captured: &Captured) -> Vec<String> {
    let letter = |kind| match kind {
        ChangedKind::Created => 'A',
        ChangedKind::Modified => 'M',
        ChangedKind::Deleted => 'D',
    };
    let one = |it: &ChangedPath| format!("{} {}", letter(it.kind), it.path.display());
    captured.changes.iter().map(one).collect()
}

#[test]
fn what_is_left_out_is_not_deleted() {
    let none: [&str; 0] = [];
    for algorithm in [Algorithm::Sha1, Algorithm::Sha256] {
        for kind in ["", "--sparse-index"] {
            let world = World::new(algorithm, SOME);
            world.run(&format!("git sparse-checkout set {kind} a; test ! -e d; git status -s"));
            let captured = world.capture().expect("captured");
            assert_eq!(told(&captured), none, "{kind}");
            assert!(!captured.is_made, "{kind}");
            world.run("echo x > a/new; rm a/one; test ! -e d");
            assert_eq!(told(&recaptured(&world)), ["A a/new", "D a/one"], "{kind}");
        }
    }
}

/// Captures once more.
fn recaptured(world: &World) -> Captured {
    in_user_namespace(world.path(), "rm -rf staging; mkdir staging");
    world.capture().expect("captured")
}

#[test]
fn what_is_new_in_a_commit_and_left_out_is_not_deleted() {
    let world = World::small(SOME);
    world.run(
        "git checkout -q -b side; echo y > d/only; echo n > d/new; git add -A; git commit -qm side\n\
         git checkout -q main; git sparse-checkout set a; git merge -q side; test ! -e d",
    );
    let captured = world.capture().expect("captured");
    assert_eq!(told(&captured), ["A d/new", "M d/only"]);
    assert!(!captured.is_made);
}

#[test]
fn directory_in_the_place_of_what_is_left_out_adds_to_it() {
    let world = World::small(SOME);
    world.run("git sparse-checkout set a; mkdir d; echo z > d/other");
    let captured = world.capture().expect("captured");
    assert_eq!(told(&captured), ["A d/other"]);
    world.land(&captured);
}

#[test]
fn what_is_removed_and_not_left_out_is_deleted() {
    let world = World::small(SOME);
    world.run("git sparse-checkout set a; git sparse-checkout disable; rm -r d/e; rm a/one");
    assert_eq!(told(&world.capture().expect("captured")), ["D a/one", "D d/e/deep"]);
    // Nothing says any more that it is left out.
    let world = World::small(SOME);
    world.run("git sparse-checkout set a; rm .git/index");
    assert_eq!(told(&world.capture().expect("captured")), ["D d/e/deep", "D d/only"]);
}

#[test]
fn file_that_is_left_out_one_by_one_stays() {
    let world = World::small(SOME);
    world.run("git update-index --skip-worktree d/e/deep; rm -r d a/one");
    assert_eq!(told(&world.capture().expect("captured")), ["D a/one", "D d/only"]);
    let world = World::small(SOME);
    world.run("git update-index --skip-worktree d/e/deep; rm -r d; echo x > d");
    assert_eq!(told(&world.capture().expect("captured")), ["A d", "D d/e/deep", "D d/only"]);
    let world = World::small(SOME);
    world.run("git update-index --skip-worktree top; echo x > top");
    assert_eq!(told(&world.capture().expect("captured")), ["M top"]);
}
