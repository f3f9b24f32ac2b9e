//! A repository in a copy-on-write workspace: the command commits while the host goes on.

use std::process::Stdio;

use crate::harness::{Running, World, said};

const WHO: &str = "-c user.name=t -c user.email=t@example.com";

/// A repository with two committed files.
fn repository() -> World {
    let world = World::new();
    let script = format!(
        "git init -q -b main . && echo one >one && echo two >two && git add . \
         && git {WHO} commit -qm first"
    );
    world.bare(&script).ok();
    world
}

fn git(world: &World, arguments: &str) -> String {
    world.bare(&format!("git {WHO} {arguments}")).ok().to_owned()
}

/// Runs a script inside, does something outside in its middle, and returns the exit code.
fn meanwhile(world: &World, inside: &str, outside: &str) -> i32 {
    let script = format!("set -e; {inside}; echo in; read go");
    let mut command = world.endow(["run", "--", "sh", "-c", &script]);
    let mut running = Running::start(command.stdin(Stdio::piped()));
    running.expect("in");
    world.bare(outside).ok();
    running.say("\n");
    running.end()
}

fn commit(message: &str) -> String {
    format!("echo {message} >two && git {WHO} commit -qam {message}")
}

#[test]
fn commit_inside_arrives_as_it_is() {
    let world = repository();
    let script =
        format!("{}; git checkout -qb topic; {}; git tag t", commit("second"), commit("third"));
    world.run(&[], &script).ok();
    assert_eq!(git(&world, "log --format=%s"), "third\nsecond\nfirst\n");
    assert_eq!(git(&world, "status --porcelain -b"), "## topic\n");
    assert_eq!(git(&world, "rev-parse t"), git(&world, "rev-parse topic"));
    assert_eq!(git(&world, "fsck --strict 2>&1"), "");
}

/// What both sides did, and what must hold then: the host's side as the host left it, the run's
/// commit reachable, and a plain commit holds only the host's change.
fn check(inside: &str, outside: &str, staged: &[&str]) {
    let world = repository();
    let code = meanwhile(&world, inside, outside);
    assert_eq!(code, 121, "{outside}");
    let head = git(&world, "rev-parse HEAD");
    assert_eq!(git(&world, "fsck --strict 2>&1 | grep -v ^dangling || true"), "");
    let references = git(&world, "for-each-ref --format='%(refname) %(objectname)' refs/endow");
    let (name, theirs) = references.lines().next().and_then(|it| it.split_once(' ')).expect("one");
    assert!(name.ends_with("/heads/main"), "{references}");
    assert_eq!(git(&world, &format!("log -1 --format=%s {theirs}")), "guest\n");
    assert_ne!(head.trim(), theirs);
    git(&world, "commit --allow-empty -qm plain");
    let changed = git(&world, "show --format= --name-only HEAD");
    assert_eq!(changed.lines().collect::<Vec<_>>(), staged, "{outside}");
}

#[test]
fn host_stages_meanwhile() {
    check(&commit("guest"), "echo host >one && git add one", &["one"]);
}

#[test]
fn host_commits_meanwhile() {
    let outside = format!("echo host >one && git {WHO} commit -qam host");
    check(&commit("guest"), &outside, &[]);
}

#[test]
fn host_switches_the_branch_meanwhile() {
    check(&commit("guest"), "git checkout -qb other", &[]);
}

/// As a shell's prompt does.
const LOOK: &str = "git update-index --force-write-index && git status";

#[test]
fn host_looks_meanwhile() {
    for in_memory in [false, true] {
        let world = repository();
        let script = format!("set -e; {}; echo in; read go", commit("guest"));
        let mut command = world.endow(["run", "--", "sh", "-c", &script]);
        if in_memory {
            // A layer on the disk can't be a part of what it stands on.
            command.env("ENDOW_STATE_DIR", world.project().join(".state"));
        }
        let mut running = Running::start(command.stdin(Stdio::piped()));
        running.expect("in");
        world.bare(LOOK).ok();
        running.say("\n");
        assert_eq!(running.end(), 0, "{in_memory}");
        assert_eq!(git(&world, "log --all --format=%s"), "guest\nfirst\n");
        assert_eq!(git(&world, "status --porcelain --untracked-files=no"), "");
    }
}

#[test]
fn host_looks_before_what_is_held_is_applied() {
    for (since, code) in [(LOOK, 0), ("echo host >one && git add one", 121)] {
        let world = repository();
        let stopped = "echo side >one; git commit -qam side; git rebase -q main || true";
        let script = format!(
            "git() {{ command git {WHO} \"$@\"; }}; git checkout -qb side; git checkout -q main
            {}; git checkout -q side; {}",
            commit("main").replace(">two", ">one"),
            stopped,
        );
        world.run(&[], &script).ok();
        world.bare(since).ok();
        let applied = said(&mut world.endow(["apply", "--", ".git/rebase-merge"]));
        assert_eq!(applied.code, code, "{}", applied.stderr);
        let is_there = world.project().join(".git/rebase-merge/onto").exists();
        assert_eq!(is_there, code == 0, "{}", applied.stderr);
    }
}

#[test]
fn host_collects_garbage_meanwhile() {
    let world = repository();
    // Its object (b6a7...) shares the directory of the one that the run makes (b6fd...): a
    // collection takes that directory away.
    world.bare(&format!("echo 16 >three && git add three && git {WHO} commit -qm third")).ok();
    let outside = "test -d .git/objects/b6 && git gc -q --prune=now && git fsck \
        && test ! -e .git/objects/b6";
    let code = meanwhile(&world, &commit("guest"), outside);
    assert!([0, 121].contains(&code), "{code}");
    assert_eq!(git(&world, "fsck --strict 2>&1 | grep -v ^dangling || true"), "");
    let all = git(&world, "log --all --format=%s");
    assert!(all.contains("guest\n") && all.contains("first\n"), "{all}");
}

#[test]
fn host_fetches_meanwhile() {
    let world = repository();
    let other = world.root().join("other").display().to_string();
    world
        .bare(&format!(
            "git clone -q . {other} && git -C {other} {WHO} commit -q --allow-empty -m far"
        ))
        .ok();
    let outside = format!("git fetch -q {other} main:refs/remotes/far/main");
    let code = meanwhile(&world, &commit("guest"), &outside);
    assert_eq!(code, 0, "nothing of both sides is the same");
    assert_eq!(git(&world, "log -1 --format=%s refs/remotes/far/main"), "far\n");
    assert_eq!(git(&world, "log -1 --format=%s main"), "guest\n");
    assert_eq!(git(&world, "fsck --strict 2>&1 | grep -v ^dangling || true"), "");
}

#[test]
fn collection_inside_removes_nothing_outside() {
    let world = repository();
    let objects = "find .git/objects -type f | sort";
    let before = world.bare(objects).ok().to_owned();
    world.run(&[], &format!("{} && git gc -q --prune=now", commit("guest"))).ok();
    let after = world.bare(objects).ok().to_owned();
    for object in before.lines() {
        assert!(after.contains(object), "{object}");
    }
    assert_eq!(git(&world, "fsck --strict 2>&1 | grep -v ^dangling || true"), "");
    assert_eq!(git(&world, "log --format=%s"), "guest\nfirst\n");
    assert_eq!(git(&world, "status --porcelain"), "");
}

#[test]
fn packed_references_of_both_sides_are_kept() {
    let world = repository();
    let inside = format!("{} && git tag t1 && git pack-refs --all", commit("guest"));
    let code = meanwhile(&world, &inside, "echo host >one && git add one");
    assert_eq!(code, 121);
    let references = git(&world, "for-each-ref --format='%(refname:lstrip=3)' refs/endow");
    assert_eq!(references, "heads/main\ntags/t1\n");
}

#[test]
fn repository_is_not_taken_away() {
    let world = repository();
    world.run(&[], "rm -rf .git one").fails(121);
    assert_eq!(git(&world, "log --format=%s"), "first\n");
    assert!(!world.project().join("one").exists());
}

#[test]
fn rebase_and_switch_leave_the_same_as_bare() {
    let script = format!(
        "set -e; export GIT_AUTHOR_DATE=@1000000000 GIT_COMMITTER_DATE=@1000000000
        git checkout -qb topic; mkdir -p deep/er; echo t >deep/er/file; git add .
        git {WHO} commit -qm topic; git checkout -q main; test ! -e deep; echo m >main
        git add .; git {WHO} commit -qm main; git checkout -q topic; git {WHO} rebase -q main
        git mv deep moved; git {WHO} commit -qm moved; git checkout -q main; git checkout -q topic"
    );
    let tree = "find . -path ./.git -prune -o -printf '%P %y %m %l\\n' | sort; git status -s -b; \
                git log --format='%T %s' --all; git fsck --strict";
    let init = "GIT_AUTHOR_DATE=@1 GIT_COMMITTER_DATE=@1";
    let worlds = [World::new(), World::new()];
    for world in &worlds {
        let script = format!(
            "{init}; git init -q -b main . && echo one >one && git add . && git {WHO} commit -qm first"
        );
        world.bare(&script).ok();
    }
    worlds[0].bare(&script).ok();
    worlds[1].run(&[], &script).ok();
    assert_eq!(worlds[1].bare(tree).ok(), worlds[0].bare(tree).ok());
}

/// What a planted git directory makes git run: what watches the files, and a hook.
fn evil(at: &str) -> String {
    format!(
        "mkdir -p {at}/objects {at}/refs {at}/hooks; echo 'ref: refs/heads/main' >{at}/HEAD
        printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n' >{at}/config
        printf '\\tfsmonitor = \"touch ~/ran; false\"\\n' >>{at}/config
        echo 'touch ~/ran' >{at}/hooks/post-checkout; chmod +x {at}/hooks/post-checkout"
    )
}

/// What git on the host would run or follow next, planted in every way that leads there.
#[test]
fn planted_repositories_are_held() {
    let attacks = [
        format!("{}; echo ../evil >.git/commondir", evil("evil")),
        format!("{}; mkdir sub; echo 'gitdir: ../look' >sub/.git", evil("look")),
        format!("{}; mkdir sub; ln -s ../look sub/.git", evil("look")),
        format!("mkdir sub; {}; printf '\\tworktree = ..\\n' >>sub/bare/config", evil("sub/bare")),
        "mkdir .git/rebase-merge; cd .git/rebase-merge; echo 'exec touch ~/ran' >git-rebase-todo
        : >done; : >interactive; echo refs/heads/main >head-name
        git rev-parse HEAD >onto; cp onto orig-head; cd ../.."
            .to_owned(),
    ];
    for attack in attacks {
        let bare = repository();
        bare.bare(&attack).ok();
        assert!(runs_what_was_planted(&bare), "{attack}: harmless without endow, too");
        let world = repository();
        world.run(&[], &attack).ok();
        let held = ["commondir", "git-rebase-todo", "config", "post-checkout", "sub/.git"];
        let found = world.bare("find . -path ./.git/hooks -prune -o -print").ok().to_owned();
        for name in held {
            let planted = |line: &&str| line.ends_with(name) && *line != "./.git/config";
            assert!(!found.lines().any(|line| planted(&line)), "{attack}: {name}: {found}");
        }
        assert!(!runs_what_was_planted(&world), "{attack}");
    }
}

/// Uses git as the host's user would, all over the project.
fn runs_what_was_planted(world: &World) -> bool {
    let script = "exec >/dev/null 2>&1; git status; git rebase --continue
        for at in sub sub/bare look evil; do (cd $at && git status); done; true";
    world.bare(script).ok();
    world.home().join("ran").exists()
}

/// A directory that the layer closes, and whose own bits are refused, hides nothing from the rules.
#[test]
fn closed_directory_hides_no_planted_repository() {
    let planted = "mkdir -p docs/sub/objects docs/sub/refs; echo 'ref: refs/heads/main' >docs/sub/HEAD
        printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n' >docs/sub/config
        printf '\tfsmonitor = \"touch ~/ran; false\"\n' >>docs/sub/config";
    let uses = |world: &World| {
        world.bare("cd docs/sub && git status >/dev/null 2>&1; true").ok();
        world.home().join("ran").exists()
    };
    let made = || {
        let world = repository();
        world.bare("mkdir docs; touch docs/page").ok();
        world
    };
    let control = made();
    control.bare(planted).ok();
    assert!(uses(&control), "control: harmless without endow, too");
    for close in ["true", "chmod 2000 docs", "chmod 2100 docs", "chmod 2000 docs/sub docs"] {
        let world = made();
        world.run(&[], &format!("{planted}; {close}"));
        assert!(!world.project().join("docs/sub/config").exists(), "{close}");
        assert!(!uses(&world), "{close}");
    }
}

/// What one run leaves is nothing without what the next one does.
#[test]
fn two_runs_assemble_no_repository() {
    let parts = [
        "printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n' >x/config
        printf '\tfsmonitor = \"touch ~/ran; false\"\n' >>x/config",
        "echo 'ref: refs/heads/main' >x/HEAD",
        "mkdir -p x/objects x/refs",
    ];
    let uses = |world: &World| {
        world.bare("cd x && git status >/dev/null 2>&1; true").ok();
        world.home().join("ran").exists()
    };
    for first in 1..7_usize {
        let (mut one, mut two) = (vec!["mkdir -p x"], vec!["mkdir -p x"]);
        for (at, part) in parts.iter().enumerate() {
            if first >> at & 1 == 1 { one.push(part) } else { two.push(part) }
        }
        let (one, two) = (one.join("\n"), two.join("\n"));
        let control = repository();
        control.bare(&format!("{one}\n{two}")).ok();
        assert!(uses(&control), "control: harmless without endow, too");
        let world = repository();
        world.run(&[], &one).ok();
        world.run(&[], &two).ok();
        assert!(!uses(&world), "{one} | {two}");
    }
}

/// Applying what waits does not write them again: an undo would take them for somebody else's.
#[test]
fn references_of_a_run_are_written_once() {
    let world = repository();
    let host = format!("echo host >one && git {WHO} commit -qam host");
    assert_eq!(meanwhile(&world, &commit("guest"), &host), 121);
    let references = || git(&world, "for-each-ref refs/endow");
    let before = references();
    assert!(before.contains("/heads/main"), "{before}");
    assert_eq!(said(&mut world.endow(["apply"])).code, 121);
    assert_eq!(references(), before);
    said(&mut world.endow(["undo"])).ok();
    assert_eq!(references(), "");
}
