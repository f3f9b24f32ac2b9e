//! The workspace: what it is without a word, and what is never taken.

use std::path::Path;
use std::process::Command;

use crate::harness::{Said, World, said};

fn at(world: &World, directory: &Path, options: &[&str], script: &str) -> Said {
    let arguments = [&["run"], options, &["--", "sh", "-c", script]].concat();
    said(world.endow(arguments).current_dir(directory))
}

/// Runs git outside, with an identity, as the user of the world.
#[track_caller]
fn git(world: &World, directory: &Path, arguments: &[&str]) {
    let mut command: Command = world.command("git");
    command.args(["-c", "user.name=A", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]);
    said(command.args(arguments).current_dir(directory)).ok();
}

fn repository(world: &World, name: &str) -> std::path::PathBuf {
    world.write(format!("home/{name}/sub/file"), "content\n");
    let repository = world.home().join(name);
    git(world, &repository, &["init", "-q", "-b", "main"]);
    git(world, &repository, &["add", "-A"]);
    git(world, &repository, &["commit", "-qm", "first"]);
    repository
}

const COMMITS: &str = "git status --short && echo x >new && git add new && \
    git -c user.name=A -c user.email=a@b commit -qm second && git log --format=%s -1";

#[test]
fn work_tree_is_the_workspace_and_the_command_starts_where_the_user_stood() {
    let world = World::new();
    let repository = repository(&world, "repo");
    let inside = at(&world, &repository.join("sub"), &[], "pwd; ls ..; cat file; ls -A ~");
    let expected = format!("{}/sub\nsub\ncontent\n.gitconfig\nrepo\n", repository.display());
    assert_eq!(inside.ok(), expected);
}

#[test]
fn git_works_in_a_work_tree() {
    let world = World::new();
    let repository = repository(&world, "repo");
    assert_eq!(at(&world, &repository, &[], COMMITS).ok(), "second\n");
    git(&world, &repository, &["show", "HEAD:new"]);
}

#[test]
fn git_works_in_a_linked_work_tree() {
    let world = World::new();
    let repository = repository(&world, "repo");
    git(&world, &repository, &["worktree", "add", "-q", "../linked"]);
    let inside = at(&world, &world.home().join("linked"), &[], COMMITS);
    assert_eq!(inside.ok(), "second\n");
    git(&world, &repository, &["show", "linked:new"]);
    let other = at(&world, &world.home().join("linked"), &[], "ls ../repo; ls -A ../repo");
    assert_eq!(other.ok(), ".git\n");
}

#[test]
fn git_works_in_a_submodule() {
    let world = World::new();
    let (outer, inner) = (repository(&world, "repo"), repository(&world, "inner"));
    let source = inner.to_str().expect("text");
    git(&world, &outer, &["submodule", "--quiet", "add", source, "module"]);
    let module = outer.join("module");
    let inside = at(&world, &module, &[], COMMITS);
    assert_eq!(inside.ok(), "second\n");
    git(&world, &module, &["show", "HEAD:new"]);
}

/// An earlier command may have replaced `.git` by a file that names a directory of its own, and
/// there say that any directory above is the common one.
#[test]
fn git_directory_that_was_planted_shows_nothing() {
    let world = World::new();
    world.write("home/src/other/secret", "canary\n");
    let project = world.home().join("src/worktrees/app");
    let planted = |at: &str, content: &str| {
        world.write(format!("home/src/worktrees/app/{at}"), content);
    };
    for (directory, common) in
        [("x", "../../.."), ("x/worktrees/y", "../../../../.."), (".", "../..")]
    {
        planted(".git", &format!("gitdir: {}/{directory}\n", project.display()));
        planted(&format!("{directory}/HEAD"), "ref: refs/heads/main\n");
        planted(&format!("{directory}/gitdir"), &format!("{}/.git\n", project.display()));
        planted(&format!("{directory}/commondir"), &format!("{common}\n"));
        let inside = at(&world, &project, &[], "cat ../../other/secret; ls ..");
        assert_eq!(inside.ok(), "app\n", "{directory}");
    }
    let control = at(&world, &project, &["--rw", "../.."], "cat ../../other/secret; ls ..");
    assert_eq!(control.ok(), "canary\napp\n");
}

#[test]
fn shared_directories_are_never_the_workspace() {
    let world = World::new();
    for directory in ["/", "/tmp", "/var/tmp", "/usr", "/usr/bin", "/etc", "/home", "/dev"] {
        let inside = at(&world, Path::new(directory), &[], "touch /tmp/started");
        let told = inside.fails(125);
        assert!(told.contains(directory) && told.contains("hint: "), "{directory}: {told}");
        let is_grantable = !["/", "/dev"].contains(&directory);
        let told = told.contains(&format!("`--ro {directory}` shows it"));
        assert_eq!(told, is_grantable, "{directory}");
    }
    for directory in [world.home(), world.root().to_owned()] {
        let inside = at(&world, &directory, &[], "touch /tmp/started");
        assert!(inside.fails(125).contains("hint: "), "{}", inside.stderr);
    }
}

#[test]
fn workspace_may_be_left_out() {
    let world = World::new();
    world.write("home/project/file", "content\n");
    let none = at(&world, &world.project(), &["--workspace", "none", "--chdir", "/"], "pwd; ls ~");
    assert_eq!(none.ok(), "/\n");
    at(&world, &world.project(), &["--workspace", "none"], "touch /tmp/started").fails(125);
    for directory in ["/", "/tmp"] {
        let options = ["--workspace", "none", "--chdir", "/tmp"];
        assert_eq!(at(&world, Path::new(directory), &options, "pwd").ok(), "/tmp\n");
    }
}

#[test]
fn workspace_may_be_read_only() {
    let world = World::new();
    world.write("home/project/file", "content\n");
    let inside = at(&world, &world.project(), &["--workspace", "ro"], "cat file; echo x >new");
    assert_eq!(inside.stdout, "content\n");
    assert_ne!(inside.code, 0);
    assert!(!world.project().join("new").exists());
}

#[test]
fn grant_of_the_current_directory_is_the_workspace() {
    let world = World::new();
    world.write("home/project/file", "content\n");
    let project = world.project();
    let path = project.to_str().expect("text");
    let here = at(&world, &project, &["--ro", path], "pwd; cat file; echo x >new");
    assert_eq!(here.stdout, format!("{path}\ncontent\n"));
    assert_ne!(here.code, 0);
    let moved = format!("/work={path}");
    let there = at(&world, &project, &["--rw", &moved], "pwd; cat file; ls -A ~");
    assert_eq!(there.ok(), "/work\ncontent\n.gitconfig\n");
}

#[test]
fn directory_of_the_start_may_be_named() {
    let world = World::new();
    world.write("home/project/sub/file", "content\n");
    let project = world.project();
    let inside = at(&world, Path::new("/"), &["-C", project.to_str().expect("text")], "pwd");
    assert_eq!(inside.ok(), format!("{}\n", project.display()));
    let sub = project.join("sub");
    let chdir = at(&world, &project, &["--chdir", sub.to_str().expect("text")], "pwd; cat file");
    assert_eq!(chdir.ok(), format!("{}\ncontent\n", sub.display()));
}

#[test]
fn directory_of_the_start_may_lead_to_a_mount() {
    let world = World::new();
    for directory in ["/", "/var", "/dev", "/dev/shm", "/proc", "/run", "/run/endow"] {
        let inside = at(&world, &world.project(), &["--chdir", directory], "pwd");
        assert_eq!(inside.ok(), format!("{directory}\n"));
    }
}

/// What is empty at first is known before anything starts.
#[test]
fn directory_of_the_start_that_nothing_shows_is_told_by_the_plan() {
    let world = World::new();
    let home = world.home().join("none");
    for missing in ["/no/such/place", "/tmp/none", "/run/none", home.to_str().expect("text")] {
        let told = said(&mut world.endow(["plan", "--chdir", missing, "--", "true"]));
        let told = told.fails(125);
        assert!(told.contains(&format!("no place in the view: {missing}")), "{told}");
        assert!(told.contains("hint: name a directory of the view with `--chdir`"), "{told}");
    }
}

#[test]
fn directory_of_the_start_that_is_missing_is_told() {
    let world = World::new();
    for missing in ["relative", "/no/such/place", "/usr/no/such/place"] {
        let inside = at(&world, &world.project(), &["--chdir", missing], "touch /tmp/started");
        let told = inside.fails(125);
        assert!(told.starts_with("endow: ") && told.contains(missing), "{told}");
        world.assert_no_run_left();
    }
}
