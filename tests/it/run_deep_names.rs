//! Protected names anywhere in a live workspace: those that are there are read-only wherever their
//! directories are moved, and those that appear are found when the run ends.

use std::fs;
use std::process::Stdio;

use serde_json::json;

use crate::harness::{Running, Said, World, said, soon};

const GIT: &str = "export GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=a \
    GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=a@b GIT_CONFIG_KEY_2=protocol.file.allow \
    GIT_CONFIG_VALUE_2=always;";

/// A workspace with repositories and protected names below its root.
fn workspace() -> World {
    let world = World::new();
    world.write("home/project/evil", "evil\n");
    world.write("home/project/packages/a/.envrc", "theirs\n");
    world.write("home/project/packages/b/.vscode/settings.json", "theirs\n");
    let script = "set -e; git init -q -b main .; git init -q -b main packages/a; git init -q --bare mirror.git
        git init -q -b main lib; (cd lib; git commit -q --allow-empty -m lib); mv lib ../lib
        git submodule --quiet add ../lib sub; echo theirs >.git/modules/sub/hooks/pre-push
        for it in packages/a/.git mirror.git; do echo theirs >$it/hooks/pre-push; done
        git commit -q --allow-empty -m first; git worktree add -q ../tree 2>/dev/null; git worktree add -q tree2
        cd ../tree; git submodule --quiet update --init";
    bare(&world, script).ok();
    world
}

fn live(world: &World, options: &[&str], script: &str) -> Said {
    let script = format!("{GIT} {script}");
    let words = [&["run", "--workspace", "rw"], options, &["--", "sh", "-c", &script]].concat();
    said(world.endow(words).current_dir(world.project()))
}

fn bare(world: &World, script: &str) -> Said {
    let script = format!("{GIT} {script}");
    said(world.command("sh").args(["-c", &script]).current_dir(world.project()))
}

fn text(world: &World, name: &str) -> Option<String> {
    fs::read_to_string(world.project().join(name)).ok()
}

/// Ways to have a protected name say `evil`.
const ATTACKS: &[(&str, &str)] = &[
    ("packages/a/.envrc", "echo evil >packages/a/.envrc"),
    ("packages/a/.envrc", "mv -f evil packages/a/.envrc"),
    ("packages/a/.envrc", "mv packages/a x; mkdir packages/a; echo evil >packages/a/.envrc"),
    ("packages/a/.envrc", "mv packages x; mkdir -p packages/a; cp evil packages/a/.envrc"),
    ("new/.envrc", "mkdir new; mv evil new/.envrc"),
    ("new/.envrc", "mkdir -p x/.y; ln evil x/.y/.envrc; mv x/.y new"),
    ("packages/b/.vscode/tasks.json", "echo evil >packages/b/.vscode/tasks.json"),
    (
        "packages/b/.vscode/tasks.json",
        "mv packages/b x; mkdir -p packages/b/.vscode; echo evil >packages/b/.vscode/tasks.json",
    ),
    (
        "packages/new/.github/workflows/x.yml",
        "mkdir -p packages/new/.github/workflows
        echo evil >packages/new/.github/workflows/x.yml",
    ),
    ("packages/a/.git/hooks/pre-push", "echo evil >packages/a/.git/hooks/pre-push"),
    ("packages/a/.git/hooks/pre-commit", "echo evil >packages/a/.git/hooks/pre-commit"),
    (
        "packages/a/.git/hooks/pre-push",
        "mv packages/a x; mkdir packages/a; cp -r x/.git packages/a; echo evil >packages/a/.git/hooks/pre-push",
    ),
    ("packages/a/.git/config", "echo evil >packages/a/.git/config"),
    ("packages/a/.git/config", "rm -f packages/a/.git/config; echo evil >packages/a/.git/config"),
    ("packages/a/.git/commondir", "echo evil >packages/a/.git/commondir"),
    ("packages/a/.git/info/attributes", "echo evil >packages/a/.git/info/attributes"),
    ("new/.git/config", "git init -q new; echo evil >new/.git/config"),
    ("new/.git/hooks/pre-commit", "git init -q new; echo evil >new/.git/hooks/pre-commit"),
    ("packages/new/.git", "mkdir -p packages/new; echo evil >packages/new/.git"),
    ("mirror.git/hooks/pre-push", "echo evil >mirror.git/hooks/pre-push"),
    ("mirror.git/hooks/update", "echo evil >mirror.git/hooks/update"),
    ("mirror.git/config", "echo evil >mirror.git/config"),
    ("mirror.git/commondir", "echo evil >mirror.git/commondir"),
    (
        "mirror.git/config",
        "mv mirror.git x; cp -r x mirror.git; rm -f mirror.git/config; echo evil >mirror.git/config",
    ),
    ("x/planted/config", "mkdir x; git init -q --bare x/planted; echo evil >x/planted/config"),
    (
        "x/planted/hooks/update",
        "mkdir x; git init -q --bare x/planted; echo evil >x/planted/hooks/update",
    ),
    (".git/commondir", "echo evil >.git/commondir"),
    (".git/modules/sub/config", "echo evil >.git/modules/sub/config"),
    (".git/modules/sub/hooks/pre-push", "echo evil >.git/modules/sub/hooks/pre-push"),
    (".git/modules/sub/hooks/update", "echo evil >.git/modules/sub/hooks/update"),
    (
        ".git/modules/new/hooks/update",
        "git init -q --bare .git/modules/new; echo evil >.git/modules/new/hooks/update",
    ),
    (".git/modules/sub/commondir", "echo evil >.git/modules/sub/commondir"),
    (
        ".git/worktrees/tree/modules/sub/config",
        "cd .git/worktrees/tree/modules/sub; rm -f config; echo evil >config",
    ),
    (
        ".git/worktrees/tree/modules/sub/hooks/update",
        "echo evil >.git/worktrees/tree/modules/sub/hooks/update",
    ),
    (
        ".git/worktrees/tree/modules/sub/commondir",
        "echo evil >.git/worktrees/tree/modules/sub/commondir",
    ),
    (
        ".git/worktrees/tree/modules/sub/modules/new/config",
        "cd .git/worktrees/tree/modules/sub; git init -q --bare modules/new; echo evil >modules/new/config",
    ),
    (
        ".git/worktrees/tree/x/new/config",
        "git init -q --bare .git/worktrees/tree/x/new; echo evil >.git/worktrees/tree/x/new/config",
    ),
    (
        "mirror.git/worktrees/new/modules/a/config",
        "cd mirror.git; git init -q --bare worktrees/new/modules/a; echo evil >worktrees/new/modules/a/config",
    ),
    (".git/worktrees/tree/commondir", "echo evil >.git/worktrees/tree/commondir"),
    (".git/worktrees/tree/config", "echo evil >.git/worktrees/tree/config"),
    (
        ".git/worktrees/tree/commondir",
        "cp -r .git/worktrees x; rm -rf .git/worktrees; echo evil >x/tree/commondir; mv x .git/worktrees",
    ),
    ("sub/.git", "rm -f sub/.git; echo evil >sub/.git"),
];

/// Returns a copy of a workspace: to make one anew starts a hundred programs of git's.
fn copied(from: &World) -> World {
    let (world, source) = (World::new(), from.project().join(".."));
    let script =
        format!("set -e; cp -a '{}/.' ..; git worktree repair ../tree tree2", source.display());
    bare(&world, &script).ok();
    world
}

#[test]
fn names_further_down_do_not_say_what_the_command_wrote() {
    let first = workspace();
    for (name, script) in ATTACKS {
        let control = copied(&first);
        bare(&control, script);
        assert_eq!(text(&control, name).as_deref(), Some("evil\n"), "control: {script}");
        let world = copied(&first);
        let run = live(&world, &[], script);
        assert_ne!(text(&world, name).as_deref(), Some("evil\n"), "{script}: {}", run.stderr);
    }
}

#[test]
fn what_appears_further_down_is_held_and_can_be_applied() {
    let world = workspace();
    let run =
        live(&world, &["-v"], "mkdir -p new/deep; echo mine >new/deep/.envrc; echo it >new/x");
    assert!(run.stderr.contains("held, protected by .envrc: "), "{}", run.stderr);
    assert_eq!(
        (text(&world, "new/deep/.envrc"), text(&world, "new/x").as_deref()),
        (None, Some("it\n"))
    );
    let endow = |words: &[&str]| said(world.endow(words).current_dir(world.project()));
    assert!(endow(&["diff", "--patch"]).ok().contains("+mine"));
    endow(&["apply", "new/deep/.envrc"]).ok();
    assert_eq!(text(&world, "new/deep/.envrc").as_deref(), Some("mine\n"));
    endow(&["undo"]).ok();
    assert_eq!(text(&world, "new/deep/.envrc"), None);
}

#[test]
fn git_works_in_repositories_further_down() {
    let world = workspace();
    let script = "set -e
        (cd packages/a; echo x >x; git add x; git commit -qm second; git config user.name b
         git branch -q topic; git checkout -q --track -b other main; git rebase -q topic)
        (cd sub; git checkout -q -b topic; git commit -q --allow-empty -m third; git config user.name b)
        git worktree remove tree2; git worktree add -q tree3 -b three; (cd tree3; git commit -q --allow-empty -m 4)
        git submodule --quiet add ./packages/a again; git submodule --quiet update again
        git clone -q packages/a copy; (cd copy; git commit -q --allow-empty -m 5); git init -q --bare other.git
        mv packages/b packages/c; cat packages/c/.vscode/settings.json";
    let run = live(&world, &["--unprotect", ".gitmodules"], script);
    assert_eq!(run.ok(), "theirs\n", "{}", run.stderr);
    assert_eq!(world.states(), [""; 0], "{}", run.stderr);
    let outside = bare(
        &world,
        "set -e; git -C tree3 log -1 --format=%s; git -C copy log -1 --format=%s; git -C sub log -1 --format=%s
         git -C packages/a log -1 --format=%s; git fsck; git worktree prune; git worktree list | wc -l",
    );
    assert_eq!(outside.ok(), "4\n5\nthird\nsecond\n3\n");
}

#[test]
fn what_the_host_replaces_is_the_hosts() {
    let world = workspace();
    let script = "echo go; read x; true";
    let words = ["run", "--workspace", "rw", "--", "sh", "-c", script];
    let mut command = world.endow(words);
    let mut run = Running::start(command.current_dir(world.project()).stdin(Stdio::piped()));
    run.expect("go");
    bare(&world, "echo newer >packages/a/new; mv packages/a/new packages/a/.envrc").ok();
    run.say("\n");
    assert_eq!(run.end(), 0);
    assert_eq!(text(&world, "packages/a/.envrc").as_deref(), Some("newer\n"));
    assert_eq!(world.states(), [""; 0]);
}

#[test]
fn without_a_walk_at_the_start_what_is_older_is_left() {
    let world = workspace();
    let script = "mkdir new; echo mine >new/.envrc; echo more >>packages/a/.envrc";
    live(&world, &["--no-default-deny"], script).ok();
    assert_eq!(text(&world, "new/.envrc"), None);
    assert_eq!(text(&world, "packages/a/.envrc").as_deref(), Some("theirs\nmore\n"));
    assert!(text(&world, "packages/b/.vscode/settings.json").is_some());
}

/// A file keeps its time of birth whatever it is called.
#[test]
fn what_is_older_is_found_under_its_new_name() {
    let world = workspace();
    for name in ["one", "packages/a/two", "other/tasks.json", "three", "packages/c/.envrc"] {
        world.write(format!("home/project/{name}"), "old\n");
    }
    let script = "mv one .envrc; mv packages/a/two packages/b/.envrc; mv other packages/a/.vscode
        ln three packages/b/.gitlab-ci.yml; mkdir moved; mv packages/b/.vscode moved/.vscode
        echo more >>packages/c/.envrc";
    let names = [
        ".envrc",
        "packages/b/.envrc",
        "packages/a/.vscode/tasks.json",
        "packages/b/.gitlab-ci.yml",
        "moved/.vscode/settings.json",
    ];
    bare(&world, "sleep 0.1").ok();
    live(&world, &["--no-default-deny"], script).ok();
    assert_eq!(names.map(|name| text(&world, name)), [const { None }; 5]);
    assert_eq!(text(&world, "packages/c/.envrc").as_deref(), Some("old\nmore\n"));
}

#[test]
fn what_is_older_stays_where_names_come_beside_it() {
    let world = workspace();
    bare(&world, "sleep 0.1").ok();
    let script = "echo log >packages/new; mkdir packages/c; echo log >packages/a/new
        cd packages/a; git add new; git commit -q -m second";
    live(&world, &["--no-default-deny"], script).ok();
    for name in ["packages/a/.envrc", "packages/b/.vscode/settings.json"] {
        assert_eq!(text(&world, name).as_deref(), Some("theirs\n"), "{name}");
    }
    assert!(text(&world, "packages/a/.git/hooks/pre-push").is_some());
}

#[test]
fn what_is_found_at_the_end_is_held_when_the_supervisor_is_killed() {
    let world = workspace();
    let script = "mkdir -p new/deep; echo mine >new/deep/.envrc; echo go; sleep 60";
    let words = ["run", "--workspace", "rw", "--", "sh", "-c", script];
    let mut run = Running::start(world.endow(words).current_dir(world.project()));
    run.expect("go");
    assert!(text(&world, "new/deep/.envrc").is_some(), "nobody looks there meanwhile");
    run.signal(libc::SIGKILL);
    run.end();
    soon("it is found", || text(&world, "new/deep/.envrc").is_none());
    let listed = || said(world.endow(["diff", "--patch"]).current_dir(world.project()));
    soon("it is kept", || listed().stdout.contains("+mine"));
}

#[test]
fn names_too_deep_to_be_looked_at_are_told_to_be_unseen() {
    for (depth, is_seen) in [(120, true), (140, false), (220, false)] {
        let world = workspace();
        let deep = vec!["d"; depth].join("/");
        let script = format!(
            "mkdir -p {deep}; git init -q {deep}; git -C {deep} config core.fsmonitor evil"
        );
        let report = world.root().join("report.json");
        let said = live(&world, &["--report", report.to_str().expect("text")], &script);
        let left = text(&world, &format!("{deep}/.git/config")).unwrap_or_default();
        assert_eq!(!left.contains("evil"), is_seen, "{depth}: {}", said.stderr);
        assert_eq!(
            !said.stderr.contains("could not be searched"),
            is_seen,
            "{depth}: {}",
            said.stderr
        );
        let report = fs::read_to_string(report).expect("a report");
        let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
        let places = if is_seen { json!([]) } else { json!([world.project()]) };
        assert_eq!(report["unsearched"], places, "{depth}");
    }
}

#[test]
fn names_that_no_path_leads_to_are_told_to_be_unseen() {
    let world = workspace();
    let go = "import os
for _ in range(30): os.mkdir('d' * 200); os.chdir('d' * 200)
open('.envrc', 'w').write('evil')";
    let said = live(&world, &["-v"], &format!("python3 -c \"{go}\""));
    assert!(said.stderr.contains("could not be searched"), "{}", said.stderr);
}
