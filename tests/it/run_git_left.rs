//! What git does by itself beside a commit, in a copy-on-write workspace: it is written back, or held as a whole.

use crate::harness::{World, said};

const WHO: &str = "-c user.name=t -c user.email=t@example.com";

fn repository() -> World {
    let world = World::new();
    let script = format!(
        "git init -q -b main . && echo one >one && git add . && git {WHO} commit -qm first && git branch side"
    );
    world.bare(&script).ok();
    world
}

/// git writes the settings anew, with the same bytes.
#[test]
fn branch_that_is_removed_leaves_nothing_to_review() {
    let world = repository();
    let ran = world.run(&["--strict"], "git branch -qd side");
    assert_eq!((ran.code, ran.stderr.contains("held")), (0, false), "{}", ran.stderr);
    assert_eq!(world.bare("git branch --format='%(refname:short)'").ok(), "main\n");
    let ran = world.run(&["--strict"], "git config user.name other");
    assert_eq!(ran.code, 121, "{}", ran.stderr);
}

/// What git keeps of them is data, whatever they are called; something else of these names is not.
#[test]
fn branches_that_are_called_like_hooks_and_settings_are_written_back() {
    let world = repository();
    let script = format!(
        "git branch fix/config; git checkout -q -b hooks/pre-commit; git {WHO} commit -q --allow-empty -m second
         git tag sequencer/todo; git update-ref refs/remotes/origin/x/gitdir HEAD"
    );
    let ran = world.run(&["--strict"], &script);
    assert_eq!((ran.code, ran.stderr.contains("held")), (0, false), "{}", ran.stderr);
    let names =
        "git for-each-ref --format='%(refname)'; git log -g --format=%s hooks/pre-commit; git fsck";
    let expected =
        "refs/heads/fix/config\nrefs/heads/hooks/pre-commit\nrefs/heads/main\nrefs/heads/side
refs/remotes/origin/x/gitdir\nrefs/tags/sequencer/todo\nsecond\nfirst\n";
    assert_eq!(world.bare(names).ok(), expected);
    let ran = world.run(&["--strict"], "printf '[core]\\n' >.git/refs/heads/config");
    assert_eq!(ran.code, 121, "{}", ran.stderr);
}

/// Without what leads to the work tree git takes the rest for garbage, with all that is staged there.
#[test]
fn linked_work_tree_is_held_as_a_whole() {
    for collect in ["git worktree prune", "git gc -q"] {
        let world = repository();
        let script = "git worktree add -q wt side; cd wt; echo staged >new; git add new";
        world.run(&[], script).ok();
        assert!(world.bare("git worktree list").ok().lines().count() == 1);
        world.bare(collect).ok();
        let mut apply = world.endow(["apply", "--", ".git/worktrees/wt", "wt/.git"]);
        let applied = said(&mut apply);
        assert_eq!(applied.code, 0, "{}", applied.stderr);
        assert_eq!(world.bare("git -C wt status --porcelain").ok(), "A  new\n", "{collect}");
        assert_eq!(world.bare("git -C wt cat-file -p :new").ok(), "staged\n", "{collect}");
        said(&mut world.endow(["undo"])).ok();
        assert!(!world.project().join(".git/worktrees").exists(), "{collect}");
    }
}

/// Who asks for the work tree does not ask for what steers git there.
#[test]
fn settings_of_a_linked_work_tree_do_not_come_along() {
    let world = repository();
    world.bare("git config extensions.worktreeConfig true").ok();
    let script = "git worktree add -q wt side
        git config -f .git/worktrees/wt/config.worktree core.fsmonitor 'touch ~/ran; false'";
    let uses = |world: &World| {
        world.bare("git -C wt status >/dev/null 2>&1; true").ok();
        world.home().join("ran").exists()
    };
    let control = repository();
    control.bare(&format!("git config extensions.worktreeConfig true; {script}")).ok();
    assert!(uses(&control), "control: harmless without endow, too");
    world.run(&[], script).ok();
    let ask = ["apply", "--", ".git/worktrees/wt", "wt/.git"];
    said(&mut world.endow(ask)).ok();
    assert_eq!(world.bare("git -C wt status --porcelain").ok(), "");
    assert!(!uses(&world));
    assert!(!world.project().join(".git/worktrees/wt/config.worktree").exists());
}

/// What is above it is the user's by now.
#[test]
fn path_that_can_not_be_applied_is_named() {
    for (instead, code) in
        [("true", 0), ("echo mine >new", 121), ("mkdir new; ln -s .. new/.git", 121)]
    {
        let world = World::new();
        world.run(&[], "mkdir new; cd new; git init -q -b main .; echo one >one").ok();
        world.bare(&format!("rm -r new; {instead}")).ok();
        let applied = said(&mut world.endow(["apply", "--", "new/.git/config"]));
        assert_eq!(applied.code, code, "{instead}: {}", applied.stderr);
        assert_eq!(applied.stderr.contains("new/.git/config"), code != 0, "{}", applied.stderr);
    }
}

/// What waits lies in endow's own directory, where nobody looks for repositories.
#[test]
fn repository_that_waits_is_in_nobodys_way() {
    let world = repository();
    let state = world.home().join(".local/state/endow");
    let run = |words: &[&str]| said(world.endow(words).env("ENDOW_STATE_DIR", &state));
    run(&["--", "sh", "-c", "rm -rf .git; mkdir .git"]);
    assert!(run(&["runs"]).ok().contains("waiting"));
    for grant in [["--rw", "~/.local"], ["--cow", "~"], ["--rw", "~"], ["--ro", "~"]] {
        let words = [&["run"], &grant[..], &["--", "true"]].concat();
        run(&words).ok();
    }
}
