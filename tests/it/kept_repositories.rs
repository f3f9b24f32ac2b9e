//! `endow undo` in repositories that somebody went on with.

use std::fs;
use std::path::PathBuf;

use crate::harness::{Pty, Said, World, endow, said};
use crate::run_checkpoint::run_recorded;

struct Repository {
    world: World,
    root: PathBuf,
}

impl Repository {
    fn new() -> Self {
        let world = World::new();
        world.write("home/project/a", "a\n");
        let root = world.project();
        let this = Self { world, root };
        this.git(&["init", "-q", "-b", "main"]);
        this.git(&["config", "user.name", "A"]);
        this.git(&["config", "user.email", "a@b"]);
        this.git(&["add", "-A"]);
        this.git(&["commit", "-qm", "one"]);
        this
    }

    fn git(&self, arguments: &[&str]) -> String {
        let said = said(self.world.command("git").args(arguments).current_dir(&self.root));
        said.ok().trim_end().to_owned()
    }

    fn inside(&self, script: &str) {
        said(&mut self.world.endow(["run", "--", "sh", "-c", script])).ok();
    }

    fn undo(&self) -> Said {
        let said = said(&mut self.world.endow(["undo"]));
        assert_eq!(self.git(&["fsck", "--full", "--no-dangling"]), "", "{}", said.stderr);
        self.git(&["diff", "--cached"]);
        self.git(&["log", "--all", "--patch"]);
        said
    }

    fn log(&self) -> String {
        self.git(&["log", "--format=%s"]).replace('\n', " ")
    }
}

const COMMIT: &str = "echo b >>a; git commit -qam two";

#[test]
fn commit_is_taken_back_after_git_status() {
    let repository = Repository::new();
    repository.inside(COMMIT);
    assert_eq!(
        (repository.log(), repository.git(&["status", "--porcelain"])),
        ("two one".into(), String::new())
    );
    repository.undo().ok();
    assert_eq!(
        (repository.log(), repository.git(&["status", "--porcelain"])),
        ("one".into(), String::new())
    );
}

#[test]
fn commit_that_another_stands_on_stays() {
    let repository = Repository::new();
    repository.inside(COMMIT);
    repository.git(&["commit", "-q", "--allow-empty", "-m", "three"]);
    let undone = repository.undo();
    assert_eq!(undone.code, 121);
    assert!(undone.stderr.contains("left alone") && undone.stderr.contains(".git/refs/heads/main"));
    assert_eq!(repository.log(), "three two one");
    assert_eq!(fs::read_to_string(repository.root.join("a")).expect("text"), "a\n");
}

#[test]
fn undo_of_a_live_workspace_says_that_its_commits_stay() {
    for commit in [true, false] {
        let repository = Repository::new();
        assert_eq!(run_recorded(&repository.world, &[], "echo b >>a"), 0);
        if commit {
            repository.git(&["commit", "-qam", "mine"]);
        }
        let undone = said(&mut repository.world.endow(["undo", "-v"]));
        undone.ok();
        assert_eq!(undone.stderr.contains("HEAD moved since"), commit, "{}", undone.stderr);
        assert_eq!(fs::read_to_string(repository.root.join("a")).expect("text"), "a\n");
        assert_eq!(repository.log(), if commit { "mine one" } else { "one" });
    }
}

#[test]
fn branch_keeps_the_commit_that_is_taken_back() {
    let repository = Repository::new();
    repository.inside(COMMIT);
    repository.git(&["branch", "keep"]);
    repository.undo().ok();
    assert_eq!(repository.log(), "one");
    assert_eq!(repository.git(&["log", "-1", "--format=%s", "keep"]), "two");
}

#[test]
fn runs_are_taken_back_one_after_another() {
    let repository = Repository::new();
    repository.inside(COMMIT);
    repository.inside("echo c >>a; git commit -qam three");
    repository.git(&["status"]);
    repository.undo().ok();
    assert_eq!(repository.log(), "two one");
    // That writes the index anew which came back.
    repository.git(&["status"]);
    repository.undo().ok();
    assert_eq!(
        (repository.log(), repository.git(&["status", "--porcelain"])),
        ("one".into(), String::new())
    );
    assert_eq!(fs::read_to_string(repository.root.join("a")).expect("text"), "a\n");
}

/// Nobody reads objects and logs: a review begins with what a repository has come to.
#[test]
fn diff_sums_up_what_a_commit_changes() {
    let repository = Repository::new();
    let module = "mkdir -p .git/modules/a/hooks .git/modules/a/logs; echo h >.git/modules/a/hooks/h; echo l >.git/modules/a/logs/HEAD";
    let script = format!("{COMMIT}; printf x >.git/objects/odd; {module}");
    said(&mut repository.world.endow(["run", "--sync", "review", "--", "sh", "-c", &script])).ok();
    let head = repository.git(&["rev-parse", "--short=7", "HEAD"]);
    let diff = |arguments: &[&str]| {
        said(&mut repository.world.endow([&["diff"], arguments].concat())).ok().to_owned()
    };
    let stat = diff(&["--stat"]);
    assert!(stat.contains(" a                      | 1 +\n 2 files changed"), "{stat}");
    assert!(stat.starts_with(" .git/modules/a/hooks/h | 1 +\n"), "{stat}");
    assert!(stat.contains(&format!(" .git: main {head} -> ")), "{stat}");
    assert!(stat.contains(" 4 files of objects"), "{stat}");
    let patch = diff(&[]);
    assert!(patch.contains(&format!("# .git: main {head} -> ")), "{patch}");
    assert!(patch.contains("# .git/modules/a: 1 file of index and logs\n"), "{patch}");
    assert!(patch.contains("+++ b/.git/modules/a/hooks/h\n"), "{patch}");
    assert!(!patch.contains("objects/") && !patch.contains("logs/HEAD"), "{patch}");
    for all in [diff(&["-v"]), diff(&[".git"])] {
        assert!(all.contains(".git/refs/heads/main") && all.contains(".git/objects/odd"), "{all}");
        assert!(!all.contains("+x"), "an object is no text: {all}");
    }
    for (look, is_told) in [("--name-status", false), ("--stat", true)] {
        let (_, screen) = Pty::start(&repository.world.endow(["diff", look])).end();
        assert_eq!(screen.contains("summed up"), is_told, "{screen}");
        assert!(is_told || screen.contains(".git/refs/heads/main"), "{screen}");
    }
}

/// Both sides move the repository; returns what the end of the run says.
fn both_move(repository: &Repository, options: &[&str], inside: &str) -> String {
    let script =
        "mkfifo ~/go; \"$0\" \"${@:2}\" -- sh -c \"$1; echo ready; read x\" <~/go >~/out & run=$!
        exec 3>~/go; until grep -qs ready ~/out; do sleep 0.05; done
        git commit -q --allow-empty -m mine; echo host >file; echo >&3; wait $run";
    let mut command = repository.world.command("bash");
    command.args(["-c", script]).arg(endow()).arg(inside).args(options);
    said(command.current_dir(&repository.root)).fails(121).to_owned()
}

/// Returns the command that the end of a run names.
fn merge(errors: &str) -> &str {
    let hints = errors.lines().filter_map(|it| it.strip_prefix("hint: `")?.split_once("` takes"));
    let mut commands = hints.map(|(command, _)| command);
    commands.find(|it| it.starts_with("git ")).expect("a hint")
}

#[test]
fn end_of_a_run_says_where_its_commits_are() {
    let repository = Repository::new();
    let errors = both_move(&repository, &[], "echo b >>a; git commit -qam two; echo guest >file");
    let root = repository.root.display();
    let line =
        format!("moved outside too: the history of {root}; the run's is kept beside: refs/endow/");
    assert!(errors.contains(&line), "{errors}");
    assert!(!errors.contains(".git/index"), "{errors}");
    // What was written back by then is not told as if it were to be done.
    let again = said(&mut repository.world.endow(["apply"]));
    let again = again.fails(121);
    assert!(again.contains(&line) && !again.contains(".git/"), "{again}");
    let other = said(&mut repository.world.endow(["apply", "file"]));
    assert!(!other.stderr.contains("the history of"), "{}", other.stderr);
    let words: Vec<&str> = merge(&errors).split(' ').skip(3).collect();
    repository.git(&["commit", "-qam", "files"]);
    repository.git(&words);
    assert!(repository.log().contains("two") && repository.log().contains("mine"));
}

/// The command that the end of a run names is pasted, and the run has named its branches.
#[test]
fn names_of_a_run_do_nothing_in_a_shell() {
    let repository = Repository::new();
    let mount = format!("/work={}", repository.root.display());
    let inside = "git checkout -qb 'x;touch${IFS}gone'; echo b >>a; git commit -qam two";
    let options = ["--workspace", "none", "--chdir", "/work", "--cow", &mount];
    let errors = both_move(&repository, &options, inside);
    assert!(errors.contains("the history of /work;"), "{errors}");
    repository.git(&["commit", "-qam", "files"]);
    let mut shell = repository.world.command("sh");
    said(shell.args(["-c", merge(&errors)]).current_dir(repository.world.home())).ok();
    assert!(repository.log().contains("two") && repository.log().contains("mine"));
    assert!(!repository.world.home().join("gone").exists());
}
