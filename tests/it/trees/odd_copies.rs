//! Working copies of odd repositories, and of commands that leave odd ones.

use super::git::{WHO, repository};
use crate::harness::{Said, World, said};

fn changed(world: &World, script: &str) -> Said {
    let options = ["run", "--workspace", "none", "--chdir", "/work", "--git", "/work=HEAD,cow"];
    world.run(&options, script)
}

fn text(world: &World, script: &str) -> String {
    world.bare(script).ok().trim_end().to_owned()
}

/// The references of runs.
fn references(world: &World) -> Vec<String> {
    let listed = text(world, "git for-each-ref --format='%(refname)' refs/endow");
    listed.lines().map(str::to_owned).collect()
}

/// A clone without the first of two commits.
#[test]
fn history_of_a_shallow_clone_ends_inside_too() {
    let whole = repository("");
    let world = World::new();
    let from = whole.project().display().to_string();
    world.bare(&format!("git clone -q --depth 1 file://{from} .")).ok();
    let script = format!(
        "set -e; git log --format=%s; git fsck --full --strict 2>&1 | grep -v ^notice || true
        echo n >new; git add new; git {WHO} commit -qm inside; git log --format=%s | wc -l; echo e >edit"
    );
    let said = changed(&world, &script);
    assert_eq!(said.ok(), "second\n2\n");
    let name = references(&world).pop().expect("a result");
    assert_eq!(text(&world, &format!("git log --format=%s {name}~1")), "inside\nsecond");
    assert_eq!(text(&world, "git fsck --full --strict 2>&1 | grep -v ^notice || true"), "");
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_not_removed() {
    let world = repository("");
    changed(&world, "set -e; git sparse-checkout set void; test ! -e dir; echo more >>file").ok();
    let name = references(&world).pop().expect("a result");
    assert_eq!(text(&world, &format!("git diff --name-status HEAD {name}")), "M\tfile");
    // Without it, the same is gone.
    let world = repository("");
    changed(&world, "rm -r dir").ok();
    let name = references(&world).pop().expect("a result");
    let gone = text(&world, &format!("git diff --diff-filter=D --name-only HEAD {name} | wc -l"));
    assert_eq!(gone, "46");
}

#[test]
fn broken_reference_is_named_and_all_else_lands() {
    let world = repository("");
    let script = format!(
        "set -e; git checkout -q -b good; echo g >g; git add g; git {WHO} commit -qm good
        git checkout -q main; echo {} >.git/refs/heads/bad; echo 1 >a",
        "12".repeat(20)
    );
    let run = changed(&world, &script);
    let told = run.fails(121);
    assert!(told.contains("1 in no commit: .git/refs/heads/bad"), "{told}");
    let names = references(&world);
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(text(&world, &format!("git show {}:a; git show {}:g", names[0], names[1])), "1\ng");
    let shown = said(&mut world.endow(["diff"]));
    let line = format!("# .git/refs/heads/bad: left out, object {} is missing", "12".repeat(20));
    assert!(shown.ok().contains(&line), "{}", shown.stdout);
}
