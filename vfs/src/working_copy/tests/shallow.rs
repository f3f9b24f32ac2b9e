//! A host's repository whose history ends somewhere.

use super::*;

/// The last of three commits of another repository.
const SHALLOW: &str = "git init -q -b main ../origin; for n in 1 2 3; do echo $n > ../origin/f\n\
    git -C ../origin add f; git -C ../origin commit -qm $n; done\n\
    git fetch -q --depth 1 file://$PWD/../origin main; git reset -q --hard FETCH_HEAD\n\
    git rev-parse --is-shallow-repository > ../shallow";

#[test]
fn history_of_a_shallow_repository_ends_where_the_hosts_does() {
    let world = World::small(SHALLOW);
    assert_eq!(fs::read_to_string(world.path().join("shallow")).expect("read"), "true\n");
    assert_eq!(world.run("git log --format=%s; git fsck --full --strict"), "first\n3\n");
    let script = "echo x > g; git add g; git commit -qm second; git log --format=%s";
    assert_eq!(world.run(script), "second\nfirst\n3\n");
    world.check("echo y > h");
}

#[test]
fn commit_at_the_end_of_the_history_can_be_written_anew() {
    let world = World::small(SHALLOW);
    let captured =
        world.check("git reset -q --hard HEAD~1; echo x > f; git commit -qa --amend -m new");
    assert_eq!(world.git(&["log", "--format=%s", &captured.tip]), "new");
}

#[test]
fn whole_repository_is_not_said_to_be_shallow() {
    let world = World::small("echo 1 > f");
    assert_eq!(world.run("git rev-parse --is-shallow-repository"), "false\n");
    assert!(!world.path().join("upper/.git/shallow").exists());
}

/// The repository would not be whole with a commit whose parents nobody has.
#[test]
fn history_that_the_command_cut_off_is_left_out() {
    let world = World::small("echo 1 > top");
    world.run(
        "git init -q -b main ../o; for n in 1 2; do echo $n > ../o/f; git -C ../o add f\n\
         git -C ../o commit -qm $n; done; git fetch -q --depth 1 file://$PWD/../o main:cut",
    );
    let captured = world.capture().expect("captured");
    assert_eq!(refused(&captured), [".git/refs/heads/cut"]);
    world.land(&captured);
}
