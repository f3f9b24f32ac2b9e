//! What was committed, by git itself.

use super::*;

const SOME: &str =
    "mkdir -p a/b d; echo 1 > top; echo 2 > a/one; echo 3 > a/b/two; echo 5 > d/only";

#[test]
fn git_accepts_the_directory_that_a_command_begins_with() {
    for algorithm in [Algorithm::Sha1, Algorithm::Sha256] {
        let world = World::new(
            algorithm,
            &format!("{SOME}; git tag -a -m x v1 2>../said || :; echo x > n.excluded"),
        );
        assert_eq!(world.run("git status --porcelain"), "");
        assert_eq!(world.run("git log --format=%s"), "first\n");
        assert_eq!(world.run("git rev-parse --abbrev-ref HEAD"), "main\n");
        assert_eq!(world.run("git fsck --full --strict"), "");
        assert_eq!(world.run("echo x > new.excluded; git status --porcelain"), "");
        world.run("echo x > top; git commit -qam x; git stash list; git branch other; git gc -q");
    }
    let world =
        World::small(&format!("{SOME}; git add -A; git commit -qm zero; git checkout -q --detach"));
    assert_eq!(
        world.run("git rev-parse --abbrev-ref HEAD; git log --format=%s"),
        "HEAD\nfirst\nzero\n"
    );
    let captured = world.check("echo x > new; git add new; git commit -qm second");
    assert!(!captured.is_made);
}

#[test]
fn commits_are_kept_as_they_are() {
    let scripts = [
        "echo x > top; git commit -qam second",
        "echo x > top; git commit -qam second; echo y > top; echo z > a/new",
        "echo x > top; git commit -qam second; git gc -q; echo y > top; git commit -qam third; echo y > d/x",
        "echo x > top; git commit -qam second; git repack -q -adf; git prune-packed; rm -r a",
        "git checkout -q -b other; git rm -q -r d; git commit -qm third; git checkout -q main",
        "git checkout -q -b other; git rm -q -r d; git commit -qm third; echo x > d",
        "echo x > top; git commit -q --amend -am amended",
        "git checkout -q --detach; echo x > top; git commit -qam second; echo y > a/one",
        "git checkout -q -b b; echo x > a/x; git add a; git commit -qm b; git checkout -q main; echo y > a/y; git add a; git commit -qm m; git merge -q -m merged b; echo z > top",
        "echo x > top; git commit -qam second; git reset -q --soft HEAD~1; echo y > a/one",
        "echo x > top; git commit -qam second; git reset -q --hard HEAD~1",
        "git rm -q -r --cached d; git commit -qm gone",
        "git rm -q -r --cached a top; git commit -qm gone; rm a/one; echo x > a/b/new",
        "mv a/b a/c; git add -A; git commit -qm moved; git mv a/c/two top2",
        "git rm -q top; mkdir top; echo x > top/x; git add top; git commit -qm dir; echo y > top/y",
        "git rm -q -r d; echo x > d; git add d; git commit -qm file; rm d; mkdir d; echo 5 > d/only",
        "git rm -q -r d; echo x > d; git add d; git commit -qm file; git reset -q --soft HEAD~1",
        // The work tree stays as it was while HEAD has another kind of thing there.
        "t=$(printf '100644 blob %s\\tx\\n100644 blob %s\\ty\\n' $(git rev-parse HEAD:top HEAD:top) | git mktree); git update-index --force-remove top; git read-tree --prefix=top/ $t; git commit -qm dir",
        "git update-index --force-remove d/only; git update-index --add --cacheinfo 100644,$(git rev-parse HEAD:top),d; git commit -qm file",
        "git update-index --force-remove d/only; git update-index --add --cacheinfo 100644,$(git rev-parse HEAD:top),d; git commit -qm file; echo x > d/new",
        "git checkout -q --orphan none; git rm -q -r --cached .; echo x > top; git add top; git commit -qm orphan",
        "git commit -q --allow-empty -m empty",
        "echo x > top; git commit -qam second; git revert --no-edit HEAD > ../said",
        "echo x > n; git add -N n",
        "echo x > n; git add n; rm n; rm top; git add -A; echo y > top",
    ];
    for script in scripts {
        let world = World::small(SOME);
        let captured = world.check(script);
        let head = if captured.is_made { "refs/endow/run~1" } else { "refs/endow/run" };
        assert_eq!(world.git(&["rev-parse", head]), world.guest_head(), "{script}");
    }
    let script = "echo x > top; git commit -qam second; git gc -q; echo y > a/y; git add a; git commit -qm third; echo z > d/z";
    World::new(Algorithm::Sha256, SOME).check(script);
}

#[test]
fn references_to_something_new_are_told() {
    let world = World::small(SOME);
    let captured = world.check(
        "git checkout -q -b side; echo x > s; git add s; git commit -qm side; git tag -a -m tag v1; git tag light\n\
         git checkout -q main; echo y > top; git stash -q; git branch old HEAD; echo z > top; git commit -qam main",
    );
    let names: Vec<&str> = captured.references.keys().map(String::as_str).collect();
    assert_eq!(names, ["refs/heads/side", "refs/stash", "refs/tags/light", "refs/tags/v1"]);
    for id in captured.references.values() {
        world.git(&["rev-list", "--objects", id]);
    }
    let told = |name: &str| captured.references.get(name).expect("told").clone();
    assert_eq!(world.git(&["cat-file", "-t", &told("refs/tags/v1")]), "tag");
    world.git(&["update-ref", "refs/endow/stash", &told("refs/stash")]);
    world.git(&["update-ref", "refs/endow/tag", &told("refs/tags/v1")]);
    world.fsck();
}

#[test]
fn every_stash_lands() {
    let world = World::small(SOME);
    let said = world.run(
        "for n in 1 2 3; do echo $n >> top; git stash -q; done; git stash drop -q stash@{1}; echo 4 >> top; git stash -q\n\
         git branch kept stash@{2}; git update-ref refs/stash-1 HEAD; git rev-parse stash@{0} stash@{1} stash@{2}",
    );
    let expected: Vec<&str> = said.lines().collect();
    let captured = world.capture().expect("captured");
    // A reference that the command has named so itself stays what it is.
    let stashes = ["refs/stash", "refs/stash-2", "refs/stash-3"];
    let told = stashes.map(|name| captured.references.get(name).expect("told").as_str());
    assert_eq!(told.as_slice(), expected);
    assert!(!captured.references.contains_key("refs/stash-1"), "the host has it");
    world.land(&captured);
    for (number, id) in told.into_iter().enumerate() {
        world.git(&["update-ref", &format!("refs/endow/stash-{number}"), id]);
    }
    world.fsck();
}

#[test]
fn log_of_stashes_that_can_not_be_read_is_told() {
    let world = World::small(SOME);
    world.run("echo x > top; git stash -q; rm .git/logs/refs/stash; mkfifo .git/logs/refs/stash");
    let captured = world.capture().expect("captured");
    assert_eq!(refused(&captured), [".git/logs/refs/stash"]);
    assert!(captured.references.contains_key("refs/stash"));
}

#[test]
fn symbolic_branches_and_odd_heads_are_followed() {
    let world = World::small(SOME);
    let captured = world.check(
        "echo x > top; git commit -qam second; git symbolic-ref refs/heads/alias refs/heads/main; git symbolic-ref HEAD refs/heads/alias",
    );
    assert!(!captured.is_made);
    let world = World::small(SOME);
    world.check("git pack-refs --all; echo x > top; git commit -qam second; git pack-refs --all; echo y > top");
}

#[test]
fn state_of_a_merge_with_conflicts_is_taken_in() {
    let world = World::small(SOME);
    let captured = world.check(
        "git checkout -q -b b; echo b > top; git commit -qam b; git checkout -q main; echo m > top; git commit -qam m\n\
         git merge -q b > ../said 2>&1 || :; echo more > a/new",
    );
    assert!(captured.is_made);
    assert!(world.git(&["show", "refs/endow/run:top"]).contains("<<<<<<<"));
}
