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
