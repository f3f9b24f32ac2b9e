//! What a revision leads to is noted, so that the repository is not read again.

use super::git::{WHO, repository};
use crate::harness::{Said, World};

const OPTIONS: [&str; 3] = ["run", "--git", "/ref=HEAD"];

fn shown(world: &World) -> Said {
    world.run(&OPTIONS, "cat /ref/file")
}

/// Takes the objects of the repository away.
fn lose_objects(world: &World) {
    world.bare("find .git/objects -type f -delete").ok();
}

#[test]
fn noted_revision_needs_no_object() {
    let world = repository("");
    assert_eq!(shown(&world).ok(), "new\n");
    lose_objects(&world);
    assert_eq!(shown(&world).ok(), "new\n");
    // It was the note.
    world.bare("rm -r ../../cache/revisions").ok();
    assert!(shown(&world).fails(125).contains("is missing"));
}

#[test]
fn moved_branch_is_followed() {
    let world = repository("");
    assert_eq!(shown(&world).ok(), "new\n");
    world.bare(&format!("echo newer >file; git {WHO} commit -qam third")).ok();
    assert_eq!(shown(&world).ok(), "newer\n");
    world.bare("git update-ref refs/heads/main HEAD~2").ok();
    assert_eq!(shown(&world).ok(), "old\n");
    world.bare("git pack-refs --all").ok();
    assert_eq!(shown(&world).ok(), "old\n");
    world.bare("git checkout -q -f --detach main@{1}").ok();
    assert_eq!(shown(&world).ok(), "newer\n");
}

#[test]
fn repository_that_names_a_commit_of_another_one_shows_nothing_of_it() {
    let world = repository("");
    assert_eq!(shown(&world).ok(), "new\n");
    let steal = "git rev-parse HEAD >../id; rm -rf .git; git init -q -b main .; \
                 cp ../id .git/refs/heads/main; rm file";
    world.bare(steal).ok();
    assert!(shown(&world).fails(125).contains("is missing"));
}
