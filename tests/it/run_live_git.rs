//! Repositories in live workspaces: what git runs outside can't be planted, and git works inside.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Said, World, said};

/// A repository whose settings hold a credential and a program.
struct Repository {
    world: World,
    root: PathBuf,
}

impl Repository {
    fn new() -> Self {
        let world = World::new();
        world.write("home/project/file", "content\n");
        let root = world.project();
        let this = Self { world, root };
        for arguments in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.name", "A"],
            &["config", "user.email", "a@b"],
            &["add", "-A"],
            &["commit", "-qm", "first"],
            &["remote", "add", "origin", "https://user:canary@example.com/a.git"],
            &["update-ref", "refs/remotes/origin/main", "HEAD"],
        ] {
            this.git(&this.root, arguments).ok();
        }
        this
    }

    fn git(&self, at: &Path, arguments: &[&str]) -> Said {
        let mut command: Command = self.world.command("git");
        said(command.args(arguments).current_dir(at))
    }

    fn settings(&self) -> String {
        fs::read_to_string(self.root.join(".git/config")).expect("settings")
    }

    fn inside(&self, script: &str) -> Said {
        let live = ["run", "--workspace", "rw", "--", "sh", "-c", script];
        said(self.world.endow(live).current_dir(&self.root))
    }

    /// Returns whether git, used by the user, runs what was planted.
    fn is_poisoned(&self) -> bool {
        self.git(&self.root, &["status"]);
        self.marker().exists()
    }

    fn marker(&self) -> PathBuf {
        self.world.root().join("planted")
    }

    /// Ways to have git outside make the marker.
    fn attacks(&self) -> Vec<String> {
        let plant = format!("git config core.fsmonitor 'touch {}'", self.marker().display());
        let text = format!("[core]\\nfsmonitor = touch {}\\n", self.marker().display());
        vec![
            plant.clone(),
            format!("printf '{text}' >>.git/config"),
            format!("cp .git/config new; printf '{text}' >>new; mv new .git/config"),
            format!("mv .git other; cp -r other .git; {plant}"),
            format!(
                "cp -rL .git other; printf '{text}' >>other/config; rm -rf .git; mv other .git"
            ),
            format!("rm -f .git/config; printf '{text}' >.git/config"),
            format!("printf '{text}' >new; ln -f new .git/config"),
        ]
    }
}

#[test]
fn settings_are_a_copy_without_credentials_and_programs() {
    let repository = Repository::new();
    repository.git(&repository.root, &["config", "core.sshCommand", "canary"]).ok();
    let before = repository.settings();
    let inside = repository.inside("cat .git/config; git config user.name");
    assert!(!inside.ok().contains("canary"), "{}", inside.stdout);
    assert!(inside.stdout.contains("https://example.com/a.git") && inside.stdout.ends_with("A\n"));
    assert_eq!(repository.settings(), before);
    assert_eq!(before.matches("canary").count(), 2, "control: the host's has both");
}

#[test]
fn git_works_and_changes_settings_of_its_own() {
    let repository = Repository::new();
    let before = repository.settings();
    let script = "git checkout -q -b topic --track origin/main && git config branch.topic.merge &&
        git config --local some.key value && git config some.key && echo more >>file &&
        git commit -qam second && git stash list && git rebase -q main && git log --format=%s -1";
    assert_eq!(repository.inside(script).ok(), "refs/heads/main\nvalue\nsecond\n");
    assert_eq!(repository.settings(), before);
    let commits = repository.git(&repository.root, &["log", "--format=%s", "topic"]);
    assert_eq!(commits.ok(), "second\nfirst\n");
    let status = repository.git(&repository.root, &["status", "--porcelain"]);
    assert_eq!(status.ok(), "");
}

#[test]
fn nothing_that_git_runs_outside_can_be_planted_in_settings() {
    let number = Repository::new().attacks().len();
    for attack in 0..number {
        let control = Repository::new();
        let script = control.attacks().remove(attack);
        let mut bare = control.world.command("sh");
        said(bare.args(["-c", &script]).current_dir(&control.root));
        assert!(control.is_poisoned(), "control: {script}");
        let repository = Repository::new();
        let before = repository.settings();
        let script = repository.attacks().remove(attack);
        repository.inside(&script);
        assert!(!repository.is_poisoned(), "{script}");
        assert_eq!(repository.settings(), before, "{script}");
    }
}

#[test]
fn no_hook_can_be_planted() {
    let attacks = |repository: &Repository| -> Vec<String> {
        let hook = format!("printf '#!/bin/sh\ntouch {}\n'", repository.marker().display());
        vec![
            format!("{hook} >.git/hooks/post-commit; chmod +x .git/hooks/post-commit"),
            format!(
                "rm -rf .git/hooks; mkdir .git/hooks; {hook} >.git/hooks/post-commit; chmod +x .git/hooks/*"
            ),
            format!(
                "mv .git/hooks h; mkdir .git/hooks; {hook} >.git/hooks/post-commit; chmod +x .git/hooks/*"
            ),
            format!(
                "mv .git g; cp -r g .git; {hook} >.git/hooks/post-commit; chmod +x .git/hooks/*"
            ),
            format!("{hook} >new; chmod +x new; ln new .git/hooks/post-commit"),
            format!(
                "mkdir h; {hook} >h/post-commit; chmod +x h/*; rm -rf .git/hooks; ln -s ../h .git/hooks"
            ),
        ]
    };
    let commits = |repository: &Repository| {
        repository.git(&repository.root, &["commit", "-q", "--allow-empty", "-m", "outside"]).ok();
        repository.marker().exists()
    };
    for attack in 0..attacks(&Repository::new()).len() {
        let control = Repository::new();
        let script = attacks(&control).remove(attack);
        let mut bare = control.world.command("sh");
        said(bare.args(["-c", &script]).current_dir(&control.root));
        assert!(commits(&control), "control: {script}");
        let repository = Repository::new();
        repository.inside(&attacks(&repository).remove(attack));
        assert!(!commits(&repository), "{script}");
    }
}

#[test]
fn hooks_at_another_place_are_read_only_as_well() {
    let repository = Repository::new();
    let hook = format!("#!/bin/sh\ntouch {}\n", repository.marker().display());
    for place in ["tracked", "linked"] {
        repository.world.write(format!("home/project/{place}/pre-commit"), "#!/bin/sh\n");
    }
    repository.git(&repository.root, &["config", "core.hooksPath", "tracked"]).ok();
    fs::remove_dir_all(repository.root.join(".git/hooks")).expect("removed");
    std::os::unix::fs::symlink("../linked", repository.root.join(".git/hooks")).expect("a link");
    let script = format!(
        "for place in tracked linked .git/hooks; do
            printf '{hook}' >$place/pre-commit && echo written
            rm -rf $place; mv $place other && echo moved
        done; test -L .git/hooks && cat .git/hooks/pre-commit"
    );
    assert_eq!(repository.inside(&script).stdout, "#!/bin/sh\n");
}

#[test]
fn user_may_leave_hooks_and_settings_open() {
    let repository = Repository::new();
    let script = "git config some.key value && echo x >.git/hooks/new";
    let inside = |options: &[&str]| {
        let words = [&["run", "--workspace", "rw"], options, &["--", "sh", "-c", script]].concat();
        said(repository.world.endow(words).current_dir(&repository.root))
    };
    let new = repository.root.join(".git/hooks/new");
    inside(&["--unprotect", "**/.git/config"]);
    assert!(repository.settings().contains("[some]") && !new.exists());
    inside(&["--unprotect", "**/.git/hooks/**"]).ok();
    assert!(new.exists());
}

#[test]
fn hook_of_the_host_reaches_nothing_outside() {
    let repository = Repository::new();
    let hook = format!("#!/bin/sh\necho hook >>hooked; touch {}\n", repository.marker().display());
    let file = repository.world.write("home/project/.git/hooks/post-rewrite", &hook);
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
    let script = "git checkout -q -b topic && echo 1 >a && git add a && git commit -qm second &&
        git checkout -q main && echo 2 >b && git add b && git commit -qm third &&
        git checkout -q topic && git rebase -q main && cat hooked";
    assert_eq!(repository.inside(script).ok(), "hook\n");
    assert!(!repository.marker().exists(), "the hook ran outside");
    repository.git(&repository.root, &["commit", "-q", "--amend", "-m", "control"]).ok();
    assert!(repository.marker().exists(), "control");
}

#[test]
fn settings_of_a_linked_work_tree_are_a_copy_too() {
    let repository = Repository::new();
    repository.git(&repository.root, &["worktree", "add", "-q", "../linked"]).ok();
    let before = repository.settings();
    let linked = repository.world.home().join("linked");
    let plant = format!("git config core.fsmonitor 'touch {}'", repository.marker().display());
    let script = format!(
        "git config remote.origin.url; {plant}; echo x >new; git add new; git commit -qm second"
    );
    let live = ["run", "--workspace", "rw", "--", "sh", "-c", &script];
    let inside = said(repository.world.endow(live).current_dir(&linked));
    assert_eq!(inside.ok(), "https://example.com/a.git\n");
    assert_eq!(repository.settings(), before);
    repository.git(&linked, &["show", "HEAD:new"]).ok();
    assert!(!repository.is_poisoned());
}

/// Linked work trees name their repository by its path on the host, wherever the view has it.
#[test]
fn linked_work_trees_stay_in_a_mount_at_another_place() {
    let repository = Repository::new();
    let home = repository.world.home();
    repository.git(&repository.root, &["worktree", "add", "-q", "../linked"]).ok();
    repository.git(&repository.root, &["worktree", "add", "-q", ".wt/inner"]).ok();
    let trees = [home.join("linked"), repository.root.join(".wt/inner")];
    let files =
        || trees.each_ref().map(|tree| fs::read_to_string(tree.join(".git")).expect("text"));
    let before = files();
    for (source, at) in [(&home, "/src"), (&repository.root, "/src"), (&trees[1], "/src")] {
        let mount = format!("{at}={}", source.display());
        let arguments = ["run", "--workspace", "none", "--chdir", "/", "--rw", &mount];
        let inside = said(repository.world.endow(arguments).args(["--", "true"]));
        inside.ok();
        assert!(!inside.stderr.contains("held"), "{}", inside.stderr);
        assert_eq!(files(), before, "{mount}");
        // One that the command makes leads git outside to whatever is at that place.
        let planted = "mkdir /src/w && echo 'gitdir: /src/.git/worktrees/inner' >/src/w/.git";
        let inside = said(repository.world.endow(arguments).args(["--", "sh", "-c", planted]));
        inside.ok();
        assert!(!source.join("w/.git").exists(), "{}", inside.stderr);
        fs::remove_dir(source.join("w")).expect("a directory that is empty");
    }
    for tree in &trees {
        repository.git(tree, &["status"]).ok();
    }
}

/// Agents put them below directories whose other names are protected; there all is as in any project.
#[test]
fn work_trees_of_agents_stay_and_are_guarded() {
    for (agent, is_there) in [(".claude", false), (".claude", true), (".gemini", true)] {
        let repository = Repository::new();
        let of_agent = repository.root.join(agent);
        if is_there {
            fs::create_dir(&of_agent).expect("a directory");
            fs::write(of_agent.join("settings.json"), "{}").expect("written");
        }
        let tree = format!("{agent}/worktrees/w");
        let script = format!(
            "git worktree add -q {tree} && cd {tree} && echo x >new && git add new && git commit -qm second || exit 9
            mkdir {agent}; for name in .envrc {agent}/settings.json ../../settings.local.json ../../commands; do
                echo evil >$name; done; ln -s /tmp ../../hooks; true"
        );
        told(&repository, &script).ok();
        let at = repository.root.join(&tree);
        assert_eq!(repository.git(&at, &["log", "--format=%s", "-1"]).ok(), "second\n");
        let planted = [".envrc", "../../settings.local.json", "../../commands", "../../hooks"];
        let inner = format!("{agent}/settings.json");
        for name in planted.into_iter().chain([inner.as_str()]) {
            assert!(at.join(name).symlink_metadata().is_err(), "{agent} {is_there}: {name}");
        }
        assert!(!is_there || fs::read(of_agent.join("settings.json")).is_ok_and(|it| it == b"{}"));
        told(&repository, &format!("git worktree remove --force {tree}")).ok();
        assert!(!at.exists(), "{agent} {is_there}");
        told(&repository, &format!("rm -rf {agent}/worktrees; ln -s /tmp {agent}/worktrees"));
        assert!(!of_agent.join("worktrees").is_symlink(), "{agent} {is_there}");
    }
}

/// Runs a script inside; what is not kept is told without a terminal, too.
fn told(repository: &Repository, script: &str) -> Said {
    let live = ["run", "--workspace", "rw", "--", "sh", "-c", script];
    said(repository.world.endow(live).current_dir(&repository.root))
}

/// The commands that the end of a run names.
fn proposed(said: &Said) -> Vec<&str> {
    let lines = said.stderr.lines().filter_map(|line| line.split_once("to make them: "));
    lines.flat_map(|(_, commands)| commands.split(" && ")).collect()
}

#[test]
fn changed_settings_are_told_as_what_makes_them_outside() {
    let repository = Repository::new();
    let script = "git checkout -qb topic --track origin/main && git config user.name 'B; $(c)' && \
        git config core.hooksPath .x && git config x.y z && \
        git config rebase.instructionFormat '%s%nexec evil'";
    let said = told(&repository, script);
    said.ok();
    assert!(repository.settings().contains("email = a@b"), "{}", repository.settings());
    let told = said.stderr.lines().find(|line| line.contains("may run programs"));
    let told = told.unwrap_or_else(|| panic!("{}", said.stderr));
    assert!(told.contains("core.hookspath, x.y, rebase.instructionformat of"), "{told}");
    for command in proposed(&said) {
        assert!(command.starts_with("git config --file "), "{command}");
        repository.world.bare(command).ok();
    }
    let list = "git config --local --list";
    let list = repository.world.bare(&format!("cd {} && {list}", repository.root.display()));
    let settings: Vec<&str> = list.ok().lines().collect();
    for line in
        ["user.name=B; $(c)", "branch.topic.remote=origin", "branch.topic.merge=refs/heads/main"]
    {
        assert!(settings.contains(&line), "{line}: {settings:?}\n{}", said.stderr);
    }
    let absent = |name: &str| !settings.iter().any(|line| line.starts_with(name));
    assert!(absent("core.hookspath") && absent("x.y"), "{settings:?}");
}

#[test]
fn report_lists_changed_settings() {
    let repository = Repository::new();
    let of = |script: &str| {
        let live = ["run", "--json", "--workspace", "rw", "--", "sh", "-c", script];
        let told = said(repository.world.endow(live).current_dir(&repository.root));
        serde_json::from_str::<serde_json::Value>(told.ok()).expect("JSON")["git_settings"].clone()
    };
    assert_eq!(of("git status"), serde_json::json!([]));
    let told = of("git config push.default current; git config core.pager evil");
    assert_eq!(told[0]["name"], "core.pager");
    assert_eq!(
        (&told[0]["effect"], &told[0]["commands"]),
        (&"runs".into(), &serde_json::Value::Null)
    );
    assert_eq!(
        (&told[1]["name"], &told[1]["values"][0]),
        (&"push.default".into(), &"current".into())
    );
}

/// What the copy becomes is the command's: nothing of it is followed, waited for or shown as it is.
#[test]
fn hostile_copies_of_settings_are_told_and_do_nothing() {
    let repository = Repository::new();
    let canary = repository.world.write("canary", "[user]\nname = stolen\n");
    let link = format!("ln -s {}", canary.display());
    for make in ["mkfifo", "mkdir", link.as_str(), "head -c 2000000 /dev/zero >"] {
        let said = told(&repository, &format!("c=$(readlink .git/config); rm $c; {make} $c"));
        said.ok();
        assert!(
            said.stderr.contains("can't read what the command made"),
            "{make}: {}",
            said.stderr
        );
        assert!(!said.stderr.contains("stolen"), "{}", said.stderr);
    }
    let said =
        told(&repository, "printf '[user]\\n\\tname = \"a\\033[2Jb\"\\n' >$(readlink .git/config)");
    assert!(!said.stderr.contains('\x1b'), "{:?}", said.stderr);
    assert!(said.stderr.contains("user.name"), "{}", said.stderr);
}

/// A repository that lost what makes it one still has those of its submodules: a run leaves them as they are, and
/// plants nothing there.
#[test]
fn submodules_of_what_is_no_repository_any_more_stay_as_they_are() {
    for at in [".git", "inner/.git"] {
        let module = Module::new(at);
        let run = module.live("true");
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{at}");
        assert!(module.is_as_it_was(), "{at}");
        for planted in [
            "echo >MODULE/config",
            "rm -f MODULE/config",
            "echo '[core]' >c; mv c MODULE/config",
            "echo x >MODULE/hooks/post-checkout",
        ] {
            let control = Module::new(at);
            control.bare(planted);
            assert!(!control.is_as_it_was(), "control: {at}: {planted}");
            module.live(planted);
            assert!(module.is_as_it_was(), "{at}: {planted}");
        }
    }
}

/// The repository of a submodule, in what is a repository no longer.
struct Module {
    world: World,
    place: String,
}

impl Module {
    const SETTINGS: &str = "[core]\n\tbare = false\n\tfsmonitor = own\n";

    fn new(at: &str) -> Self {
        let this = Self { world: World::new(), place: format!("{at}/modules/some/name") };
        for directory in ["objects", "refs", "hooks"] {
            fs::create_dir_all(this.root().join(directory)).expect("directory");
        }
        fs::write(this.root().join("HEAD"), "ref: refs/heads/main\n").expect("HEAD");
        fs::write(this.root().join("config"), Self::SETTINGS).expect("settings");
        this
    }

    fn root(&self) -> PathBuf {
        self.world.project().join(&self.place)
    }

    fn live(&self, script: &str) -> Said {
        let script = script.replace("MODULE", &self.place);
        let words = ["run", "--workspace", "rw", "--", "sh", "-c", &script];
        said(self.world.endow(words).current_dir(self.world.project()))
    }

    fn bare(&self, script: &str) {
        let script = script.replace("MODULE", &self.place);
        let mut shell = self.world.command("sh");
        said(shell.args(["-c", &script]).current_dir(self.world.project())).ok();
    }

    fn is_as_it_was(&self) -> bool {
        let settings = fs::read_to_string(self.root().join("config"));
        let hook = self.root().join("hooks/post-checkout");
        settings.is_ok_and(|it| it == Self::SETTINGS) && hook.symlink_metadata().is_err()
    }
}

/// A command with the project's own repository for writing does not make the next one's workspace larger.
#[test]
fn repository_around_is_not_reached_by_taking_the_own_one_apart() {
    let ways = [
        "rm .git/HEAD",
        "mv .git/HEAD away",
        "rm -rf .git",
        "mv .git away",
        "find .git -delete",
        "mkdir new && mv .git/* new",
    ];
    for way in ways {
        let repository = Repository::new();
        let outer = repository.root.parent().expect("a home").to_owned();
        let secret = outer.join("outer.txt");
        fs::write(&secret, "outer").expect("written");
        repository.git(&outer, &["init", "-q", "-b", "main"]).ok();
        let read = |options: &[&str]| {
            let words = [&["run"], options, &["--", "sh", "-c", "cat ../outer.txt"]].concat();
            said(repository.world.endow(words).current_dir(&repository.root))
        };
        read(&[]).fails(1);
        repository.inside(way);
        let next = read(&[]);
        assert_eq!(next.stdout, "", "{way}: {}", next.stderr);
        let shown = format!("../outer.txt={}", secret.display());
        assert_eq!(read(&["--ro", &shown]).stdout, "outer", "control: {way}");
    }
}
