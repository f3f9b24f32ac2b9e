//! Links that the command leaves, through which git or an editor outside would write what another
//! program runs.

use std::fs;
use std::path::Path;

use crate::harness::{World, said};

const WHO: &str = "-c user.name=t -c user.email=t@example.com";
const WORKSPACES: [&str; 2] = ["cow", "rw"];

/// A repository with a file, and a pattern's names beside it.
fn repository() -> World {
    let world = World::new();
    for name in [".envrc", ".github/workflows/ci.yml", "src/main.rs", "packages/tool/cli.js"] {
        world.write(Path::new("home/project").join(name), "theirs\n");
    }
    let script = format!(
        "git init -q -b main . && mkdir -p node_modules/.bin && git add . \
         && git {WHO} commit -qm first && rm -f .git/COMMIT_EDITMSG"
    );
    world.bare(&script).ok();
    world
}

/// Has the message of the next commit written into the settings.
const MESSAGE: &str = "rm -f .git/COMMIT_EDITMSG; ln -s config .git/COMMIT_EDITMSG
    printf '[core]\\n\\tfsmonitor = \"touch ~/ran; false\"\\n' >.git/MERGE_MSG";

/// Commits outside, as the user would.
fn commits(world: &World) -> bool {
    let script = format!(
        "echo more >>src/main.rs; git add src; GIT_EDITOR=true git {WHO} commit -q; git status"
    );
    world.bare(&format!("{{ {script}; }} >/dev/null 2>&1; true")).ok();
    world.home().join("ran").exists()
}

#[test]
fn message_of_a_commit_is_not_written_into_settings() {
    let control = repository();
    control.bare(MESSAGE).ok();
    assert!(commits(&control), "control: harmless without endow, too");
    for workspace in WORKSPACES {
        let world = repository();
        let before = fs::read(world.project().join(".git/config")).ok();
        world.run(&["run", "--workspace", workspace], MESSAGE).ok();
        assert!(!commits(&world), "{workspace}");
        assert_eq!(fs::read(world.project().join(".git/config")).ok(), before, "{workspace}");
    }
}

/// Links that lead where others write, and ones that do not.
const TRAPS: &[(&str, &str)] = &[
    ("src/out.yml", "../.github/workflows/ci.yml"),
    ("src/ci", "../.github"),
    ("notes.md", "./.envrc"),
    ("h", ".git/hooks"),
    ("src/g", "../.git"),
    (".git/logs/x", "../../src/main.rs"),
    (".git/refs/heads/x", "../../../src/main.rs"),
];
const ORDINARY: &[(&str, &str)] = &[
    ("node_modules/.bin/tool", "../../packages/tool/cli.js"),
    ("node_modules/tool", "../packages/tool"),
    ("latest", "src"),
    ("src/lib.rs", "main.rs"),
];

#[test]
fn links_to_what_others_run_are_held_and_ordinary_ones_are_not() {
    let all = TRAPS.iter().chain(ORDINARY);
    let script: Vec<String> = all
        .map(|(link, target)| format!("mkdir -p $(dirname {link}); ln -s {target} {link}"))
        .collect();
    for workspace in WORKSPACES {
        let world = repository();
        world.run(&["run", "--workspace", workspace], &script.join("\n")).ok();
        let is_there = |link: &str| world.project().join(link).symlink_metadata().is_ok();
        for (link, _) in TRAPS {
            assert!(!is_there(link), "{workspace}: {link}");
        }
        for (link, _) in ORDINARY {
            assert!(is_there(link), "{workspace}: {link}");
        }
        assert_eq!(world.states(), ["waiting"], "{workspace}");
        said(&mut world.endow(["apply", "notes.md"])).ok();
        assert!(is_there("notes.md"), "{workspace}");
    }
}

#[test]
fn links_of_the_users_stay() {
    for workspace in WORKSPACES {
        let world = repository();
        world.bare("ln -s .envrc mine; ln -s ../src .git/mine; sleep 0.1").ok();
        world.run(&["run", "--workspace", workspace], "echo new >new").ok();
        for link in ["mine", ".git/mine"] {
            assert!(world.project().join(link).is_symlink(), "{workspace}: {link}");
        }
    }
}

#[test]
fn links_of_a_live_workspace_to_protected_names_outside_wait_as_well() {
    let world = repository();
    let script = "ln -s ~/.bash_login out; ln -s ../../.bash_login src/out; ln -s /usr/bin/env env";
    world.run(&["run", "--workspace", "rw"], script).ok();
    let is_there = |link: &str| world.project().join(link).is_symlink();
    assert_eq!(["out", "src/out", "env"].map(is_there), [false, false, true]);
    said(&mut world.endow(["apply", "out"])).ok();
    assert_eq!(["out", "src/out"].map(is_there), [true, false]);
}

/// What the user linked to is theirs; a new link by way of it is the command's.
#[test]
fn new_links_that_lead_out_by_way_of_others_are_not_written_back() {
    let world = World::new();
    world.write("home/outside/f", "mine\n");
    world.write("home/project/dir/file", "inside\n");
    world.bare("ln -s ../outside ext; ln -s ../../outside dir/ext; ln -s dir alias").ok();
    let out = ["ext/f", "ext", "dir/ext/f", "alias/ext", "new/f"];
    let inside = ["dir/file", "alias/file", "alias", "new/in"];
    let link = |(number, target): (usize, &&str)| format!("ln -s {target} {number}");
    let links: Vec<String> = out.iter().chain(&inside).enumerate().map(link).collect();
    let script = format!(
        "ln -s dir/ext new-out; mkdir new; ln -s ../ext/f new/f; ln -s ../dir new/in; {}",
        links.join("; ")
    );
    let told = world.run(&[], &script);
    told.ok();
    assert!(told.stderr.contains("7 held"), "{}", told.stderr);
    let is_there = |name: &str| world.project().join(name).is_symlink();
    for (number, target) in out.iter().enumerate() {
        assert!(!is_there(&number.to_string()), "{target}");
    }
    for (number, target) in inside.iter().enumerate() {
        assert!(is_there(&(out.len() + number).to_string()), "control: {target}");
    }
    assert!(!is_there("new/f") && !is_there("new-out") && is_there("new/in"));
    world.run(&[], "touch -h ext alias; touch dir/other").ok();
    assert!(is_there("ext") && is_there("dir/ext"), "what was there before stays");
    assert_eq!(world.read("dir/other"), "");
}
