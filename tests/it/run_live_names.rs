//! Protected names in live workspaces: those that are there can't be changed, and those that appear are
//! taken away, kept for the user to decide about.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Stdio;

use crate::harness::{Running, Said, World, said, soon};

/// A workspace in which names are protected.
fn workspace() -> World {
    let world = World::new();
    world.write("home/project/file", "content\n");
    world.write("home/project/.envrc", "theirs\n");
    world.write("home/project/.vscode/settings.json", "theirs\n");
    world.write("home/project/.github/CODEOWNERS", "theirs\n");
    world
}

fn live(world: &World, options: &[&str], script: &str) -> Said {
    let words = [&["run", "--workspace", "rw"], options, &["--", "sh", "-c", script]].concat();
    said(world.endow(words).current_dir(world.project()))
}

fn bare(world: &World, script: &str) {
    said(world.command("sh").args(["-c", script]).current_dir(world.project()));
}

/// Returns all names of the workspace.
fn names(world: &World) -> Vec<PathBuf> {
    let (mut names, mut directories) = (Vec::new(), vec![world.project()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("listed").flatten() {
            if entry.file_type().expect("a type").is_dir() {
                directories.push(entry.path());
            }
            names.push(entry.path().strip_prefix(world.project()).expect("below").to_owned());
        }
    }
    names.sort();
    names
}

fn endow(world: &World, words: &[&str]) -> Said {
    said(world.endow(words).current_dir(world.project()))
}

/// Ways to have a protected name say `evil`.
const ATTACKS: &[(&str, &str)] = &[
    (".envrc", "echo evil >.envrc"),
    (".envrc", "rm -f .envrc; echo evil >.envrc"),
    (".envrc", "echo evil >new; mv -f new .envrc"),
    (".envrc", "echo evil >new; ln -f new .envrc"),
    (".vscode/settings.json", "echo evil >.vscode/settings.json"),
    (".vscode/tasks.json", "echo evil >.vscode/tasks.json"),
    (".vscode/tasks.json", "mv .vscode x; mkdir .vscode; echo evil >.vscode/tasks.json"),
    ("Jenkinsfile", "echo evil >Jenkinsfile"),
    ("Jenkinsfile", "echo evil >new; mv new Jenkinsfile"),
    (".husky/pre-commit", "mkdir .husky; echo evil >.husky/pre-commit"),
    (".husky/pre-commit", "mkdir new; echo evil >new/pre-commit; mv new .husky"),
    (".husky/pre-commit", "mkdir -p h; echo evil >h/pre-commit; ln -s h .husky"),
    (".github/workflows/x.yml", "mkdir .github/workflows; echo evil >.github/workflows/x.yml"),
    (
        ".github/workflows/x.yml",
        "mkdir -p new/workflows; echo evil >new/workflows/x.yml; rm -rf .github; mv new .github",
    ),
    (".github/workflows/x.yml", "mkdir new; echo evil >new/x.yml; ln -s ../new .github/workflows"),
    (".config/git/config", "mkdir -p .config/git; echo evil >.config/git/config"),
    (".cargo/config.toml", "mkdir -p new; echo evil >new/config.toml; mv new .cargo"),
    (".git/hooks/pre-commit", "mkdir -p .git/hooks; echo evil >.git/hooks/pre-commit"),
    (
        ".git/hooks/pre-commit",
        "mkdir -p new/hooks; echo evil >new/hooks/pre-commit; ln -s new .git",
    ),
    ("endow.toml", "echo evil >endow.toml"),
    ("x.pem/.vscode/tasks.json", "mkdir -p x.pem/.vscode; echo evil >x.pem/.vscode/tasks.json"),
    ("y/.env/.envrc", "mkdir -p y/.env; echo evil >y/.env/.envrc"),
    (".travis.yml", "echo evil >.travis.yml"),
    ("azure-pipelines.yaml", "echo evil >azure-pipelines.yaml"),
    (".woodpecker/x.yml", "mkdir .woodpecker; echo evil >.woodpecker/x.yml"),
    (
        ".forgejo/workflows/x.yml",
        "mkdir -p .forgejo/workflows; echo evil >.forgejo/workflows/x.yml",
    ),
    (".lefthook-local.toml", "echo evil >.lefthook-local.toml"),
    ("mise.local.toml", "echo evil >mise.local.toml"),
    (".config/mise/config.toml", "mkdir -p .config/mise; echo evil >.config/mise/config.toml"),
];

#[test]
fn protected_names_are_not_written_through() {
    for (name, script) in ATTACKS {
        let control = workspace();
        bare(&control, script);
        let planted = fs::read_to_string(control.project().join(name));
        assert_eq!(planted.ok().as_deref(), Some("evil\n"), "control: {script}");
        let world = workspace();
        let before = fs::read_to_string(world.project().join(name)).ok();
        live(&world, &[], script);
        assert_eq!(fs::read_to_string(world.project().join(name)).ok(), before, "{script}");
    }
}

#[test]
fn what_appears_is_held_until_the_user_decides() {
    let world = workspace();
    let script = "mkdir -p .husky .github/workflows; echo one >.husky/pre-commit
        echo two >Jenkinsfile; echo three >.github/workflows/x.yml; echo four >other";
    let before = names(&world);
    let run = live(&world, &["-v"], script);
    assert!(run.stderr.contains("held for review") && run.stderr.contains("Jenkinsfile"));
    assert_eq!(run.code, 0);
    let added: Vec<_> = names(&world).into_iter().filter(|it| !before.contains(it)).collect();
    assert_eq!(added, [PathBuf::from("other")]);
    let patch = endow(&world, &["diff", "--patch"]);
    for line in ["+one", "+two", "+three"] {
        assert!(patch.ok().contains(line), "{}", patch.stdout);
    }
    endow(&world, &["apply", "Jenkinsfile"]).ok();
    assert_eq!(
        fs::read_to_string(world.project().join("Jenkinsfile")).ok().as_deref(),
        Some("two\n")
    );
    assert!(!world.project().join(".husky").exists());
    endow(&world, &["undo"]).ok();
    assert!(!world.project().join("Jenkinsfile").exists());
}

#[test]
fn report_and_events_name_what_was_held() {
    let world = workspace();
    let place = world.root().join("report.json");
    let events = world.root().join("events");
    let options =
        ["--report", place.to_str().expect("text"), "--events", events.to_str().expect("text")];
    live(&world, &options, "echo x >Jenkinsfile; sleep 0.2").ok();
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(place).expect("a report")).expect("JSON");
    let held = report.pointer("/sync/held/0").expect("held");
    let path = held.get("path").and_then(|it| it.as_str()).expect("a path");
    assert!(path.ends_with("/project/Jenkinsfile"), "{report}");
    assert!(held.to_string().contains("protected: Jenkinsfile"), "{held}");
    let events = fs::read_to_string(events).expect("events");
    assert!(events.lines().any(|it| it.contains(r#""event":"held""#)), "{events}");
}

#[test]
fn name_is_gone_while_the_command_still_runs() {
    let world = workspace();
    let words =
        ["run", "--workspace", "rw", "--", "sh", "-c", "echo go; echo evil >Jenkinsfile; read x"];
    let mut command = world.endow(words);
    let mut run = Running::start(command.current_dir(world.project()).stdin(Stdio::piped()));
    run.expect("go");
    let place = world.project().join("Jenkinsfile");
    let kept = || world.states() == ["running"];
    soon("the name is taken away", || !place.exists() && kept());
    run.say("\n");
    assert_eq!(run.end(), 0);
    assert!(!place.exists());
    assert_eq!(world.states(), ["waiting"]);
}

#[test]
fn nothing_is_left_when_the_supervisor_is_killed() {
    let world = workspace();
    let before = names(&world);
    let script = "mkdir .husky; echo one >.husky/pre-commit; echo go
        while :; do echo evil >Jenkinsfile; mkdir -p .husky; echo x >.husky/post-commit; done 2>/dev/null";
    let words = ["run", "--workspace", "rw", "--", "sh", "-c", script];
    let mut run = Running::start(world.endow(words).current_dir(world.project()));
    run.expect("go");
    run.signal(libc::SIGKILL);
    run.end();
    soon("the run is over", || endow(&world, &["runs"]).ok().contains("interrupted"));
    assert_eq!(names(&world), before);
    assert!(endow(&world, &["diff"]).ok().contains("+one"));
}

#[test]
fn state_on_another_file_system_gets_copies() {
    let world = workspace();
    let state = tempfile::tempdir_in("/dev/shm").expect("another file system");
    let script = "mkdir .husky; echo one >.husky/pre-commit; echo two >Jenkinsfile";
    let words = ["run", "--workspace", "rw", "--", "sh", "-c", script];
    let with = |words: &[&str]| {
        let mut command = world.endow(words);
        said(
            command.env("ENDOW_STATE_DIR", state.path().join("endow")).current_dir(world.project()),
        )
    };
    with(&words).ok();
    let patch = with(&["diff", "--patch"]);
    assert!(patch.ok().contains("+one") && patch.stdout.contains("+two"), "{}", patch.stdout);
    assert!(!world.project().join(".husky").exists());
}

#[test]
fn discarding_a_run_does_not_discard_what_was_held() {
    let world = workspace();
    live(&world, &["--sync", "discard"], "echo two >Jenkinsfile");
    assert_eq!(world.states(), ["waiting"]);
    live(&world, &["--sync", "discard"], "echo two >other");
    assert_eq!(world.states(), ["waiting"], "a run that held nothing leaves nothing");
    endow(&world, &["discard"]).ok();
    assert_eq!(world.states(), ["discarded"]);
}

#[test]
fn user_may_leave_a_name_open() {
    let world = workspace();
    let options = ["--unprotect", ".envrc", "--unprotect", "Jenkinsfile"];
    live(&world, &options, "echo mine >.envrc; echo mine >Jenkinsfile; sleep 0.1").ok();
    for name in [".envrc", "Jenkinsfile"] {
        let text = fs::read_to_string(world.project().join(name));
        assert_eq!(text.ok().as_deref(), Some("mine\n"), "{name}");
    }
    assert_eq!(world.states(), [""; 0]);
}

#[test]
fn names_that_a_user_protects_are_held_in_other_mounts_too() {
    let world = workspace();
    let other = world.home().join("other");
    fs::create_dir(&other).expect("a directory");
    fs::write(other.join("there"), "theirs\n").expect("a file");
    let mount = other.to_str().expect("text");
    let options = ["--rw", mount, "--protect", "{there,absent}"];
    let script =
        format!("echo evil >{mount}/there; echo evil >{mount}/absent; echo mine >{mount}/new");
    live(&world, &options, &script);
    let text = |name: &str| fs::read_to_string(other.join(name)).ok();
    assert_eq!(text("there").as_deref(), Some("theirs\n"));
    assert_eq!((text("absent"), text("new").as_deref()), (None, Some("mine\n")));
}

/// Each of these once took the protection of every other name away, without a word.
#[test]
fn pattern_of_ones_own_leaves_the_others_in_force() {
    for (pattern, own) in [("/own/x", "own/x"), ("{own/x,y}", "own/x"), ("**/{y/z,own}/x", "own/x")]
    {
        let script =
            "echo evil >Jenkinsfile; mkdir -p own/deep; echo evil >own/x; echo fine >own/deep/x";
        for access in ["rw", "cow"] {
            let world = workspace();
            let words =
                ["run", "--workspace", access, "--protect", pattern, "--", "sh", "-c", script];
            endow(&world, &words);
            let is_there = |name: &&str| world.project().join(name).exists();
            let there = ["Jenkinsfile", own, "own/deep/x"].into_iter().filter(is_there);
            assert_eq!(there.collect::<Vec<_>>(), ["own/deep/x"], "{pattern} {access}");
        }
    }
}

/// However long the way is, and whatever lies on it.
#[test]
fn name_that_is_there_can_not_be_written_at_any_depth() {
    let long = "svc/core/src/main/java/com/acme/billing/config/prod.yml";
    for (pattern, name) in [
        (format!("/{long}"), long),
        (format!("**/{long}"), long),
        ("**/config/prod.yml".to_owned(), long),
        ("svc/**/prod.yml".to_owned(), long),
        ("**/svc/**/com/**/prod.yml".to_owned(), long),
        ("**/svc/**".to_owned(), long),
    ] {
        let world = workspace();
        world.write(format!("home/project/{name}"), "theirs\n");
        let script = format!("echo evil >{name}; rm -f {name}; echo evil >{name}; echo fine >own");
        let told = live(&world, &["--protect", &pattern], &script).stderr;
        assert_eq!(world.read("own"), "fine\n", "{told}");
        assert_eq!(world.read(name), "theirs\n", "{pattern}: {told}");
        live(&world, &[], &script);
        assert_eq!(world.read(name), "evil\n", "the control");
    }
}

#[test]
fn link_in_the_place_of_a_name_is_kept_with_what_it_leads_to() {
    let world = workspace();
    fs::remove_file(world.project().join(".envrc")).expect("removed");
    world.write("home/project/scripts/env", "theirs\n");
    symlink("scripts/env", world.project().join(".envrc")).expect("a link");
    let script = "echo evil >.envrc; echo evil >scripts/env; rm -f .envrc scripts/env; mv .envrc x; cat .envrc";
    assert_eq!(live(&world, &[], script).stdout, "theirs\n");
    let text = fs::read_to_string(world.project().join(".envrc"));
    assert_eq!(text.ok().as_deref(), Some("theirs\n"));
}

#[test]
fn every_link_on_the_way_from_a_name_is_kept() {
    for (make, script) in [
        ("echo theirs >real; ln -s real mid; ln -s mid .mise.toml", "rm -f mid; echo evil >mid"),
        (
            "echo theirs >real; ln -s real mid; ln -s mid .mise.toml",
            "echo evil >new; mv -f new mid",
        ),
        ("echo theirs >real; ln -s real mid; ln -s mid .mise.toml", "echo evil >real"),
        (
            "mkdir shared; echo theirs >shared/x; ln -s shared cur; ln -s cur/x .mise.toml",
            "rm -f cur; mkdir cur; echo evil >cur/x",
        ),
        (
            "mkdir -p a/b; echo theirs >x; ln -s ../../x a/b/c; ln -s a/b/c .mise.toml",
            "rm -f a/b/c; echo evil >a/b/c; mv a z; mkdir -p a/b; echo evil >a/b/c",
        ),
    ] {
        let world = workspace();
        bare(&world, make);
        let script_and = format!("{script}; echo fine >own");
        for access in ["rw", "cow"] {
            let words = ["run", "--workspace", access, "--", "sh", "-c", &script_and];
            let told = endow(&world, &words).stderr;
            assert_eq!(world.read("own"), "fine\n", "{access} {script}: {told}");
            assert_eq!(world.read(".mise.toml"), "theirs\n", "{access} {script}: {told}");
            fs::remove_file(world.project().join("own")).expect("removed");
        }
        let control = workspace();
        bare(&control, &format!("{make}; {script}"));
        assert_eq!(control.read(".mise.toml"), "evil\n", "the control: {script}");
    }
}

#[test]
fn git_makes_repositories_and_nothing_of_them_is_held() {
    let world = World::new();
    world.write("home/project/file", "content\n");
    let script = "export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=a
        export GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=a@b
        git init -q . && git add file && git commit -qm first && git config user.name b &&
        git branch topic && git worktree add -q tree topic && git clone -q . copy &&
        git remote add origin https://example.com/a.git && git status --short && sleep 0.1";
    let run = live(&world, &[], script);
    assert_eq!(run.ok(), "?? copy/\n?? tree/\n");
    assert_eq!(world.states(), [""; 0], "{}", run.stderr);
    let git = |words: &[&str]| said(world.command("git").args(words).current_dir(world.project()));
    assert_eq!(git(&["config", "user.name"]).ok(), "b\n");
    git(&["fsck"]).ok();
}

#[test]
fn traps_in_a_new_repository_are_held() {
    let world = World::new();
    world.write("home/project/file", "content\n");
    let marker = world.root().join("planted");
    let traps = [
        format!("git config core.fsmonitor 'touch {}'", marker.display()),
        format!("printf '[core]\\nfsmonitor=touch {}\\n' >>.git/config", marker.display()),
        format!(
            "printf '#!/bin/sh\\ntouch {}\\n' >.git/hooks/post-commit; chmod +x .git/hooks/post-commit",
            marker.display()
        ),
        format!(
            "mkdir h; printf '#!/bin/sh\\ntouch {}\\n' >h/post-commit; chmod +x h/*; git config core.hooksPath h",
            marker.display()
        ),
    ];
    let commit = |world: &World| {
        let words = [
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        ];
        said(world.command("git").args(words).current_dir(world.project()));
        marker.exists()
    };
    for trap in traps {
        let script = format!("git init -q .; {trap}");
        bare(&world, &script);
        assert!(commit(&world), "control: {trap}");
        for left in [world.project().join(".git"), world.project().join("h")] {
            drop(fs::remove_dir_all(left));
        }
        fs::remove_file(&marker).expect("removed");
        live(&world, &[], &script);
        assert!(!commit(&world), "{trap}");
        for left in [world.project().join(".git"), world.project().join("h")] {
            drop(fs::remove_dir_all(left));
        }
    }
}

/// Settings of a new repository that run something when git is used outside.
#[test]
fn settings_of_a_new_repository_run_nothing_outside() {
    let made = |setting: &str| {
        format!(
            "git init -q n && cd n && git config user.name t && git config user.email t@example.com
            git commit -q --allow-empty -m first; echo x >x; git hash-object -w x >/dev/null
            find .git/objects -type f | xargs touch -d 2020-01-01; {setting}"
        )
    };
    let uses = |world: &World| {
        let script = "cd n && { git gc -q; git push origin HEAD; } >/dev/null 2>&1; true";
        said(world.command("sh").args(["-c", script]).current_dir(world.project()));
        world.home().join("ran").exists()
    };
    // Older git knows no such hook (2.42 has it).
    let known = if git_version() < (2, 42) { &SETTINGS[1..] } else { SETTINGS };
    for setting in known {
        let control = workspace();
        bare(&control, &made(setting));
        assert!(uses(&control), "control: {setting}");
        let world = workspace();
        live(&world, &[], &made(setting)).ok();
        assert!(!uses(&world), "{setting}");
    }
}

fn git_version() -> (u32, u32) {
    let said = std::process::Command::new("git").arg("--version").output().expect("git");
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let mut numbers = text.split([' ', '.']).filter_map(|word| word.trim().parse().ok());
    (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default())
}

const SETTINGS: &[&str] = &[
    "git config gc.recentObjectsHook 'touch ~/ran'",
    "git init -q --bare node_modules/evil.git; git remote add origin ./node_modules/evil.git
        printf '#!/bin/sh\ntouch ~/ran\n' >node_modules/evil.git/hooks/pre-receive
        chmod +x node_modules/evil.git/hooks/pre-receive",
];

/// The user who opens a directory again, to remove it, finds no trap in it.
#[test]
fn closed_directories_are_looked_into() {
    let planted = "mkdir -p sub/x/objects sub/x/refs; echo 'ref: refs/heads/main' >sub/x/HEAD
        printf '[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = \"touch ~/ran; false\"\n' >sub/x/config
        git init -q sub/r; git -C sub/r config core.fsmonitor 'touch ~/ran; false'; echo evil >sub/.envrc";
    let closings = [
        "chmod 000 sub",
        "chmod 400 sub",
        "chmod 300 sub",
        "chmod 000 sub/x sub/r sub",
        "chmod 000 sub/r/.git",
        "chmod 000 sub/r/.git/config sub/r/.git",
    ];
    let names = ["sub/x/config", "sub/r/.git/config", "sub/.envrc"];
    for closing in closings {
        let world = workspace();
        let run = live(&world, &[], &format!("{planted}; {closing}"));
        let modes = "stat -c %a . sub sub/x sub/r sub/r/.git 2>/dev/null; true";
        let seen = said(world.command("sh").args(["-c", modes]).current_dir(world.project()));
        let closed = ["0", "400", "300"];
        assert!(
            seen.stdout.lines().any(|mode| closed.contains(&mode)),
            "{closing}: {}",
            seen.stdout
        );
        let open = "for i in 1 2 3 4; do chmod -R u+rwX . ; done 2>/dev/null; true";
        said(world.command("sh").args(["-c", open]).current_dir(world.project()));
        for name in names {
            let planted = world.project().join(name);
            assert!(planted.symlink_metadata().is_err(), "{closing}: {name}: {}", run.stderr);
        }
    }
}

/// What leads to a protected name may be the mount's own root, whether its changes are buffered or not.
#[test]
fn protected_names_are_held_where_their_directory_is_granted_alone() {
    for (root, name) in [
        (".config", "autostart/x.desktop"),
        (".github", "workflows/ci.yml"),
        (".git", "hooks/post-commit"),
    ] {
        let world = World::new();
        let at = world.home().join(root);
        fs::create_dir_all(at.join(name).parent().expect("a parent")).expect("made");
        let (text, there) = (at.to_str().expect("text").to_owned(), || at.join(name).exists());
        let script = format!("echo evil >{text}/{name}; echo fine >{text}/own");
        for access in ["--cow", "--rw"] {
            let words = ["run", "--workspace", "none", "--chdir", "/", access, &text];
            drop(fs::remove_file(at.join("own")));
            said(&mut world.endow([&words[..], &["--", "sh", "-c", &script]].concat()));
            assert!(at.join("own").exists() && !there(), "{access} {root}");
        }
        let words = ["run", "--workspace", "none", "--chdir", "/", "--rw", &text];
        let free = [&words[..], &["--unprotect", "**", "--", "sh", "-c", &script]].concat();
        said(&mut world.endow(free));
        assert!(there() || root == ".git", "the control");
    }
}

/// There are only so many watches: empty directories take no more than half, and what was taken away none.
#[test]
fn many_empty_directories_take_no_watch_from_others() {
    let script = "mkdir .vscode; for i in $(seq 1100); do mkdir .vscode/d$i; done
        mkdir -p .github/workflows; echo evil >.github/workflows/ci.yml
        for i in $(seq 60); do [ -e .github/workflows/ci.yml ] && sleep 0.05; done; cat .github/*/* 2>/dev/null; :";
    assert_eq!(live(&World::new(), &[], script).ok(), "");
}
