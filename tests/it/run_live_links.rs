//! What leads to protected names of a live workspace over further links, and what stands where a repository
//! keeps others.

use crate::harness::{World, said};

const PROJECT: &str = "git init -q -b main .; mkdir -p tools/gh src; echo x >tools/gh/README; echo x >a
    git config core.hooksPath tools/gh; git add a; git -c user.name=u -c user.email=u@x commit -qm first";

/// Checks that names are taken out of a live workspace when a command has made them, and that others stay.
#[track_caller]
fn check(options: &[&str], script: &str, taken: &[&str], left: &[&str]) {
    let world = World::new();
    world.bare(PROJECT).ok();
    let told = world.run(&[&["run", "--workspace", "rw"], options].concat(), script);
    let is_there = |path: &&str| world.project().join(path).symlink_metadata().is_ok();
    assert!(!taken.iter().any(is_there), "{script}: {told:?}");
    assert!(left.iter().all(is_there), "{script}: {told:?}");
    told.ok();
    assert!(taken.iter().all(|name| told.stderr.contains(name)), "{script}: {told:?}");
}

#[test]
fn links_over_other_links_are_held() {
    let over = "mkdir -p node_modules/x; ln -s ../../.git/index node_modules/x/l";
    check(&[], &format!("{over}; ln -s ../node_modules/x/l src/o"), &["src/o"], &["src"]);
    let up = "ln -s .. src/up";
    let hook = format!("{up}; ln -s up/tools/gh/pre-commit src/o");
    check(&[], &hook, &["src/o"], &["src/up"]);
    let pattern = format!("{up}; ln -s up/deploy/run.sh src/o");
    check(&["--protect", "deploy/run.sh"], &pattern, &["src/o"], &["src/up"]);
    // The control: without the pattern, and where the words say all.
    check(&[], &pattern, &[], &["src/up", "src/o"]);
    check(&[], "ln -s ../tools/gh/pre-commit src/o", &["src/o"], &[]);
}

#[test]
fn ordinary_links_are_left() {
    let script = "mkdir -p node_modules/.bin node_modules/t packages/t/bin
        ln -s ../t/cli.js node_modules/.bin/t; ln -s ../packages/t node_modules/o; ln -s ../../../src packages/t/bin/src
        ln -s .. src/up; ln -s up/a src/a; ln -s up/up/none src/none; ln -s /etc/hostname src/host";
    let left = ["node_modules/.bin/t", "node_modules/o", "src/up", "src/a", "src/none", "src/host"];
    check(&[], script, &[], &left);
}

/// What a link leads over may come after it, and the walk at the end may know the directory from before.
#[test]
fn links_are_judged_by_what_is_there_at_the_end() {
    let world = World::new();
    world.bare(PROJECT).ok();
    world.run(&["run", "--workspace", "rw"], "ln -s later/tools/gh/pre-commit src/o").ok();
    assert!(world.project().join("src/o").is_symlink());
    check(
        &[],
        "ln -s later/tools/gh/pre-commit src/o; ln -s .. src/later",
        &["src/o"],
        &["src/later"],
    );
}

/// Makes what a program outside would take for its repository's own, in a directory.
const KEPT: &str = "mkdir -p $D/hooks $D/info
    printf '[core]\\n\\tfsmonitor = false\\n' >$D/config; echo x >$D/other
    echo x >$D/hooks/pre-commit; echo '* filter=x' >$D/info/attributes";

#[test]
fn names_where_a_repository_keeps_others_are_held() {
    for directory in [".git/modules/m", ".git/modules/a/b", ".git/worktrees/w"] {
        let taken = ["config", "hooks/pre-commit", "info/attributes"];
        let taken = taken.map(|name| format!("{directory}/{name}"));
        let other = format!("{directory}/other");
        let script = format!("D={directory}; {KEPT}");
        check(&[], &script, &taken.each_ref().map(String::as_str), &[&other]);
        // What is moved there is as old as it is.
        let world = World::new();
        world.bare(&format!("{PROJECT}\nD=old; {KEPT}; sleep 0.1")).ok();
        let moved = format!("mkdir -p $(dirname {directory}); mv old {directory}");
        world.run(&["run", "--workspace", "rw"], &moved).ok();
        assert!(!world.project().join(&taken[1]).exists(), "{directory}");
    }
}

#[test]
fn what_a_repository_kept_before_is_left() {
    let world = World::new();
    let submodule = "git init -q ../o; git -C ../o -c user.name=u -c user.email=u@x commit -q --allow-empty -m o
        git -c protocol.file.allow=always submodule --quiet add ../o s; echo x >.git/modules/s/hooks/pre-commit";
    world.bare(&format!("{PROJECT}\n{submodule}; D=.git/modules/m; {KEPT}; sleep 0.1")).ok();
    let script = "echo y >.git/modules/m/other2; echo y >src/y; git -C s status >/dev/null";
    world.run(&["run", "--workspace", "rw"], script).ok();
    for name in
        ["m/config", "m/hooks/pre-commit", "m/info/attributes", "s/hooks/pre-commit", "s/config"]
    {
        assert!(world.project().join(".git/modules").join(name).exists(), "{name}");
    }
}

/// A later run may write to what waits by a further name of it, after it was looked at.
#[test]
fn held_file_is_not_written_to_by_another_name() {
    let world = World::new();
    let links = "printf good >h; ln h .envrc; mkdir .vscode; ln h .vscode/tasks.json";
    let told = world.run(&["run", "--workspace", "rw"], links);
    told.ok();
    world.run(&["run", "--workspace", "rw"], "printf evil >h").ok();
    assert_eq!(world.read("h"), "evil");
    said(&mut world.endow(["apply", ".envrc", ".vscode"])).ok();
    for name in [".envrc", ".vscode/tasks.json"] {
        assert_eq!(world.read(name), "good", "{name}");
    }
}
