//! What was not committed.

use super::*;

const SOME: &str = "mkdir -p a/b/c d; echo 1 > top; echo 2 > a/one; echo 3 > a/b/two; echo 4 > a/b/c/three\n\
    echo 5 > d/only; ln -s top link; echo 6 > run; chmod 755 run; : > empty";

#[test]
fn nothing_done_is_the_commit_itself() {
    for algorithm in [Algorithm::Sha1, Algorithm::Sha256] {
        let world = World::new(algorithm, SOME);
        let captured = world.check("git status > ../said");
        assert_eq!(captured.tip, world.base.to_string());
        assert_eq!((captured.is_made, captured.objects, captured.changed), (false, 0, 0));
    }
}

#[test]
fn every_kind_of_edit_is_as_git_has_it() {
    let scripts = [
        "echo x > top",
        "echo x > a/b/new; rm a/one",
        "touch top a/one; chmod 600 a/b/two",
        "chmod +x top; chmod -x run",
        "rm -r a",
        "rm d/only",
        "rm -r d; echo x > d",
        "rm top; mkdir top; echo x > top/top",
        "rm top; mkdir top",
        "rm -r a; mkdir a; echo x > a/other",
        "rm -r a; mkdir -p a/b; echo 3 > a/b/two",
        "rm -r a/b; ln -s ../top a/b",
        "rm link; mkdir link; echo x > link/x",
        "rm link; ln -s elsewhere link; ln -s /etc/passwd out; ln -s loop loop",
        "rm link; cp top link",
        "mkdir -p n/e/w/dir; echo x > n/e/w/dir/f; mkdir n/empty",
        "mv a moved; mv moved/b back",
        "mv top a/top; mv run a/b/run; ln a/b/run a/b/twin",
        "rm -rf a d top link run empty",
        "printf 'x' > 'new\nline'; printf y > \"$(printf 'b\\303(\\377')\"; echo z > ' sp ace '; echo w > '*?['",
        "dd if=/dev/zero of=large bs=1M count=3 2> ../said; truncate -s 1M sparse",
        "i=0; while [ $i -lt 200 ]; do echo $i > a/f$i; i=$((i+1)); done",
        "echo x > a.c; echo x > a-; mkdir a0; echo x > a0/f",
        "chmod 000 a/one d; echo x > empty",
        "mkdir closed; echo x > closed/in; chmod 000 closed",
    ];
    for script in scripts {
        World::small(SOME).check(script);
    }
    World::new(Algorithm::Sha256, SOME).check("echo x > a/b/c/d; rm -r d; git mv top a/moved");
}

#[test]
fn commit_of_the_rest_has_the_author_and_the_parent() {
    let world = World::small(SOME);
    let captured = world.check("echo x > top");
    assert!(captured.is_made);
    let said = world.git(&["cat-file", "commit", "refs/endow/run"]);
    let tree = world.git(&["rev-parse", "refs/endow/run^{tree}"]);
    let expected = format!(
        "tree {tree}\nparent {}\nauthor endow <endow@example.invalid> 1700000000 +0000\n\
         committer endow <endow@example.invalid> 1700000000 +0000\n\nwhat was not committed",
        world.base
    );
    assert_eq!(said, expected);
}

#[test]
fn changes_are_told_by_path() {
    let world = World::small(SOME);
    let captured =
        world.check("echo x > top; rm -r d; mkdir a/new; echo y > a/new/file; chmod +x empty");
    let told = captured.changes.iter().map(|it| (it.path.to_str().expect("a text"), it.kind));
    let expected = [
        ("a/new/file", ChangedKind::Created),
        ("d/only", ChangedKind::Deleted),
        ("empty", ChangedKind::Modified),
        ("top", ChangedKind::Modified),
    ];
    assert!(told.eq(expected), "{:?}", captured.changes);
    assert_eq!(captured.changed, 4);
}

#[test]
fn what_the_repository_has_is_not_staged_again() {
    let world = World::small(SOME);
    // A new name for a known content: two trees and a commit.
    let captured = world.check("cp top a/copy");
    assert_eq!(captured.objects, 3);
}

#[test]
fn without_a_git_directory_the_start_counts() {
    let world = World::small(SOME);
    world.run("rm -r .git; echo x > top");
    let captured = world.capture().expect("captured");
    world.land(&captured);
    assert_eq!(world.git(&["rev-parse", "refs/endow/run~1"]), world.base.to_string());
    assert_eq!(
        world.git(&["diff", "--name-status", "refs/endow/run~1", "refs/endow/run"]),
        "M\ttop"
    );
}

#[test]
fn repository_made_anew_counts_by_what_it_has() {
    let world = World::small(SOME);
    // No commit of its own: that of the start.
    world.check("rm -r .git; git init -q; git fetch -q ../host HEAD; echo x > top; git symbolic-ref HEAD refs/heads/none; git update-ref refs/heads/none FETCH_HEAD");
    let world = World::small(SOME);
    world.run("rm -r .git; git init -q; git add -A; git commit -qm own; echo x > top");
    let captured = world.capture().expect("captured");
    world.land(&captured);
    assert_eq!(world.git(&["rev-list", "--count", "refs/endow/run"]), "2");
    let world = World::small(SOME);
    world.run("rm -r .git; git init -q --object-format=sha256; echo x > top");
    let captured = world.capture().expect("captured");
    world.land(&captured);
    assert_eq!(world.git(&["rev-parse", "refs/endow/run~1"]), world.base.to_string());
}

#[test]
fn special_files_are_refused_and_stay_as_they_were() {
    let world = World::small(SOME);
    world.run("rm top; mkfifo top; mkfifo a/pipe; mkdir -p x; echo y > x/file");
    let captured = world.capture().expect("captured");
    world.land(&captured);
    assert_eq!(refused(&captured), ["a/pipe", "top"]);
    assert_eq!(world.git(&["diff", "--name-status", "HEAD", "refs/endow/run"]), "A\tx/file");
}

#[test]
fn nested_repositories_are_refused() {
    let world = World::small(SOME);
    world.run("git init -q a/b/inner; echo x > a/b/inner/file; git init -q --bare bare; echo x > top; mkdir -p l; echo gitdir: / > l/.git");
    let captured = world.capture().expect("captured");
    world.land(&captured);
    assert_eq!(refused(&captured), ["a/b/inner", "l"]);
    assert!(world.git(&["ls-tree", "-r", "--name-only", "refs/endow/run"]).contains("bare/HEAD"));
}

#[test]
fn spellings_of_the_git_directory_are_refused() {
    let world = World::small(SOME);
    world.run(
        "mkdir .GIT a/.gIt 'git~1'; echo x > .GIT/config; echo x > a/.gIt/hooks; echo x > 'git~1/f'\n\
         echo x > \"$(printf '.g\\342\\200\\214it')\"; echo x > '.git '; echo x > .gitx",
    );
    let captured = world.capture().expect("captured");
    world.land(&captured);
    assert_eq!(captured.refused.len(), 5);
    assert_eq!(world.git(&["diff", "--name-status", "HEAD", "refs/endow/run"]), "A\t.gitx");
}

#[test]
fn links_with_the_names_of_gits_own_files_are_as_git_has_them() {
    let world = World::small(SOME);
    world.run("ln -s top .gitmodules; ln -s top a/.gitmodules; ln -s top .GitModules; ln -s top .gitattributes");
    let captured = world.capture().expect("captured");
    assert_eq!(refused(&captured), [".GitModules", ".gitmodules", "a/.gitmodules"]);
}

/// The names of a host's repository with a submodule.
const SUBMODULE: &str = "git init -q ../other; (cd ../other; echo x > f; git add f; git commit -qm x)\n\
    git -c protocol.file.allow=always submodule --quiet add ../other sub; echo 1 > top";

#[test]
fn submodules_stay_as_they_are() {
    World::small(SUBMODULE).check("echo x > top");
    World::small(SUBMODULE).check("rmdir sub; echo y > top");
    World::small(SUBMODULE).check("git rm -q --cached sub; git commit -qm gone; echo x > top");
    World::small(SUBMODULE).check("git rm -q --cached sub; echo x > sub.c; git add sub.c; git commit -qm gone; rmdir sub; echo x > sub");
    let other = "git update-index --cacheinfo 160000,$(git rev-parse HEAD),sub";
    World::small(SUBMODULE).check(&format!("{other}; git commit -qm other"));
    let new = "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),new";
    World::small(SUBMODULE).check(&format!("mkdir new; {new}; git commit -qm new; echo x > top"));
    World::small(SUBMODULE).check(&format!("{new}; git commit -qm new; echo x > top"));
    let world = World::small(SUBMODULE);
    world.run("echo x > sub/content; echo x > top");
    let captured = world.capture().expect("captured");
    assert_eq!(refused(&captured), ["sub"]);
    world.land(&captured);
    assert_eq!(world.git(&["diff", "--name-status", "HEAD", "refs/endow/run"]), "M\ttop");
}
