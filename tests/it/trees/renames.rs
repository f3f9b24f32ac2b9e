//! Directories of trees that can be changed are renamed and exchanged, as those of a buffered directory are.

use std::fs;
use std::os::unix::fs::symlink;

use super::cas::{cas, put};
use super::git::{WHO, repository};
use crate::harness::{Project, World, project, said};

/// Moves a directory, one out of it, and exchanges two.
const MOVES: &str = "import ctypes, os
exchange = ctypes.CDLL(None, use_errno=True).renameat2
os.makedirs('made/in'); os.rename('dir', 'moved'); os.rename('moved/sub', 'up')
assert exchange(-100, b'moved', -100, b'other', 2) == 0, os.strerror(ctypes.get_errno())";

fn moves(world: &World) -> String {
    let script = world.write("moves.py", MOVES);
    format!("python3 {}", script.display())
}

/// A project with two directories to move.
fn two() -> World {
    let world = project();
    world.write("home/project/other/file", "other\n");
    world
}

#[test]
fn directories_of_a_commit_are_moved_as_git_moves_them() {
    let world = repository("");
    let script = format!(
        "set -e; git mv dir moved; mv moved/deep up; git add .; git {WHO} commit -qm moved
        test ! -e dir; test -z \"$(git status --porcelain)\"; git write-tree"
    );
    let inside = ["run", "--workspace", "none", "--chdir", "/work", "--git", "/work=HEAD,cow"];
    let inside = world.run(&inside, &script);
    let tree = inside.ok().to_owned();
    let landed =
        world.bare("git rev-parse \"$(git for-each-ref --format='%(refname)' refs/endow)^{tree}\"");
    assert_eq!(landed.ok(), tree);
    assert_eq!(world.bare(&script).ok(), tree, "as outside");
}

/// The same with a tree whose files are copies, and one whose large files are stubs where those can be.
#[test]
fn directories_of_a_stored_tree_are_moved() {
    for large in ["true", "head -c 100000 /dev/zero >dir/sub/large"] {
        let world = two();
        world.bare(large).ok();
        let base = put(&world, ".");
        let moves = moves(&world);
        let [at, script] =
            [format!("/t={base},cow"), moves.rsplit(' ').next().expect("a path").into()];
        let inside = ["run", "-v", "--cas", &at, "--chdir", "/t", "--ro", &script];
        let inside = world.run(&inside, &moves);
        inside.ok();
        let (_, new) = inside.stderr.split_once(" in sha256:").expect("a digest");
        let new = format!("sha256:{}", new.split_whitespace().next().expect("a digest"));
        world.bare(&format!("cp -a . ../view; cd ../view; {moves}")).ok();
        assert_eq!(put(&world, "../view"), new, "{large}");
        cas(&world, &["verify"]).ok();
    }
}

#[test]
fn directories_of_an_action_are_moved() {
    let project = Project::new("");
    for file in ["d/sub/file", "d/file", "other/file"] {
        project.write(file, &format!("{file}\n"));
    }
    let script = "import os; os.rename('d', 'e'); os.rename('other', 'e/other')";
    let build =
        ["--input", "d/**", "--input", "other/**", "--output", "e/", "--", "python3", "-c", script];
    project.build(&build).ok();
    for file in ["d/sub/file", "d/file", "other/file"] {
        let moved = file.replacen("d/", "e/", 1).replace("other", "e/other");
        assert_eq!(project.read(&moved), format!("{file}\n"));
    }
}

/// Fills a directory, gives it its name, and goes on to use what was opened before.
const FILLS: &str = "import os
os.makedirs('made/in'); open('made/in/a', 'w').write('a')
before, number = os.open('made', os.O_RDONLY), os.stat('made').st_ino
os.rename('made', 'dir/full')
os.close(os.open('b', os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=before))
assert os.stat('dir/full').st_ino == number
print(sorted(os.listdir('dir/full')))";

/// It is the same directory, and nobody finds it half full.
#[test]
fn directory_that_the_command_made_is_moved_as_it_is() {
    let world = two();
    let base = put(&world, ".");
    let script = world.write("fills.py", FILLS).display().to_string();
    let fills = format!("python3 {script}");
    world.bare("git init -q; git add .; git -c user.name=A -c user.email=a@b commit -qm a").ok();
    let [stored, commit] = [format!("/t={base},cow"), "/t=HEAD,cow".to_owned()];
    for (flag, at) in [("--cas", stored), ("--git", commit)] {
        let inside = ["run", "--workspace", "none", flag, &at, "--chdir", "/t", "--ro", &script];
        assert_eq!(world.run(&inside, &fills).ok(), "['b', 'in']\n", "{flag}");
    }
    let project = Project::new("");
    project.write("dir/file", "file\n");
    let build = ["--input", "dir/**", "--output", "dir/full/", "--", "python3", "-c", FILLS];
    project.build(&build).ok();
    assert_eq!(project.read("dir/full/in/a"), "a");
}

#[test]
fn directories_of_a_workspace_are_exchanged() {
    let world = two();
    let names = "find . | LC_ALL=C sort; cat moved/file other/inner up/deep";
    let moves = moves(&world);
    let script = moves.rsplit(' ').next().expect("a path");
    let options = ["run", "--workspace", "cow", "--ro", script];
    let inside = world.run(&options, &format!("{moves} && {names}"));
    let inside = inside.ok().to_owned();
    assert!(inside.ends_with("\nother\ninner\ndeep\n"), "{inside}");
    assert_eq!(world.bare(names).ok(), inside, "written back");
    let file = "import ctypes
        print(ctypes.CDLL(None).renameat2(-100, b'file', -100, b'up', 2))";
    let exchange = file.replace("        ", "");
    assert_eq!(
        world.run(&options, &format!("python3 -c \"{exchange}\"")).ok(),
        "0\n",
        "file first"
    );
    assert_eq!(world.read("up"), "host\n");
    assert_eq!(world.read("file/deep"), "deep\n");
    said(&mut world.endow(["undo"])).ok();
    said(&mut world.endow(["undo"])).ok();
    assert_eq!(
        (world.read("dir/sub/deep"), world.read("file")),
        ("deep\n".into(), "host\n".into())
    );
}

/// What is half-way to another place is in neither: nothing is made of it.
#[test]
fn directory_half_way_keeps_the_changes_of_a_tree_back() {
    let world = repository("");
    let script = "touch ready; sleep 60";
    let options = ["run", "--workspace", "none", "--chdir", "/work", "--git", "/work=HEAD,cow"];
    let mut command = world.endow(options.iter().chain(&["--", "sh", "-c", script]));
    let mut running = command.spawn().expect("started");
    let is_ready = || !world.bare("find ../../state -name ready").stdout.is_empty();
    crate::harness::soon("the command begins", is_ready);
    running.kill().expect("killed");
    running.wait().expect("gone");
    let runs = fs::read_dir(world.state().join("runs")).expect("runs");
    let run = runs.flatten().next().expect("a run").path();
    symlink("/work/dir", run.join("half-way")).expect("a note");
    let id = run.file_name().and_then(|id| id.to_str()).expect("an id").to_owned();
    let refused = said(&mut world.endow(["apply", &id]));
    let message = "a directory was half-way into the layer when the run was killed: /work/dir";
    assert!(refused.fails(121).contains(message), "{}", refused.stderr);
    fs::remove_file(run.join("half-way")).expect("the note");
    said(&mut world.endow(["apply", &id])).ok();
}
