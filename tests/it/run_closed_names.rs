//! Protected names in live workspaces that bits keep from being taken away, and what is said of those that
//! stay all the same.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::harness::{Running, Said, World, said, soon};

fn live(world: &World, options: &[&str], script: &str) -> Said {
    let words = [&["run", "--workspace", "rw"], options, &["--", "sh", "-c", script]].concat();
    said(&mut world.endow(words))
}

fn open_all(world: &World) {
    world.bare("for i in 1 2 3 4 5; do chmod -R u+rwX . ; done 2>/dev/null; true").ok();
}

fn exist(world: &World, names: &[&str]) -> Vec<String> {
    let is_there = |name: &&&str| world.project().join(name).symlink_metadata().is_ok();
    names.iter().filter(is_there).map(ToString::to_string).collect()
}

/// Names further down, directories that are moved to the place of a protected one, hooks.
const PLANTED: &str = "mkdir -p sub t .github/w b; echo evil >sub/.envrc; echo evil >t/tasks.json
    echo evil >.github/w/ci.yml; git init -q b/r; mkdir -p b/r/.git/hooks
    printf '[core]\n\tfsmonitor = \"touch ~/ran; false\"\n' >>b/r/.git/config
    echo evil >b/r/.git/hooks/post-checkout";
const NAMES: &[&str] = &[
    "sub/.envrc",
    ".vscode/tasks.json",
    ".github/workflows/ci.yml",
    "b/r/.git/config",
    "b/r/.git/hooks/post-checkout",
];

#[test]
fn directory_without_the_bit_to_write_keeps_no_protected_name() {
    for mode in ["500", "555", "100", "0"] {
        let script = format!(
            "{PLANTED}; chmod {mode} sub t .github/w b/r/.git/hooks b/r/.git
            mv t .vscode; mv .github/w .github/workflows"
        );
        let control = World::new();
        control.bare(&script).ok();
        open_all(&control);
        assert_eq!(exist(&control, NAMES), NAMES, "the control: {mode}");
        let world = World::new();
        let run = live(&world, &[], &script);
        assert_eq!(run.code, 0, "{mode}: {}", run.stderr);
        assert!(run.stderr.contains("held for review"), "{mode}: {}", run.stderr);
        let modes = world.bare("stat -c %a sub b/r/.git").ok().to_owned();
        assert_eq!(modes, format!("{mode}\n{mode}\n"), "they are as closed as they were");
        open_all(&world);
        assert_eq!(exist(&world, NAMES), [""; 0], "{mode}: {}", run.stderr);
        let patch = said(&mut world.endow(["diff", "--patch"]));
        assert_eq!(patch.ok().matches("+evil").count(), 4, "{mode}: {}", patch.stdout);
    }
}

/// Of the repository and of the workspace themselves.
#[test]
fn closed_root_and_repository_keep_no_protected_name() {
    // At once: what watches would take a name before its directory is closed.
    let script = "python3 -c \"import os
open('.envrc', 'w').write('evil')
os.chmod('.', 0o500)
open('.git/config.worktree', 'w').write('[core]\\n\\tfsmonitor = evil\\n')
os.chmod('.git', 0o500)\"";
    let names = [".envrc", ".git/config.worktree"];
    let new = || {
        let world = World::new();
        world.bare("git init -q; git config extensions.worktreeConfig true; rm -f .git/config.worktree").ok();
        world
    };
    let control = new();
    control.bare(script).ok();
    open_all(&control);
    assert_eq!(exist(&control, &names), names, "the control");
    let world = new();
    let run = live(&world, &[], script);
    assert_eq!(world.bare("stat -c %a . .git").ok(), "500\n500\n", "{}", run.stderr);
    open_all(&world);
    assert_eq!(exist(&world, &names), [""; 0], "{}", run.stderr);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

/// Somebody who closes a directory as fast as it is opened wins no more than until the end.
#[test]
fn directory_that_is_closed_again_and_again_keeps_nothing() {
    let world = World::new();
    world.write("home/project/.vscode/settings.json", "{}");
    let script = "(while :; do chmod 500 .github; done) & mkdir -p .github/workflows
        for i in 1 2 3 4 5 6 7 8; do chmod 700 .github; echo evil >.github/workflows/$i.yml; done 2>/dev/null; sleep .2; kill $!";
    let run = live(&world, &[], script);
    open_all(&world);
    let left = fs::read_dir(world.project().join(".github/workflows"));
    assert_eq!(left.map_or(0, Iterator::count), 0, "{}", run.stderr);
}

#[test]
fn name_below_closed_directories_is_held_and_comes_back() {
    let new = "mkdir -p a/b/c; echo layout >a/b/c/.envrc";
    for closing in
        ["", "chmod 0 a/b/c; chmod 100 a/b; chmod 0 a", "chmod 555 a/b/c a/b a", "chmod 300 a"]
    {
        let world = World::new();
        let run = live(&world, &[], &format!("{new}; {closing}"));
        assert_eq!(run.code, 0, "{closing}: {}", run.stderr);
        assert!(run.stderr.contains("1 held for review"), "{closing}: {}", run.stderr);
        assert!(!run.stderr.contains("refused"), "{closing}: {}", run.stderr);
        let before = world.bare("stat -c %a a").ok().to_owned();
        assert!(said(&mut world.endow(["diff"])).ok().contains("+layout"));
        let apply = said(&mut world.endow(["apply", "a/b/c/.envrc"]));
        assert_eq!(apply.code, 0, "{closing}: {}", apply.stderr);
        assert_eq!(world.bare("stat -c %a a").ok(), before, "{closing}");
        open_all(&world);
        assert_eq!(world.read("a/b/c/.envrc"), "layout\n", "{closing}");
        said(&mut world.endow(["undo"])).ok();
        assert_eq!(world.read("a/b/c/.envrc"), "absent", "{closing}");
    }
}

/// What stays and what nobody looked at is said with its path, and no success.
#[test]
fn name_that_can_not_be_taken_away_is_told_and_makes_the_run_fail() {
    let world = World::new();
    let elsewhere = tempfile::tempdir_in("/dev/shm").expect("another file system");
    (0..80).for_each(|number| drop(world.write(format!("home/project/x/{number}"), "")));
    world.write("home/project/x/large", &"x".repeat(1 << 20));
    let report = world.root().join("report.json");
    let events = world.root().join("events");
    let words = "--workspace rw --report ../../report.json --events ../../events";
    let runs = |script: &str, limit: &str| {
        let script = format!("ulimit -f {limit}; exec \"$0\" run {words} -- sh -c '{script}'");
        let mut command = world.command("sh");
        command.env("ENDOW_STATE_DIR", elsewhere.path().join("state"));
        command.arg("-c").arg(script).arg(crate::harness::endow());
        said(&mut command)
    };
    let control = runs("mv x .husky", "unlimited");
    assert_eq!(control.code, 0, "{}", control.stderr);
    assert_eq!(exist(&world, &[".husky"]), [""; 0]);
    let missed = || {
        let text = fs::read_to_string(&report).expect("a report");
        let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        report["missed"].clone()
    };
    assert_eq!(missed(), serde_json::json!([]));
    (0..80).for_each(|number| drop(world.write(format!("home/project/x/{number}"), "")));
    world.write("home/project/x/large", &"x".repeat(1 << 20));
    let run = runs("mv x .husky", "500");
    assert_eq!(run.code, 121, "{}", run.stderr);
    let at = world.project().join(".husky");
    let line = format!("a protected name that could not be taken away: {}", at.display());
    assert!(run.stderr.contains(&line), "{}", run.stderr);
    assert_eq!(missed(), serde_json::json!([{"path": at, "reason": "stays"}]));
    let events = fs::read_to_string(events).expect("events");
    assert!(events.lines().any(|it| it.contains(r#""event":"stays""#)), "{events}");
    assert_eq!(runs("exit 3", "500").code, 3, "the command's failure wins");
}

#[test]
fn directory_that_is_not_searched_is_told() {
    let deep = vec!["d"; 140].join("/");
    let world = World::new();
    let run = live(&world, &[], &format!("mkdir -p {deep}"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let told = format!("protected names: {}/d/d/d/", world.project().display());
    assert!(run.stderr.contains(&told), "{}", run.stderr);
}

/// Returns the process of endow's that watches protected names.
fn watcher(run: &Running) -> Option<i32> {
    let all = fs::read_to_string(format!("/proc/{0}/task/{0}/children", run.pid())).ok()?;
    let watches = |pid: &i32| {
        let opened = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut targets = opened.filter_map(|it| fs::read_link(it.path()).ok());
        targets.any(|it| it == Path::new("anon_inode:inotify"))
    };
    all.split_whitespace().filter_map(|pid| pid.parse().ok()).find(watches)
}

#[test]
fn names_are_held_though_what_watches_them_dies() {
    for dies in [false, true] {
        let world = World::new();
        let events = world.root().join("events");
        let script = "echo go; read x; mkdir -p .vscode d/x; echo evil | tee .envrc .vscode/tasks.json d/x/.envrc >d/own";
        let words =
            ["run", "--workspace", "rw", "--events", "../../events", "--", "sh", "-c", script];
        let errors = fs::File::create(world.root().join("errors")).expect("made");
        let mut run = Running::start(world.endow(words).stdin(Stdio::piped()).stderr(errors));
        run.expect("go");
        if dies {
            let told = || fs::read_to_string(&events).unwrap_or_default().contains(r#""lost""#);
            crate::harness::send(libc::SIGKILL, watcher(&run).expect("a process that watches"));
            soon("it is told", told);
        }
        run.say("on\n");
        assert_eq!(run.end(), 0);
        let names = [".envrc", ".vscode/tasks.json", "d/x/.envrc", "d/own"];
        let errors = fs::read_to_string(world.root().join("errors")).expect("errors");
        assert_eq!(exist(&world, &names), ["d/own"], "{dies}: {errors}");
        assert_eq!(
            errors.matches("has ended before the run").count(),
            usize::from(dies),
            "{errors}"
        );
        let events = fs::read_to_string(&events).expect("events");
        assert_eq!(events.matches(r#""lost""#).count(), usize::from(dies), "{events}");
        assert!(errors.contains("held for review"), "{errors}");
    }
}
