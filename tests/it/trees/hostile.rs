//! Repositories that somebody made to harm whoever reads them. Each attack has a control: plain git,
//! or a plain reader, does what the attacker wants.

use std::fs;

use super::git::{WHO, repository};
use crate::harness::World;

/// A config that names a program wherever git runs one, and attributes that name its drivers.
fn traps(world: &World) -> String {
    let canary = world.root().join("canary");
    let run = format!("touch {}", canary.display());
    let script = format!(
        "set -e
        for k in core.fsmonitor core.sshCommand core.editor core.pager core.gitProxy \
            core.alternateRefsCommand filter.x.smudge filter.x.clean filter.x.process \
            diff.x.textconv diff.x.command diff.external merge.x.driver credential.helper \
            gpg.program uploadpack.packObjectsHook receive.procReceiveRefs alias.status \
            interactive.diffFilter sequence.editor; do git config $k '{run}; cat'; done
        mkdir -p hooks; for h in post-checkout post-index-change reference-transaction \
            pre-commit; do printf '#!/bin/sh\\n{run}\\n' >hooks/$h; chmod +x hooks/$h; done
        git config core.hooksPath $PWD/hooks; git config include.path $PWD/more
        printf '[core]\\n fsmonitor = {run}\\n' >more
        echo '* filter=x diff=x merge=x' >.gitattributes; git --no-optional-locks \
            -c core.fsmonitor= -c core.hooksPath=/dev/null -c filter.x.clean= \
            -c filter.x.process= add .gitattributes
        rm -f {0}",
        canary.display()
    );
    world.bare(&script).ok();
    canary.display().to_string()
}

#[test]
fn no_program_of_the_repository_runs() {
    let world = repository("");
    let canary = traps(&world);
    let said = world
        .run(&["run", "--workspace", "none", "--git", "/ref=HEAD", "--chdir", "/ref"], "cat file");
    assert_eq!(said.ok(), "new\n");
    assert!(!fs::exists(&canary).expect("looked"), "a program of the repository ran");
    // Git itself runs them.
    drop(world.bare("git checkout -q -f HEAD~1; git status"));
    assert!(fs::exists(&canary).expect("looked"), "the control does not bite");
}

#[test]
fn names_that_lead_out_are_refused() {
    let world = repository("");
    let outside = world.root().join("planted");
    for name in ["..", ".git", ".GIT", "a/b", ".", "git~1"] {
        let script = format!(
            "blob=$(echo planted | git hash-object -w --stdin)
            tree=$(printf '100644 {name}\\0%b' \"$(echo $blob | sed 's/../\\\\x&/g')\" \
                | git hash-object -t tree --literally -w --stdin)
            git {WHO} commit-tree -m x $tree"
        );
        let commit = world.command("bash").args(["-c", &script]).output().expect("bash");
        let commit = String::from_utf8_lossy(&commit.stdout).trim().to_owned();
        assert_eq!(commit.len(), 40, "{name}");
        let said = world.run(&["run", "--git", &format!("/ref={commit}")], "echo started");
        said.fails(125);
        assert!(!said.stdout.contains("started"), "{name}");
    }
    assert!(!outside.exists());
    world.assert_no_run_left();
}

/// A `.git` file that a command planted must not show another repository of the user.
#[test]
fn planted_git_file_shows_no_other_repository() {
    let world = repository("");
    let secret = world.home().join("secret");
    fs::create_dir(&secret).expect("a directory");
    let make = format!(
        "cd ../secret && git init -q . && echo canary >file && git add . && git {WHO} commit -qm s"
    );
    world.bare(&make).ok();
    let planted = world.home().join("planted");
    fs::create_dir(&planted).expect("a directory");
    let line = format!("gitdir: {}\n", secret.join(".git").display());
    fs::write(planted.join(".git"), line).expect("written");
    // Git follows it.
    assert_eq!(world.bare("git -C ../planted show HEAD:file").ok(), "canary\n");
    let value = format!("/ref={}@HEAD", planted.display());
    let said = world.run(&["run", "--git", &value], "cat /ref/file");
    said.fails(125);
    assert!(!said.stdout.contains("canary"));
}

#[test]
fn damaged_objects_are_not_shown() {
    let world = repository("");
    let object = world.bare("git rev-parse HEAD:file").ok().trim().to_owned();
    let path = world.project().join(".git/objects").join(&object[..2]).join(&object[2..]);
    let other = world.bare("printf other | git hash-object -w --stdin").ok().trim().to_owned();
    let other = world.project().join(".git/objects").join(&other[..2]).join(&other[2..]);
    fs::remove_file(&path).expect("removed");
    fs::copy(other, &path).expect("another content in its place");
    let said = world.run(&["run", "--git", "/ref=HEAD"], "cat /ref/file");
    assert!(said.fails(125).contains(&object), "{}", said.stderr);
    fs::remove_file(&path).expect("removed");
    let said = world.run(&["run", "--git", "/ref=HEAD"], "cat /ref/file");
    assert!(said.fails(125).contains(&object), "{}", said.stderr);
}

const CANARY: &str = "canary\n";

/// A repository of the user's that nobody granted.
fn secret(world: &World) -> std::path::PathBuf {
    let secret = world.home().join("secret");
    fs::create_dir(&secret).expect("a directory");
    let make = format!(
        "cd ../secret && git init -q -b main . && echo canary >file && git add . \
         && git {WHO} commit -qm s"
    );
    world.bare(&make).ok();
    secret.join(".git")
}

/// What a command with a live workspace may leave in a git directory, for the next run.
#[test]
fn planted_files_in_a_git_directory_show_no_other_repository() {
    let world = repository("");
    let secret = secret(&world);
    let git = world.project().join(".git");
    fs::write(
        git.join("objects/info/alternates"),
        format!("{}\n", secret.join("objects").display()),
    )
    .expect("written");
    fs::write(git.join(".git"), format!("gitdir: {}\n", secret.display())).expect("written");
    assert_eq!(world.run(&["run", "--git", "/ref=HEAD"], "cat /ref/file").ok(), "new\n");
    // A reader that looks for `.git` again finds the other one.
    assert_eq!(
        world.bare("git -C .git/.. --git-dir=$(sed s/gitdir:.// .git/.git) show HEAD:file").ok(),
        CANARY
    );
    // The beginning of an id is looked for at home only.
    let id = world.bare(&format!("git --git-dir={} rev-parse HEAD", secret.display()));
    let id = id.ok().trim().to_owned();
    assert_eq!(world.bare(&format!("git show {}:file", &id[..8])).ok(), CANARY);
    let said = world.run(&["run", "--git", &format!("/ref={}", &id[..8])], "cat /ref/file");
    said.fails(125);
    // What is no repository's is not read at all.
    fs::write(git.join("objects/info/alternates"), "/\n").expect("written");
    assert!(world.run(&["run", "--git", "/ref=HEAD"], "true").fails(125).contains("borrows"));
}

#[test]
fn planted_common_directory_is_not_followed() {
    let world = repository("");
    let secret = secret(&world);
    world.bare("git worktree add -q ../linked v1").ok();
    let admin = world.project().join(".git/worktrees/linked");
    fs::write(admin.join("commondir"), format!("{}\n", secret.display())).expect("written");
    fs::write(admin.join("HEAD"), "ref: refs/heads/main\n").expect("written");
    assert_eq!(world.bare("git -C ../linked show HEAD:file").ok(), CANARY, "git follows");
    let value = format!("/ref={}@HEAD", world.home().join("linked").display());
    let said = world.run(&["run", "--git", &value], "cat /ref/file");
    assert!(said.fails(125).contains("lead back"), "{}", said.stderr);
}

#[test]
fn submodule_shows_no_other_submodule() {
    let world = repository("");
    let secret = secret(&world);
    let make = format!(
        "mkdir -p .git/modules pub private && cp -r {0} .git/modules/private \
         && git --git-dir=.git/modules/private config core.worktree ../../../private \
         && echo 'gitdir: ../.git/modules/private' | tee pub/.git >private/.git",
        secret.display()
    );
    world.bare(&make).ok();
    assert_eq!(world.bare("git -C pub show HEAD:file").ok(), CANARY, "git follows");
    let show = |name: &str| {
        let value = format!("/ref={}@HEAD", world.project().join(name).display());
        world.run(&["run", "--git", &value], "cat /ref/file")
    };
    assert!(show("pub").fails(125).contains("lead back"));
    assert_eq!(show("private").ok(), CANARY, "its own it may show");
}

#[test]
fn project_file_shows_no_tree_before_it_is_trusted() {
    let world = repository("");
    world.write(
        "home/project/endow.toml",
        "version = 1\n[mounts]\n\"/x\" = { git = \".\", rev = \"HEAD\" }\n",
    );
    let said = world.run(&[], "cat /x/file");
    assert!(said.fails(120).contains("endow trust"), "{}", said.stderr);
    crate::harness::said(&mut world.endow(["trust", "--yes"])).ok();
    assert_eq!(world.run(&[], "cat /x/file").ok(), "new\n");
}

/// Trees whose entries are more than any disk holds, or deeper than a path can be.
#[test]
fn bombs_end_the_start() {
    let world = repository("");
    let doubled = "printf \"040000 tree $t\\ta\\n040000 tree $t\\tb\\n\"";
    let deeper = "printf \"040000 tree $t\\ta\\n\"";
    for (step, times) in [(doubled, 60), (deeper, 600)] {
        let script = format!(
            "t=$(git rev-parse HEAD:dir); for i in $(seq {times}); do t=$({step} | git mktree); done
            git {WHO} commit-tree -m bomb $t"
        );
        let commit = world.bare(&script).ok().trim().to_owned();
        let said = world.run(&["run", "--git", &format!("/ref={commit}")], "echo started");
        assert!(said.fails(125).contains("cause:"), "{}", said.stderr);
        assert!(!said.stdout.contains("started"));
        let left = "ls -A ../../cache/trees/v1 | grep -cv '^.lock-'; true";
        assert_eq!(world.bare(left).ok().trim(), "0");
    }
}

/// To some file systems these are one name; where they are not, each is shown.
#[test]
fn names_that_look_alike_are_different_files() {
    let world = World::new();
    let script = format!(
        "git init -q .; git config core.precomposeunicode false
        for name in Read read READ \u{e9} e\u{301} \u{212a} K; do echo $name >$name; done
        git add .; git {WHO} commit -qm names; git rm -rq --cached .; rm *"
    );
    world.bare(&script).ok();
    let script =
        "cd /ref; for name in *; do [ \"$(cat $name)\" = $name ] || echo $name; done; ls | wc -l";
    assert_eq!(world.run(&["run", "--git", "/ref=HEAD"], script).ok(), "7\n");
}
