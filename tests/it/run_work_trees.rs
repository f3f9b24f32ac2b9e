//! Work trees beside a workspace that are linked to its repository: git inside does not see them, and keeps what
//! belongs to them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{Said, World, said};

/// A repository with a work tree beside it, in which something is committed to no branch, and something staged; and
/// with one on a branch.
struct Repository {
    world: World,
}

impl Repository {
    fn new() -> Self {
        let this = Self { world: World::new() };
        let script = "git init -qb main . && git config user.name A && git config user.email a@b
            git commit -q --allow-empty -m first && git worktree add -q --detach ../beside &&
            git worktree add -q -b topic ../trees/topic && cd ../beside && echo work >file &&
            git add file && git commit -qm detached && echo staged >staged && git add staged &&
            touch -d '1 year ago' ../project/.git/worktrees/*/index";
        this.world.bare(script).ok();
        this
    }

    fn home(&self) -> PathBuf {
        self.world.home()
    }

    /// Runs a script inside, from a work tree.
    fn inside(&self, tree: &str, options: &[&str], script: &str) -> Said {
        let words = [&["run"], options, &["--", "sh", "-c", script]].concat();
        said(self.world.endow(words).current_dir(self.home().join(tree)))
    }

    /// Returns what git outside says of the one beside it.
    fn state(&self) -> String {
        let script = "export GIT_OPTIONAL_LOCKS=0; cd ../beside && git log --format=%s && git status --porcelain && \
            git reflog | wc -l && git -C ../trees/topic symbolic-ref HEAD";
        self.world.bare(script).stdout
    }

    fn is_kept(&self) -> bool {
        self.state() == "detached\nfirst\nA  staged\n2\nrefs/heads/topic\n"
    }
}

/// What takes work trees away that are missing.
const CLEANING: [&str; 6] = [
    "git worktree prune",
    "git gc -q",
    "git gc -q --prune=now",
    "git worktree remove --force ../beside",
    "git worktree remove -f -f beside",
    "rm -rf ../beside; mv ../beside ../x; git worktree prune",
];

#[test]
fn work_trees_that_are_not_seen_are_kept() {
    for script in CLEANING {
        let control = Repository::new();
        assert!(control.is_kept(), "control: {}", control.state());
        let home = control.home();
        fs::rename(home.join("beside"), home.join("away")).expect("renamed");
        control.world.bare(&script.replace("../beside;", "../y;"));
        fs::rename(home.join("away"), home.join("beside")).expect("renamed");
        assert!(!control.is_kept(), "control: {script}");
        for (tree, options) in [
            ("project", &["--workspace", "rw"][..]),
            ("project", &["--workspace", "rw", "--checkpoint"]),
            ("project", &["--profile", "claude"]),
            ("trees/topic", &["--workspace", "rw"]),
        ] {
            let repository = Repository::new();
            let run = repository.inside(tree, options, script);
            assert!(repository.is_kept(), "{tree} {options:?} {script}: {}", repository.state());
            let is_removal = script.contains("remove") || script.contains("rm ");
            assert!(is_removal || run.code == 0, "{script}: {}", run.stderr);
        }
    }
}

/// In a buffered workspace git would otherwise remove them in the layer, which is refused at the end.
#[test]
fn cleaning_in_a_buffered_workspace_is_written_back() {
    let repository = Repository::new();
    for script in ["git worktree prune", "git gc -q"] {
        repository.inside("project", &[], script).ok();
        assert!(repository.is_kept(), "{script}: {}", repository.state());
    }
}

/// Programs of the command's find what they look for there, and can write beside.
#[test]
fn directory_that_is_a_work_tree_elsewhere_can_be_written() {
    let repository = Repository::new();
    let add = "git worktree add -q --detach ~/.config";
    repository.world.bare(add).ok();
    let script = "mkdir ~/.config/app && echo x >~/.config/app/f && ! mv ~/.config ~/x 2>/dev/null &&
        ! rm -r ~/.config/.git 2>/dev/null && git worktree prune && git worktree list | grep -c prunable";
    let run = repository.inside("project", &["--workspace", "rw"], script);
    assert_eq!(run.stdout, "0\n", "{}", run.stderr);
    assert!(!repository.home().join(".config/app").exists(), "it was the run's own");
    assert_eq!(repository.world.bare("git -C ~/.config status --porcelain").ok(), "");
}

/// What a command, or a hostile tree, makes of the place keeps no run from starting.
#[test]
fn places_of_the_kernels_are_no_work_trees() {
    let repository = Repository::new();
    let gitdir = repository.home().join("project/.git/worktrees/beside/gitdir");
    let before = fs::read_to_string(&gitdir).expect("read");
    for root in ["/proc/self/root", "/proc/thread-self/root", "/dev/fd/../../proc/self/root"] {
        fs::write(&gitdir, format!("{root}{before}")).expect("written");
        for access in ["rw", "cow"] {
            repository.inside("project", &["--workspace", access], "git log --format=%s").ok();
        }
    }
}

#[test]
fn work_tree_in_what_is_copied_is_seen() {
    let repository = Repository::new();
    repository.world.bare("git worktree add -q --detach ~/seeded/tree").ok();
    let policy = "version = 1\n[mounts]\n\"~\" = { private = true, seed = [\"~/seeded\"] }\n";
    repository.world.write("home/.config/endow/policy.toml", policy);
    let script = "git worktree prune; git worktree list | grep -c seeded";
    let run = repository.inside("project", &["--workspace", "rw"], script);
    assert_eq!(run.ok(), "1\n", "{}", run.stderr);
}

#[test]
fn work_trees_that_are_granted_are_used() {
    for tree in ["project", "trees/topic"] {
        let repository = Repository::new();
        let script = "git worktree prune; git worktree list | grep -c prunable; set -e; cd $HOME/beside
            git commit -qm staged; git reflog | wc -l; echo x >new; git add new; git status --porcelain";
        let beside = repository.home().join("beside");
        let granted = format!("{}", beside.display());
        let run = repository.inside(tree, &["--workspace", "rw", "--rw", &granted], script);
        assert_eq!(run.ok(), "0\n3\nA  new\n", "{tree}: {}", run.stderr);
        let state = repository.state();
        assert_eq!(state, "staged\ndetached\nfirst\nA  new\n3\nrefs/heads/topic\n", "{tree}");
        let away = format!("git worktree remove --force {granted}");
        repository.inside("project", &["--workspace", "rw", "--rw", "~"], &away).ok();
        assert!(!beside.exists() && !repository.is_kept(), "one that is seen is removed");
    }
}

#[test]
fn own_work_trees_are_made_and_removed_and_branches_of_others_renamed() {
    let repository = Repository::new();
    let script = "set -e; git worktree add -q in; cd in; echo x >f; git add f; git commit -qm in
        cd ..; git worktree list | grep -c .; git worktree remove in; git worktree add -q two
        rm -rf two; git worktree prune; ls .git/worktrees; git branch -m topic renamed";
    let run = repository.inside("project", &["--workspace", "rw"], script);
    assert_eq!(run.ok(), "4\nbeside\ntopic\n", "{}", run.stderr);
    let state = repository.state();
    assert_eq!(state, "detached\nfirst\nA  staged\n2\nrefs/heads/renamed\n");
    // What somebody took away outside is taken away inside as well.
    fs::remove_dir_all(repository.home().join("trees")).expect("removed");
    repository.inside("project", &["--workspace", "rw"], "git worktree prune").ok();
    let left = repository.world.bare("ls .git/worktrees");
    assert_eq!(left.ok(), "beside\n");
}

/// One below another, where a mount is around or in one, at paths that lead by links, or that are relative.
#[test]
fn work_trees_are_kept_wherever_they_are() {
    let repository = Repository::new();
    let home = repository.home();
    let other = repository.world.write("other/file", "x");
    let other = other.parent().map(Path::to_owned).expect("a directory");
    repository.world.bare("git worktree add -q --detach ../beside/sub/inner").ok();
    fs::create_dir_all(home.join("beside/granted")).expect("made");
    let granted = home.join("beside/granted");
    let granted = granted.to_string_lossy();
    let prune = "git worktree prune; ls .git/worktrees; touch ../beside/granted/new";
    let run = repository.inside("project", &["--workspace", "rw", "--rw", &granted], prune);
    assert_eq!(run.ok(), "beside\ninner\ntopic\n", "{}", run.stderr);
    // There git finds another directory, in which nothing is to be made.
    let shown = format!("{}={}", home.join("trees").display(), other.display());
    let run = repository.inside("project", &["--workspace", "rw", "--rw", &shown], prune);
    assert_eq!(run.stdout, "beside\ninner\ntopic\n", "{}", run.stderr);
    let state = "detached\nfirst\nA  staged\n?? granted/\n?? sub/\n2\nrefs/heads/topic\n";
    assert_eq!(repository.state(), state, "{}", run.stderr);
    assert!(!other.join("topic").exists());
    let own = home.join("project");
    fs::write(own.join(".git/worktrees/beside/gitdir"), "../../../../beside/.git\n").expect("set");
    let mount = format!("/src/p={}", own.display());
    let seen = "test -d /src/beside/.git && test -d $HOME/trees/topic/.git";
    let options = ["--workspace", "none", "--chdir", "/src/p", "--rw", &mount];
    repository.inside("project", &options, seen).ok();
}

/// What is of a repository elsewhere is named, with the flag that shows it; what only says so is not.
#[test]
fn parts_of_a_repository_that_are_not_shown_are_named() {
    let world = World::new();
    let who = "-c user.name=A -c user.email=a@b";
    let script = format!(
        "cd .. && git init -q base && git -C base {who} commit -q --allow-empty -m first &&
        git clone -q -s base borrowing && git init -q --separate-git-dir=apart parted &&
        git -C parted {who} commit -q --allow-empty -m first && git clone -q base plain &&
        mkdir -p other/objects && git clone -q base lying &&
        echo $PWD/other/objects >lying/.git/objects/info/alternates"
    );
    world.bare(&script).ok();
    let home = world.home();
    let log = |tree: &str, options: &[&str]| {
        let words = [&["run", "-v"], options, &["--", "git", "log", "--format=%s"]].concat();
        said(world.endow(words).current_dir(home.join(tree)))
    };
    for (tree, flag, part) in
        [("borrowing", "--ro", "base/.git/objects"), ("parted", "--cow", "apart")]
    {
        let part = home.join(part).display().to_string();
        let run = log(tree, &[]);
        run.fails(128);
        assert!(
            run.stderr.contains(&format!("not shown: {part} (if it is yours: {flag} {part})")),
            "{run:?}"
        );
        let run = log(tree, &[flag, &part]);
        assert_eq!(run.ok(), "first\n", "{run:?}");
        assert!(!run.stderr.contains("not shown"), "{run:?}");
    }
    let run = log("parted", &["--workspace", "rw"]);
    assert!(run.stderr.contains(": --rw "), "{run:?}");
    for tree in ["plain", "lying"] {
        let run = log(tree, &[]);
        run.ok();
        assert!(!run.stderr.contains("not shown"), "{run:?}");
    }
}
