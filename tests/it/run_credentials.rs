//! Credentials in the settings of a repository that is shown and is not live: the command has a copy
//! without them, of which nothing is written back.

use std::fs;
use std::process::{Command, Stdio};

use crate::harness::{Running, Said, World, said};

/// A repository with a credential in its settings.
struct Repository(World);

impl Repository {
    fn new() -> Self {
        let world = World::new();
        world.write("home/project/file", "content\n");
        let script = "git init -q -b main; git config user.name A; git config user.email a@b
            git add -A; git commit -qm first
            git config http.https://example.com/.extraheader 'AUTHORIZATION: basic canary'";
        world.bare(script).ok();
        Self(world)
    }

    fn settings(&self) -> String {
        fs::read_to_string(self.0.project().join(".git/config")).expect("settings")
    }

    fn git(&self, arguments: &str) -> Said {
        self.0.bare(&format!("git {arguments}"))
    }

    /// Replaces the settings as git does, by a rename.
    fn replace(&self) {
        self.git("config core.abbrev 12").ok();
    }

    fn endow(&self, options: &[&str], script: &str) -> Command {
        let line = [&["run"], options, &["--", "sh", "-c", script]].concat();
        self.0.endow(line)
    }
}

#[test]
fn git_works_with_a_copy_and_its_settings_stay() {
    let repository = Repository::new();
    let before = repository.settings();
    let script = "! git config --get-regexp extraheader; git config branch.main.description text &&
        git config branch.main.description; echo more >>file; git commit -qam second; git config core.pager evil";
    let said = said(&mut repository.endow(&["-v", "--sync", "apply"], script));
    assert_eq!(said.ok(), "text\n");
    assert_eq!(repository.settings(), before);
    assert!(before.contains("canary"), "control: {before}");
    assert_eq!(repository.git("log --format=%s").ok(), "second\nfirst\n");
    let command = "config --file .git/config branch.main.description text";
    let words: Vec<&str> = command.split(" .git/config ").collect();
    let is_told = words.iter().all(|words| said.stderr.contains(words));
    assert!(is_told && said.stderr.contains("core.pager of "), "{}", said.stderr);
}

#[test]
fn only_settings_with_credentials_are_copied() {
    let repository = Repository::new();
    let shown = |options: &[&str]| said(&mut repository.endow(options, "cat .git/config")).stdout;
    let plain = "test -L .git/config; echo $?";
    let is_plain = |options: &[&str]| said(&mut repository.endow(options, plain)).stdout == "1\n";
    assert!(!shown(&[]).contains("canary") && !is_plain(&[]));
    assert!(!shown(&["--workspace", "ro"]).contains("canary"));
    let unprotected = ["--unprotect", "**/.git/config"];
    assert!(shown(&unprotected).contains("canary") && is_plain(&unprotected), "asked for");
    let project = format!("{},nodeny", repository.0.project().display());
    let granted = ["--ro", &project];
    assert!(shown(&granted).contains("canary") && is_plain(&granted), "granted as it is");
    repository.git("config --remove-section http.https://example.com/").ok();
    assert!(is_plain(&[]), "no credential");
}

#[test]
fn settings_in_a_hidden_directory_stay_hidden() {
    let repository = Repository::new();
    for workspace in ["cow", "ro", "rw"] {
        let options = ["--workspace", workspace, "--deny", "**/.git"];
        let said = said(&mut repository.endow(&options, "cat .git/config; cat file"));
        assert_eq!(said.ok(), "content\n", "{workspace}");
    }
}

/// What a run writes back must not have the next one see them.
#[test]
fn repository_that_is_taken_apart_shows_none_later() {
    for script in [
        "mv .git d; rm -f d/HEAD",
        "rm -f .git/HEAD",
        "mv .git .git2; rm -rf .git2",
        "rm -rf .git",
        "cp -r .git d; rm -f d/HEAD; mv d/config plain",
    ] {
        let repository = Repository::new();
        said(&mut repository.endow(&["--sync", "apply"], script));
        let found = said(&mut repository.endow(&[], "grep -r canary . && echo found"));
        assert!(!found.stdout.contains("found"), "{script}: {found:?}");
        assert!(repository.settings().contains("canary"), "{script}: they are the user's");
    }
}

/// Without a place for copies nothing is shown, and nothing can be planted.
#[test]
fn view_without_room_for_copies_hides_them() {
    let repository = Repository::new();
    for workspace in ["cow", "ro", "rw"] {
        let options = ["--workspace", workspace, "--ro", "/run"];
        let found = said(&mut repository.endow(&options, "grep -r canary .git; cat file"));
        assert_eq!(found.stdout, "content\n", "{workspace}: {found:?}");
    }
    repository.git("config --remove-section http.https://example.com/").ok();
    let options = ["--workspace", "rw", "--ro", "/run"];
    said(&mut repository.endow(&options, "git config core.pager evil"));
    assert!(!repository.settings().contains("evil"), "it is read-only");
    assert_eq!(said(&mut repository.endow(&options, "git config user.name")).ok(), "A\n");
}

#[test]
fn settings_of_linked_work_trees_are_copied_too() {
    let repository = Repository::new();
    let script = "git worktree add -q ../tree; git config extensions.worktreeConfig true
        git -C ../tree config --worktree remote.q.url https://u:canary@example.com/x";
    repository.0.bare(script).ok();
    let tree = repository.0.home().join("tree");
    let control =
        fs::read_to_string(repository.0.project().join(".git/worktrees/tree/config.worktree"));
    assert!(control.is_ok_and(|text| text.contains("canary")), "control");
    for workspace in ["cow", "ro", "rw"] {
        let options = ["--workspace", workspace];
        let script = "grep -r canary .git; git config --list | grep canary; true";
        assert_eq!(said(&mut repository.endow(&options, script)).ok(), "", "{workspace}");
        let mut inside =
            repository.endow(&options, "git config --list | grep canary; git status -s");
        assert_eq!(said(inside.current_dir(&tree)).stdout, "", "{workspace}");
    }
}

/// A linked work tree has submodules of its own, below what the repository keeps for it.
#[test]
fn settings_of_submodules_of_linked_work_trees_are_copied_too() {
    let repository = Repository::new();
    let script = "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always
        git init -q ../other; git -C ../other -c user.name=a -c user.email=b commit -q --allow-empty -m o
        git submodule --quiet add $PWD/../other s; git commit -qm s; git worktree add -q ../tree
        cd ../tree; git submodule --quiet update --init; cd s; git submodule --quiet add $PWD/../../other n
        for it in . n; do git -C $it config http.extraHeader canary; done";
    repository.0.bare(script).ok();
    let modules = repository.0.project().join(".git/worktrees/tree/modules");
    for place in ["s", "s/modules/n"] {
        let control = fs::read_to_string(modules.join(place).join("config"));
        assert!(control.is_ok_and(|text| text.contains("canary")), "control: {place}");
    }
    for workspace in ["cow", "ro", "rw"] {
        let options = ["--workspace", workspace];
        let found = said(&mut repository.endow(&options, "grep -r canary .git/worktrees; true"));
        assert_eq!(found.ok(), "", "{workspace}");
    }
}

/// A mount over a name goes with the name, which git gives to another file.
#[test]
fn settings_that_the_host_replaces_are_not_shown() {
    for workspace in ["cow", "ro"] {
        let repository = Repository::new();
        let script = "while read _; do if grep -q canary .git/config 2>/dev/null
            then echo open; else echo closed; fi; done";
        let mut command = repository.endow(&["--workspace", workspace], script);
        let mut running = Running::start(command.stdin(Stdio::piped()));
        running.say("\n");
        running.expect("closed");
        repository.replace();
        assert!(repository.settings().contains("canary"), "control");
        running.is_closed_again();
        running.hush();
        assert_eq!(running.end(), 0, "{workspace}");
    }
}
