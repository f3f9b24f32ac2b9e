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

const PACKAGE: &str = "mkdir -p pkg/.vscode; echo ok >pkg/.vscode/tasks.json; echo ok >pkg/.envrc";
/// Makes such a package in a directory, and puts it in the place of the user's.
const SWAP: &str =
    "mkdir -p $D/p/.vscode; echo evil >$D/p/.vscode/tasks.json; echo evil >$D/p/.envrc
    mv pkg p0; ln -s $D/p pkg";

#[test]
fn links_to_protected_names_in_other_peoples_code_are_held() {
    for directory in
        ["node_modules", "vendor", "lib/site-packages", "dist-packages", ".cargo/registry"]
    {
        let script = format!("D={directory}; {SWAP}");
        let control = workspace(PACKAGE);
        control.bare(&script).ok();
        assert_eq!(control.read("pkg/.vscode/tasks.json"), "evil\n", "the control");
        let world = workspace(PACKAGE);
        let told = live(&world, &[], &script);
        assert!(!is_there(&world, "pkg") && told.contains("pkg"), "{directory}: {told}");
        assert!(is_there(&world, &format!("{directory}/p/.envrc")), "{directory}: {told}");
    }
}

/// Over further links in there, in a directory of it, and by a pattern of the user's own.
#[test]
fn links_to_protected_names_further_below_are_held() {
    for (options, script) in [
        (&[][..], "mkdir -p node_modules/p node_modules/q; touch node_modules/q/.envrc; ln -s ../q node_modules/p/sub"),
        (&[], "mkdir -p node_modules/p; ln -s ../../.git/hooks node_modules/p/out"),
        (&[], "mkdir -p node_modules/p/a/b/.vscode; touch node_modules/p/a/b/.vscode/tasks.json"),
        (&[], "mkdir -p node_modules/p/.vscode node_modules/p/x; touch node_modules/p/x/y node_modules/p/.vscode/tasks.json
            chmod 000 node_modules/p/x"),
        (&["--protect", "**/build/run.sh"], "mkdir -p node_modules/p/build; touch node_modules/p/build/run.sh"),
    ] {
        let world = workspace("mkdir src");
        let told = live(&world, options, &format!("{script}; ln -s node_modules/p new; ln -s ../node_modules src/all"));
        assert!(!is_there(&world, "new") && !is_there(&world, "src/all"), "{script}: {told}");
    }
}

#[test]
fn links_of_package_managers_stay() {
    let script = "mkdir -p node_modules/.bin node_modules/t/lib node_modules/.pnpm/t packages/a/src bin
        echo x >node_modules/t/lib/cli.js; echo x >node_modules/t/.envrc; ln -s ../t/lib/cli.js node_modules/.bin/t
        ln -s ../packages/a node_modules/a; ln -s ../../node_modules packages/a/node_modules
        ln -s t/lib node_modules/u; ln -s ../node_modules/.bin/t bin/t; ln -s ../node_modules/t/lib bin/lib
        mkdir -p .venv/lib/python3/site-packages/m .venv/bin; ln -s lib .venv/lib64; ln -s /usr/bin/python3 .venv/bin/python
        ln -s .venv/lib/python3/site-packages/m m; ln -s vendor/none none; ln -s /etc/hostname bin/host";
    let world = workspace("mkdir src");
    let told = live(&world, &[], script);
    for name in [
        "node_modules/.bin/t",
        "node_modules/a",
        "packages/a/node_modules",
        "node_modules/u",
        "bin/t",
        "bin/lib",
        ".venv/lib64",
        ".venv/bin/python",
        "m",
        "none",
        "bin/host",
    ] {
        assert!(is_there(&world, name), "{name}: {told}");
    }
}

/// What comes later below a link that was harmless counts as what comes to the link's place.
#[test]
fn new_names_below_an_older_link_are_held() {
    let world = workspace(PACKAGE);
    live(&world, &[], "mkdir -p node_modules/p/x; mv pkg p0; ln -s node_modules/p pkg");
    assert!(is_there(&world, "pkg"), "nothing is there yet");
    let told = live(
        &world,
        &[],
        "cd node_modules/p; echo evil >.envrc; echo x >x/y; mkdir .github; echo x >.github/x",
    );
    assert_eq!(
        (world.read("pkg/.envrc"), world.read("pkg/x/y")),
        ("absent".into(), "x\n".into()),
        "{told}"
    );
    assert!(is_there(&world, "pkg/.github/x"), "{told}");
    let mine = workspace(
        "mkdir -p node_modules/p; echo mine >node_modules/p/.envrc; ln -s node_modules/p pkg",
    );
    live(&mine, &[], "echo x >node_modules/p/x");
    assert_eq!(mine.read("pkg/.envrc"), "mine\n");
}

/// A repository with a work tree elsewhere, and one to which another one pushes.
const BARE: &str =
    "git commit -q --allow-empty -m 1; mkdir -p x/y; git clone -q --bare . x/y/here.git
    git -C x/y/here.git remote remove origin; git -C x/y/here.git worktree add -q $PWD/w main
    git clone -q $PWD/x/y/here.git r; git -C r commit -q --allow-empty -m 2";

#[test]
fn links_to_repositories_in_other_peoples_code_are_held() {
    let evil = "mkdir node_modules; cp -r x/y/here.git node_modules/here.git; cd node_modules/here.git
        git config core.fsmonitor 'touch ~/ran; false'; printf '#!/bin/sh\ntouch ~/ran\n' >hooks/pre-receive
        chmod +x hooks/pre-receive; cd ../..; mv x x0; mkdir x; ln -s ../node_modules x/y";
    for springs in ["git -C w status", "git -C r push -q origin HEAD:refs/heads/new"] {
        let control = workspace(BARE);
        control.bare(evil).ok();
        control.bare(springs);
        assert!(control.home().join("ran").exists(), "the control: {springs}");
        let world = workspace(BARE);
        let told = live(&world, &[], evil);
        world.bare(springs);
        assert!(!world.home().join("ran").exists(), "{springs}: {told}");
        assert!(!is_there(&world, "x/y") && told.contains("x/y"), "{told}");
    }
}

#[test]
fn links_to_what_could_not_be_searched_are_held() {
    let deep = "D=$(printf 'd/%.0s' $(seq 1 130)); mkdir -p $D/p/.vscode; echo evil >$D/p/.vscode/tasks.json";
    let world = workspace("mkdir -p sub/p/.vscode; echo ok >sub/p/.vscode/tasks.json");
    let script = format!(
        "{deep}; mv sub/p p0; ln -s ../${{D}}p sub/p; ln -s ${{D}} near; ln -s d up; ln -s p0 fine"
    );
    let told = world.run(&["run", "--workspace", "rw"], &script);
    for name in ["sub/p", "near", "up"] {
        assert!(!is_there(&world, name), "{name}: {told:?}");
    }
    assert!(is_there(&world, "fine"), "{told:?}");
    // A link that was there is the user's, but to what a run made it may be an earlier one's.
    let world = workspace("mkdir -p sub; ln -s ../d sub/p");
    world.run(&["run", "--workspace", "rw"], deep);
    assert!(!is_there(&world, "sub/p"));
    let mine = workspace(&format!("{deep}; ln -s ${{D}}p mine"));
    mine.run(&["run", "--workspace", "rw"], "echo x >x");
    assert!(is_there(&mine, "mine"));
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

/// What no pattern names at its own path counts where a link shows it, whatever else leads there.
#[test]
fn what_a_link_shows_at_a_protected_name_is_held() {
    for more in ["true", "ln -s ../y node_modules/p/x"] {
        let mine = "mkdir -p node_modules/p node_modules/y; ln -s ../y node_modules/p/.vscode
            ln -s node_modules/p pkg";
        let script =
            format!("{more}; echo evil >node_modules/y/tasks.json; echo x >node_modules/x");
        let control = workspace(mine);
        control.bare(&script).ok();
        assert_eq!(control.read("pkg/.vscode/tasks.json"), "evil\n", "the control");
        let world = workspace(mine);
        let told = live(&world, &[], &script);
        assert!(!is_there(&world, "node_modules/y/tasks.json"), "{told}");
        assert!(told.contains("node_modules/y/tasks.json"), "{told}");
        assert!(is_there(&world, "node_modules/x"), "{told}");
        assert_eq!(world.states(), ["waiting"], "{told}");
        let named = crate::harness::said(&mut world.endow(["apply", "node_modules/y/tasks.json"]));
        named.ok();
        assert_eq!(world.read("pkg/.vscode/tasks.json"), "evil\n", "{named:?}");
    }
}

/// git makes and removes names in its directory with each command.
#[test]
fn repository_that_an_older_link_shows_is_used() {
    let mine = "git init -q --bare vendor/tool.git; git commit -q --allow-empty -m 1
        git push -q vendor/tool.git HEAD:main; ln -s vendor/tool.git tool
        printf '#!/bin/sh\n' >vendor/tool.git/hooks/mine";
    let world = workspace(mine);
    let told =
        live(&world, &[], "git -C vendor/tool.git pack-refs --all; git -C vendor/tool.git gc -q");
    assert!(!told.contains("held"), "{told}");
    assert!(is_there(&world, "tool/config") && is_there(&world, "tool/hooks/mine"), "{told}");
    for (script, name) in [
        ("git -C vendor/tool.git config core.fsmonitor x", "config"),
        ("echo 'touch ~/ran' >>vendor/tool.git/hooks/mine", "hooks/mine"),
        ("echo >vendor/tool.git/hooks/pre-receive", "hooks/pre-receive"),
    ] {
        let world = workspace(mine);
        let told = live(&world, &[], script);
        assert!(told.contains(&format!("vendor/tool.git/{name}")), "{script}: {told}");
        assert!(!is_there(&world, &format!("tool/{name}")), "{script}: {told}");
        let rest = ["config", "hooks/mine"].into_iter().filter(|other| *other != name);
        assert!(rest.into_iter().all(|it| is_there(&world, &format!("tool/{it}"))), "{told}");
    }
}

/// A directory becomes one of git's by names that don't change the one above, and its hooks may lead elsewhere.
#[test]
fn directory_that_an_older_link_shows_does_not_run_what_comes_to_it() {
    let evil = "mkdir -p node_modules/r/evil/objects node_modules/r/evil/refs
        printf '[core]\n\trepositoryformatversion = 0\n[alias]\n\tst = !touch ~/ran\n' >node_modules/r/evil/config";
    let becomes = format!(
        "{evil}; mkdir -p node_modules/p; echo ref: refs/heads/main >node_modules/p/HEAD; echo ../r/evil >node_modules/p/commondir"
    );
    let hooks =
        "rm -rf node_modules/q/hooks; mkdir -p src/hk; ln -s ../../src/hk node_modules/q/hooks
        printf '#!/bin/sh\ntouch ~/ran\n' >src/hk/reference-transaction; chmod +x src/hk/*";
    let package = "mkdir -p node_modules/p node_modules/r; echo x >node_modules/p/x; ln -s node_modules/p tool";
    let bare = "git commit -q --allow-empty -m 1; git init -q --bare node_modules/q
        git push -q node_modules/q HEAD:main; ln -s node_modules/q tool";
    for (mine, script, spring) in [
        (package, becomes.as_str(), "git st"),
        ("mkdir node_modules; ln -s node_modules/p tool", &becomes, "git st"),
        (bare, hooks, "git update-ref refs/heads/x main"),
    ] {
        let control = workspace(mine);
        control.bare(script).ok();
        control.bare(&format!("cd tool && {spring}"));
        assert!(control.home().join("ran").exists(), "the control: {script}");
        let world = workspace(mine);
        let told = live(&world, &[], script);
        world.bare(&format!("cd tool && {spring}"));
        assert!(!world.home().join("ran").exists(), "{script}: {told}");
        assert!(told.contains("held"), "{script}: {told}");
    }
}

/// Beyond a thousand directories that can't be looked into nobody knows which.
#[test]
fn links_of_the_user_stay_beside_very_many_closed_directories() {
    let closed = "mkdir dir; cd dir; mkdir $(seq 1010); chmod 000 *; cd ..";
    let world = workspace(&format!("mkdir real; ln -s real mine; {closed}"));
    let told = live(&world, &[], "ln -s real new; true");
    assert!(is_there(&world, "mine"), "{told}");
    // Nothing is closed to root.
    assert_eq!(is_there(&world, "new"), rustix::process::geteuid().is_root(), "{told}");
    world.bare("rmdir dir/*").ok();
}
