//! What git's settings lead to in a workspace: hooks in a directory of any name, and further files of settings.

use std::fs;
use std::os::unix::fs::symlink;

use crate::harness::{Said, World, said};

/// A repository whose settings, or those of the user, a script changes first.
fn world(script: &str) -> World {
    let world = World::new();
    world.write("home/project/tooling/hk/pre-commit", "theirs\n");
    world.write("home/project/conf/git", "[user]\n\tname = them\n");
    world.bare(&format!("git init -q . && {script}")).ok();
    world
}

fn run(world: &World, options: &[&str], script: &str) -> Said {
    said(&mut world.endow([&["run"], options, &["--", "sh", "-c", script]].concat()))
}

const HOOKS: &[&str] = &[
    "git config core.hooksPath tooling/hk",
    "git config core.hooksPath \"$PWD/tooling/hk\"",
    "git config include.path ../conf/git && echo '[core] hooksPath = tooling/hk' >>conf/git",
    "mv conf/git tooling/hk/c && git config include.path ../tooling/hk/c && echo '[core] hooksPath = tooling/hk' >>tooling/hk/c",
    "git config extensions.worktreeConfig true && git config --worktree core.hooksPath tooling/hk",
    "printf '[core]\\n\\thooksPath = tooling/hk\\n' >~/.gitconfig",
];

#[test]
fn hooks_that_settings_name_are_not_written() {
    for setting in HOOKS {
        for access in ["rw", "cow"] {
            let world = world(setting);
            let hook = "tooling/hk/pre-commit";
            let script = "echo evil >tooling/hk/pre-commit; rm -f tooling/hk/pre-commit; mkdir x; echo evil >x/pre-commit; \
                mv tooling/hk y; ln -s ../x tooling/hk; mv tooling z; mkdir -p tooling/hk; echo evil >tooling/hk/new; \
                echo evil >tooling/hk/pre-commit; echo fine >own";
            let told = run(&world, &["--workspace", access], script).stderr;
            assert_eq!(world.read("own"), "fine\n", "{setting} {access}: {told}");
            assert_eq!(world.read(hook), "theirs\n", "{setting} {access}: {told}");
            assert_eq!(world.read("tooling/hk/new"), "absent", "{setting} {access}: {told}");
        }
    }
    let control = world("true");
    run(&control, &["--workspace", "rw"], "echo evil >tooling/hk/pre-commit");
    assert_eq!(control.read("tooling/hk/pre-commit"), "evil\n", "the control");
}

#[test]
fn settings_that_are_included_are_not_written() {
    let includes = [
        ("git config include.path ../conf/git", "conf/git"),
        ("git config includeIf.gitdir:/.path ../conf/git", "conf/git"),
        ("git config include.path ../conf/none", "conf/none"),
        ("git config include.path inc && echo '[user] name = x' >.git/inc", ".git/inc"),
        (
            "git config include.path ../conf/git && echo '[include] path = more' >>conf/git && echo '[user] name = x' >conf/more",
            "conf/more",
        ),
        (
            "rm conf/git && mv -f ~/.gitconfig x; echo '[user] name = x' >conf/git && ln -s \"$PWD/conf/git\" ~/.gitconfig",
            "conf/git",
        ),
    ];
    for (setting, file) in includes {
        for access in ["rw", "cow"] {
            let world = world(setting);
            let before = world.read(file);
            let script = format!(
                "echo '[core] fsmonitor = evil' >>{file}; rm -f {file}; echo evil >{file}; echo fine >own"
            );
            let told = run(&world, &["--workspace", access], &script).stderr;
            assert_eq!(world.read("own"), "fine\n", "{setting} {access}: {told}");
            assert_eq!(world.read(file), before, "{setting} {access}: {told}");
        }
    }
}

/// The directory that is granted may lie in the repository, or beside its root in another grant.
#[test]
fn hooks_are_not_written_by_a_grant_of_what_is_around_them() {
    let script = "echo evil >hk/pre-commit; echo fine >own";
    let granted = |world: &World| world.project().join("tooling").display().to_string();
    for grant in ["--rw", "--cow"] {
        let world = world(HOOKS[0]);
        let (place, mapped) = (granted(&world), format!("/x={}", granted(&world)));
        for (at, grant_of) in [(place.as_str(), place.as_str()), ("/x", mapped.as_str())] {
            let script = format!("cd {at}; {script}");
            let told = run(&world, &["--workspace", "rw", grant, grant_of], &script).stderr;
            assert_eq!(world.read("tooling/own"), "fine\n", "{grant_of}: {told}");
            assert_eq!(world.read("tooling/hk/pre-commit"), "theirs\n", "{grant_of}: {told}");
            fs::remove_file(world.project().join("tooling/own")).expect("removed");
        }
    }
}

#[test]
fn user_has_the_last_word_about_hooks_elsewhere() {
    for (access, option) in
        [("rw", "/tooling/hk/**"), ("cow", "/tooling/hk/**"), ("cow", "**/.git/hooks/**")]
    {
        let world = world(HOOKS[0]);
        run(
            &world,
            &["--workspace", access, "--unprotect", option],
            "echo mine >tooling/hk/pre-commit",
        );
        assert_eq!(world.read("tooling/hk/pre-commit"), "mine\n", "{access} {option}");
    }
}

/// A link that git follows to its settings, and odd names, are as good as any.
#[test]
fn names_of_hooks_may_be_odd() {
    let world = world("mv tooling 'to[o]l{a,b}*' && git config core.hooksPath 'to[o]l{a,b}*/hk'");
    symlink("to[o]l{a,b}*", world.project().join("link")).expect("a link");
    for access in ["rw", "cow"] {
        run(&world, &["--workspace", access], "echo evil >link/hk/pre-commit");
        assert_eq!(world.read("to[o]l{a,b}*/hk/pre-commit"), "theirs\n", "{access}");
    }
}

fn made(script: &str) -> World {
    let world = World::new();
    world.bare(script).ok();
    world
}

#[test]
fn settings_are_found_where_variables_say() {
    for (name, file) in [
        ("XDG_CONFIG_HOME", "xdg/git/config"),
        ("GIT_CONFIG_GLOBAL", "xdg"),
        ("GIT_CONFIG_SYSTEM", "xdg"),
    ] {
        let world = made("mkdir hk");
        let text = format!("[core]\nhooksPath = {}/hk\n", world.project().display());
        world.write(format!("home/{file}"), &text);
        for access in ["rw", "cow"] {
            let script = "echo evil >hk/pre-commit; echo fine >own";
            let words = ["run", "--workspace", access, "--", "sh", "-c", script];
            let told = said(world.endow(words).env(name, world.home().join("xdg")));
            assert_eq!(world.read("own"), "fine\n", "{told:?}");
            assert_eq!(world.read("hk/pre-commit"), "absent", "{name} {access}");
        }
    }
}

#[test]
fn settings_may_stand_in_variables() {
    let world = made("git init -q .");
    for access in ["rw", "cow"] {
        let script = "mkdir hk; echo evil >hk/pre-commit; echo fine >own";
        let mut command = world.endow(["run", "--workspace", access, "--", "sh", "-c", script]);
        command
            .env("GIT_CONFIG_COUNT", "2")
            .env("GIT_CONFIG_KEY_0", "a.b")
            .env("GIT_CONFIG_VALUE_0", "");
        command.env("GIT_CONFIG_KEY_1", "core.hooksPath").env("GIT_CONFIG_VALUE_1", "hk");
        let told = said(&mut command);
        assert_eq!(
            (world.read("own").as_str(), world.read("hk/pre-commit").as_str()),
            ("fine\n", "absent"),
            "{access}: {told:?}"
        );
    }
}

#[test]
fn settings_of_the_user_may_lie_in_the_workspace() {
    for access in ["rw", "cow"] {
        let world =
            made("mkdir -p conf/git; echo '[user]' >conf/git/config; echo a >conf/git/attributes");
        let script = "echo evil >>conf/git/config; echo evil >>conf/git/attributes; echo fine >own";
        let mut command = world.endow(["run", "--workspace", access, "--", "sh", "-c", script]);
        let told = said(command.env("XDG_CONFIG_HOME", world.project().join("conf")));
        assert_eq!(world.read("own"), "fine\n", "{access}: {told:?}");
        for name in ["conf/git/config", "conf/git/attributes"] {
            assert!(!world.read(name).contains("evil"), "{access} {name}: {told:?}");
        }
    }
}
