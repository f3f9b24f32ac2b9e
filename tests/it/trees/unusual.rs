//! `--git` of repositories that have not all, or keep it elsewhere: partial clones, reftables,
//! extensions. Nothing is fetched, and nothing of theirs is run.

use std::fs;
use std::path::{Path, PathBuf};

use super::git::{WHO, repository};
use crate::harness::{World, said, skip};

/// Makes a partial clone without a work tree.
fn partial(world: &World, name: &str) -> PathBuf {
    let clone = world.root().join(name);
    let script = format!(
        "git config uploadpack.allowFilter true
        git clone -q --no-checkout --filter=blob:none file://$PWD {}",
        clone.display()
    );
    world.bare(&script).ok();
    clone
}

/// Has every fetch leave a mark.
fn trap(world: &World, clone: &Path) -> PathBuf {
    let (program, mark) = (world.root().join("trap"), world.root().join("mark"));
    let script = format!(
        "printf '#!/bin/sh\\necho fetched >>{}\\nexec git-upload-pack \"$@\"\\n' >{program}
        chmod 755 {program}; git -C {} config remote.origin.uploadpack {program}",
        mark.display(),
        clone.display(),
        program = program.display(),
    );
    world.bare(&script).ok();
    mark
}

fn flag(clone: &Path, rev: &str) -> String {
    format!("/ref={}@{rev}", clone.display())
}

#[test]
fn partial_clone_that_has_what_is_needed_is_read_as_any_other() {
    let world = repository("");
    let clone = partial(&world, "partial");
    world.bare(&format!("git -C {} checkout -q main", clone.display())).ok();
    let mark = trap(&world, &clone);
    let list = "cd /ref && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum";
    let whole = world.run(&["run", "--git", "/ref=HEAD"], list);
    let said = world.run(&["run", "--git", &flag(&clone, "HEAD")], list);
    assert_eq!(said.ok(), whole.ok());
    assert!(said.stdout.lines().count() > 40 && !mark.exists());
}

#[test]
fn what_a_partial_clone_lacks_is_named_and_never_fetched() {
    let world = repository("");
    let clone = partial(&world, "partial");
    let mark = trap(&world, &clone);
    let missing = world.bare("git rev-parse HEAD~1:file").ok().trim().to_owned();
    let options = ["run", "--git", &flag(&clone, "HEAD~1")];
    let refused = world.run(&options, "true");
    let told = refused.fails(125);
    assert!(told.contains(&format!("file: object {missing} was not fetched")), "{told}");
    assert!(told.contains("`git fetch --refetch --no-filter`") && !mark.exists(), "{told}");
    // The control: git itself fetches, and runs what the settings say.
    let script = format!("git -C {} cat-file -p HEAD~1:file", clone.display());
    assert_eq!(world.bare(&script).ok(), "old\n");
    assert_eq!(fs::read_to_string(&mark).expect("a mark"), "fetched\n");
    assert_eq!(world.run(&options, "cat /ref/file").ok(), "old\n");
    // What is there is enough for a part.
    let part = format!("{},sparse=/file", flag(&clone, "HEAD"));
    let refused = world.run(&["run", "--git", &part], "true");
    assert!(refused.fails(125).contains("file: object"), "{}", refused.stderr);
    world.bare(&format!("git -C {} cat-file -p HEAD:file", clone.display())).ok();
    assert_eq!(world.run(&["run", "--git", &part], "ls /ref; cat /ref/file").ok(), "file\nnew\n");
}

#[test]
fn named_remedy_of_a_partial_clone_is_one() {
    let world = repository("");
    let clone = partial(&world, "partial");
    let options = ["run", "--git", &flag(&clone, "HEAD")];
    world.run(&options, "true").fails(125);
    world.bare(&format!("git -C {} fetch -q --refetch --no-filter", clone.display())).ok();
    assert_eq!(world.run(&options, "cat /ref/file").ok(), "new\n");
}

#[test]
fn whole_id_needs_no_reftable() {
    let world = World::new();
    let made = world.bare(&format!(
        "set -e; git init -q -b main --ref-format=reftable . || exit 9
        # Before git 2.48 references with logs can't be migrated.
        git config core.logAllRefUpdates false
        echo new >file; git add .; git {WHO} commit -qm first; git rev-parse HEAD"
    ));
    if made.code == 9 {
        return skip("this git has no reftable");
    }
    let id = made.ok().trim().to_owned();
    for rev in ["main", "HEAD", &id[..12]] {
        let refused = world.run(&["run", "--git", &format!("/ref={rev}")], "true");
        let told = refused.fails(125);
        assert!(told.contains("name the whole id that `git rev-parse` tells"), "{rev}: {told}");
        assert!(told.contains("`git refs migrate --ref-format=files`"), "{rev}: {told}");
    }
    assert_eq!(world.run(&["run", "--git", &format!("/ref={id}")], "cat /ref/file").ok(), "new\n");
    let refused = world.run(&["run", "--git", &format!("/ref={id},cow")], "true");
    assert!(refused.fails(125).contains("reftable"), "{}", refused.stderr);
    // The control: as files, the names lead there.
    world.bare("git refs migrate --ref-format=files").ok();
    assert_eq!(world.run(&["run", "--git", "/ref=main"], "cat /ref/file").ok(), "new\n");
}

#[test]
fn unknown_extension_is_refused_as_git_does() {
    let world = repository("");
    let id = world.bare("git rev-parse HEAD").ok().trim().to_owned();
    world.bare("git config core.repositoryFormatVersion 1; git config extensions.shiny true").ok();
    for rev in ["HEAD", id.as_str()] {
        let options = ["run", "--workspace", "none", "--chdir", "/", "--git"];
        let repository = format!("/ref={}@{rev}", world.project().display());
        let mut refused = world.endow(options.iter().copied().chain([&*repository, "--", "true"]));
        let refused = said(&mut refused);
        let told = refused.fails(125);
        assert!(told.contains("unknown extension `shiny`"), "{told}");
    }
    assert_ne!(world.bare("git rev-parse HEAD").code, 0, "git refuses it, too");
}
