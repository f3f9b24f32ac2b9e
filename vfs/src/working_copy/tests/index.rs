//! The index that is made for a tree.

use super::*;

/// Makes objects and a commit that no work tree needs to hold, and its index beside nothing.
fn check(algorithm: Algorithm, script: &str) -> World {
    let world = World::new(algorithm, script);
    let index = "git -c core.trustctime=false -c core.checkStat=minimal";
    let run = |script: &str| world.run(&script.replace("git ", &format!("{index} ")));
    assert_eq!(run("git status --porcelain"), "");
    // Nothing is read to know that: the files could not be.
    let listed = run("git ls-files -s");
    let tree = run("git ls-tree -r HEAD").replace(" blob ", " ").replace(" commit ", " ");
    let listed: Vec<String> = listed.lines().map(|line| line.replace(" 0\t", "\t")).collect();
    assert_eq!(listed, tree.lines().collect::<Vec<_>>());
    assert_eq!(run("git write-tree"), run("git rev-parse 'HEAD^{tree}'"));
    assert_eq!(run("git fsck --full --strict --cache"), "");
    assert_eq!(run("git diff-files; git diff-index --cached HEAD"), "");
    world
}

const SOME: &str = "mkdir -p a/b/c a.d a-; echo 1 > top; echo 2 > a/one; echo 3 > a/b/c/two; echo 4 > a.d/x; echo 5 > a-/x\n\
    ln -s top link; ln -s /nowhere a/out; echo 6 > run; chmod 755 run; : > empty; : > a/empty";

#[test]
fn git_has_nothing_to_tell_about_it() {
    for algorithm in [Algorithm::Sha1, Algorithm::Sha256] {
        check(algorithm, SOME);
        check(algorithm, "");
        check(algorithm, "mkdir -p d/e/f; echo x > d/e/f/g");
    }
}

#[test]
fn submodules_and_odd_names_are_in_it() {
    check(
        Algorithm::Sha1,
        "git init -q ../other; (cd ../other; echo x > f; git add f; git commit -qm x)\n\
         git -c protocol.file.allow=always submodule --quiet add ../other sub; echo 1 > top; mkdir z",
    );
    check(
        Algorithm::Sha256,
        "echo x > \"$(printf 'b\\303(\\377')\"; echo x > 'new\nline'; mkdir \"$(printf '\\200')\"; echo y > \"$(printf '\\200/\\201')\"; echo z > ' '",
    );
}

#[test]
fn names_longer_than_the_index_tells_are_in_it() {
    // 17 directories of 250 bytes: more than a path of the kernel holds, so only git's plumbing
    // makes them.
    let long = "n=$(printf '%0250d' 0); t=$(echo x | git hash-object -w --stdin | sed \"s/.*/100644 blob &\\t$n/\" | git mktree)\n\
        for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do t=$(printf '040000 tree %s\\t%s\\n' $t $n | git mktree); done\n\
        git commit-tree -m long $t";
    let world = World::small("echo 1 > top");
    let commit = in_user_namespace(world.path(), &format!("{BEGIN}cd host; {long}"));
    let tree = world.git(&["rev-parse", &format!("{}^{{tree}}", commit.trim_end())]);
    fs::create_dir(world.path().join("long")).expect("made");
    let id: Id = tree.parse().expect("an id");
    write_index(&OsFs, world.open("long").as_fd(), &world.repository, &id).expect("written");
    let with = |args: &str| {
        let script = format!("{BEGIN}cd host; GIT_INDEX_FILE=../long/.git/index git {args}");
        in_user_namespace(world.path(), &script)
    };
    assert_eq!(with("write-tree").trim_end(), tree);
    let listed = with("ls-files -s");
    assert!(listed.len() > 4500, "{}", listed.len());
    assert_eq!(
        listed.replace(" 0\t", "\t"),
        with(&format!("ls-tree -r {tree}")).replace(" blob ", " ")
    );
}
