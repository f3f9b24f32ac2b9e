//! What takes the place of others in a live workspace: links to other people's code, where no name counts, and to what
//! nobody can search, and work trees that settings name.

use crate::harness::World;

const WHO: &str =
    "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@a
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always";

/// A workspace in which a script was run without a sandbox.
fn workspace(before: &str) -> World {
    let world = World::new();
    world.bare(&format!("{WHO}\nset -e; git init -q -b main .; {before}\nsleep 0.1")).ok();
    world
}

/// Runs a script in a live workspace; returns what was told.
fn live(world: &World, options: &[&str], script: &str) -> String {
    let told = world.run(
        &[&["run", "--workspace", "rw"], options].concat(),
        &format!("{WHO}\nset -e; {script}"),
    );
    told.ok();
    told.stderr
}

fn is_there(world: &World, name: &str) -> bool {
    world.project().join(name).symlink_metadata().is_ok()
}

/// Names a work tree in the settings of a new repository, which has a hook committed.
fn named(tree: &str) -> String {
    format!(
        "git init -q -b main r; cd r; mkdir hooks; printf '#!/bin/sh\ntouch ~/ran\n' >hooks/post-checkout
        chmod +x hooks/*; git add -A; git commit -qm r; rm -rf hooks; git config core.worktree {tree}"
    )
}

#[test]
fn a_work_tree_is_not_the_directory_of_another_repository() {
    let springs = "cd r; git checkout -q -f main; cd ..; git checkout -q; test ! -e ~/ran";
    let before = "echo x >x; git add x; git commit -qm 1";
    let control = workspace(before);
    control.bare(&format!("{WHO}\nset -e; {}", named("../../.git"))).ok();
    assert!(control.bare(springs).code != 0, "the control");
    for tree in ["../../.git", "../../.git/hooks", "../../.vscode", "../../w"] {
        let world = workspace(before);
        let told = live(&world, &[], &format!("mkdir -p .vscode w; {}", named(tree)));
        assert!(told.contains("r/.git/config"), "{tree}: {told}");
        assert!(!world.read("r/.git/config").contains("worktree"), "{tree}");
        world.bare(springs);
        assert!(!world.home().join("ran").exists(), "{tree}");
    }
}

#[test]
fn a_work_tree_of_its_own_settings_is_none_either() {
    let world = workspace("true");
    let script = "git init -q r; cd r; git config extensions.worktreeConfig true
        git config --worktree core.worktree ../../.git";
    live(&world, &[], script);
    assert!(!is_there(&world, "r/.git/config.worktree"));
    let gd = "mkdir -p gd/objects gd/refs w; echo 'ref: refs/heads/main' >gd/HEAD
        printf '[core]\n\trepositoryformatversion = 0\n\tworktree = ../w\n' >gd/config; echo 'gitdir: ../gd' >w/.git";
    live(&world, &[], gd);
    assert!(!is_there(&world, "gd/config"));
}

/// A submodule without the file that leads back names a directory in which others keep theirs.
#[test]
fn a_work_tree_leads_back_to_what_names_it() {
    let world = workspace("mkdir conf; touch conf/x; git add conf/x; git commit -qm 1");
    let script = "git init -q --bare .git/modules/m; git -C .git/modules/m config core.bare false
        git -C .git/modules/m config core.worktree ../../../conf";
    let told = live(&world, &[], script);
    assert!(!is_there(&world, ".git/modules/m/config"), "{told}");
    let world = workspace("mkdir conf");
    let led = format!("{script}; echo 'gitdir: ../.git/modules/m' >conf/.git");
    let told = live(&world, &[], &led);
    assert!(is_there(&world, ".git/modules/m/config"), "the control: {told}");
}

#[test]
fn work_trees_that_git_makes_stay() {
    let world = workspace(
        "git init -q lib; git -C lib commit -q --allow-empty -m 1; git commit -q --allow-empty -m 1",
    );
    let script = "git init -q r; git -C r config core.worktree ..; git worktree add -q wt
        git submodule --quiet add ./lib s; git -C s status";
    let told = live(&world, &["--unprotect", ".gitmodules"], script);
    assert!(!told.contains("held"), "{told}");
    let whole =
        "set -e; git -C r config core.worktree; git -C s config core.worktree; git -C wt status -s";
    assert_eq!(world.bare(whole).ok(), "..\n../../../s\n", "{told}");
}

/// What git would write to the user's own work tree, it would write elsewhere.
#[test]
fn links_in_the_place_of_a_work_tree_are_held() {
    let mine = "mkdir -p up/w; git init -q r; git -C r config core.worktree ../../up/w";
    for (script, link) in [("rmdir up/w; ln -s ~ up/w", "up/w"), ("mv up up0; ln -s up0 up", "up")]
    {
        let world = workspace(mine);
        let told = live(&world, &[], &format!("{script}; mkdir src; ln -s ../r src/r"));
        assert!(!is_there(&world, link) && told.contains(link), "{told}");
        assert!(is_there(&world, "src/r"), "the control: {told}");
        assert!(world.read("r/.git/config").contains("worktree"));
    }
    let world = workspace(&format!("{mine}; rmdir up/w; mkdir w; ln -s ../w up/w"));
    live(&world, &[], "echo x >w/x");
    assert!(is_there(&world, "up/w"), "a link of the user's");
}

#[test]
fn what_is_no_file_is_held_in_the_place_of_a_repository() {
    let world = workspace("true");
    let socket = "import socket; socket.socket(socket.AF_UNIX).bind('n/.git')";
    let script = format!("mkdir m n o; mkfifo m/.git o/fifo; python3 -c \"{socket}\"");
    let told = world.run(&["run", "--workspace", "rw"], &script).stderr;
    assert_eq!(
        ["m/.git", "n/.git", "o/fifo"].map(|name| is_there(&world, name)),
        [false, false, true],
        "{told}"
    );
    assert!(told.contains("m/.git") && told.contains("n/.git"), "{told}");
}

/// git takes a relative path from the top of the work tree.
#[test]
fn a_remote_of_the_mount_stays_by_its_relative_path() {
    let world = workspace(
        "git init -q --bare here.git; mkdir -p node_modules; git init -q --bare node_modules/r.git",
    );
    let told = live(&world, &[], "git init -q r; git -C r remote add o ../here.git");
    assert!(world.read("r/.git/config").contains("../here.git"), "{told}");
    for (number, out) in
        ["../../here.git", "../node_modules/r.git", "../none.git"].iter().enumerate()
    {
        live(&world, &[], &format!("git init -q q{number}; git -C q{number} remote add o {out}"));
        assert!(!world.read(&format!("q{number}/.git/config")).contains(out), "{out}");
    }
}
