//! `endow diff`, `apply`, `undo` and `discard PATH` on changes that wait.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use endow_vfs::fs::{Fs, OsFs};
use endow_vfs::state::RunState;
use serde_json::Value;

use crate::harness::{MadeUp, Pty, Said, World, project, said};

pub(crate) const MINUTE: Duration = Duration::from_mins(1);

/// A project with a few files, and a run that changed each in another way.
pub(crate) struct Changed {
    pub(crate) world: World,
    pub(crate) id: String,
}

impl Changed {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut MadeUp)) -> Self {
        let world = World::new();
        for (name, text) in [("edited", "one\ntwo\n"), ("gone", "x\n"), ("sub/kept", "k\n")] {
            world.write(Path::new("home/project").join(name), text);
        }
        symlink("edited", world.project().join("link")).expect("symlink");
        wait();
        let mut run = world.make_up(MINUTE);
        // The clock of a file system goes in steps, and what a run writes is younger than its begin.
        wait();
        let upper = run.upper();
        fs::set_permissions(&upper, mode_of(&world.project())).expect("chmod");
        write_over(&world, &upper, "edited", "one\n2\n");
        fs::write(upper.join("new name"), "n\n").expect("written");
        fs::create_dir(upper.join("empty")).expect("mkdir");
        let dir = fs::File::open(&upper).expect("open");
        OsFs.make_whiteout(std::os::fd::AsFd::as_fd(&dir), "gone".as_ref()).expect("a whiteout");
        change(&mut run);
        let id = run.keep(RunState::Waiting);
        Self { world, id }
    }

    pub(crate) fn endow(&self, arguments: &[&str]) -> Said {
        said(&mut self.world.endow(arguments))
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let said = said(self.world.endow(arguments).arg("--json"));
        serde_json::from_str(said.ok()).expect("JSON")
    }

    pub(crate) fn state(&self) -> String {
        let listed = self.json(&["runs"]);
        listed["runs"][0]["state"].as_str().expect("a state").to_owned()
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.world.project().join(name)).ok()
    }

    #[track_caller]
    pub(crate) fn assert_before(&self) {
        assert_eq!(self.read("edited").as_deref(), Some("one\ntwo\n"));
        assert_eq!(self.read("gone").as_deref(), Some("x\n"));
        assert_eq!(self.read("new name"), None);
        assert!(!self.world.project().join("empty").exists());
    }

    #[track_caller]
    pub(crate) fn assert_after(&self) {
        assert_eq!(self.read("edited").as_deref(), Some("one\n2\n"));
        assert_eq!(self.read("gone"), None);
        assert_eq!(self.read("new name").as_deref(), Some("n\n"));
        assert!(self.world.project().join("empty").is_dir());
    }
}

/// Waits for longer than any clock of a file system is coarse: what stands there is older than
/// what comes.
fn wait() {
    std::thread::sleep(Duration::from_millis(20));
}

fn mode_of(path: &Path) -> fs::Permissions {
    fs::Permissions::from_mode(fs::metadata(path).expect("there").permissions().mode())
}

/// Puts a changed copy of a file into the layer, marked as overlayfs marks what it copied up.
fn write_over(world: &World, upper: &Path, name: &str, text: &str) {
    let place = upper.join(name);
    fs::write(&place, text).expect("written");
    fs::set_permissions(&place, mode_of(&world.project().join(name))).expect("chmod");
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(&place, "user.overlay.origin", b"", flags).expect("an attribute");
}

#[test]
fn diff_lists_what_changed() {
    let run = Changed::new();
    let said = run.endow(&["diff", "--name-status"]);
    assert_eq!(said.ok(), "M\tedited\nA\tempty/\nD\tgone\nA\tnew name\n");
    let stat = run.endow(&["diff", "--stat", &run.id]);
    assert!(stat.ok().contains(" edited   | 2 +-\n"), "{}", stat.stdout);
    assert!(
        stat.stdout.contains(" 4 files changed, 2 insertions(+), 2 deletions(-)"),
        "{}",
        stat.stdout
    );
    let json = run.json(&["diff", "--stat"]);
    assert_eq!(json["changes"][0]["status"], "M");
    assert_eq!(json["changes"][0]["counted"]["added"], 1);
    assert_eq!(json["changes"][0]["conflict"], Value::Null);
    run.assert_before();
}

#[test]
fn diff_exits_with_1_only_when_asked() {
    let run = Changed::new();
    run.endow(&["diff"]).ok();
    run.endow(&["diff", "--exit-code"]).fails(1);
    run.endow(&["discard", "edited", "empty", "gone", "new name"]).ok();
    let nothing = run.endow(&["diff", &run.id]);
    assert!(nothing.fails(2).contains("that is discarded"), "{}", nothing.stderr);
}

#[test]
fn patch_of_a_run_is_for_git_apply() {
    let run = Changed::new();
    let patch = run.endow(&["diff"]);
    assert!(patch.ok().contains("# empty: directory made\n"), "{}", patch.stdout);
    let file = run.world.write("patch", &patch.stdout);
    let mut git = Command::new("git");
    git.args(["apply"]).arg(&file).current_dir(run.world.project());
    git.env("GIT_CEILING_DIRECTORIES", run.world.home());
    let output = git.output().expect("git starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(run.read("edited").as_deref(), Some("one\n2\n"));
    assert_eq!(run.read("gone"), None);
    assert_eq!(run.read("new name").as_deref(), Some("n\n"));
}

#[test]
fn colour_is_for_terminals_and_who_asks() {
    let run = Changed::new();
    assert!(!run.endow(&["diff"]).ok().contains('\x1b'));
    assert!(run.endow(&["diff", "--color", "always"]).ok().contains("\x1b[31m-two\x1b[m\n"));
    let mut quiet = run.world.endow(["diff"]);
    assert!(!said(quiet.env("NO_COLOR", "1")).ok().contains('\x1b'));
}

#[test]
fn terminal_is_not_driven_by_what_a_run_wrote() {
    let run = Changed::with(|run| {
        fs::write(run.upper().join("sly"), "\x1b]0;title\x07\u{9b}2J\n").expect("written");
    });
    let (code, screen) = Pty::start(&run.world.endow(["diff"])).end();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("\x1b[32m+\\u{1b}]0;title\\u{7}\\u{9b}2J\x1b[m"), "{screen:?}");
    assert!(!screen.contains("\x1b]0"), "{screen:?}");
    let (_, dumb) = Pty::start(run.world.endow(["diff"]).env("TERM", "dumb")).end();
    assert!(!dumb.contains('\x1b'), "{dumb:?}");
    let piped = run.endow(&["diff"]);
    assert!(piped.ok().contains("+\x1b]0;title\x07"), "a patch is exact: {:?}", piped.stdout);
}

#[test]
fn hostile_names_are_quoted() {
    let run = Changed::with(|run| {
        fs::write(run.upper().join("a\n\x1b[2J"), "x\n").expect("written");
    });
    for arguments in [&["diff"][..], &["diff", "--stat"], &["diff", "--name-status"]] {
        let said = run.endow(arguments);
        assert!(said.ok().contains("a\\n\\033[2J"), "{}", said.stdout);
        assert!(!said.stdout.contains('\x1b'), "{}", said.stdout);
    }
}

#[test]
fn apply_writes_back_and_undo_takes_back() {
    let run = Changed::new();
    let waiting = run.endow(&["diff"]);
    let applied = run.json(&["apply"]);
    assert_eq!(applied["state"], "applied");
    run.assert_after();
    assert_eq!(run.state(), "applied");
    assert_eq!(run.endow(&["diff"]).ok(), waiting.ok(), "both sides are still there");
    let names = run.endow(&["diff", "--name-status"]);
    assert_eq!(names.ok(), "M\tedited\nA\tempty/\nD\tgone\nA\tnew name\n");
    run.endow(&["diff", "sub"]).fails(2);
    let again = run.endow(&["apply", &run.id]);
    assert!(again.fails(2).contains("can't apply a run that is applied"), "{}", again.stderr);
    let undone = run.json(&["undo"]);
    assert_eq!(undone["state"], "undone", "{undone}");
    run.assert_before();
    assert_eq!(run.state(), "undone");
    run.endow(&["undo"]).fails(2);
}

#[test]
fn apply_by_path_leaves_the_rest_waiting() {
    let run = Changed::new();
    run.endow(&["apply", "new name"]).ok();
    assert_eq!(run.read("new name").as_deref(), Some("n\n"));
    assert_eq!(run.read("edited").as_deref(), Some("one\ntwo\n"));
    assert_eq!(run.state(), "waiting");
    let left = run.endow(&["diff", "--name-status"]);
    assert_eq!(left.ok(), "M\tedited\nA\tempty/\nD\tgone\n");
    run.endow(&["apply"]).ok();
    run.assert_after();
    assert_eq!(run.state(), "applied");
    run.endow(&["undo"]).ok();
    run.assert_before();
}

#[test]
fn conflict_leaves_both_sides_and_says_so() {
    let run = Changed::new();
    wait();
    run.world.write("home/project/edited", "host\n");
    let said = run.endow(&["apply"]);
    assert!(said.fails(121).contains("changed outside too"), "{}", said.stderr);
    assert_eq!(run.read("edited").as_deref(), Some("host\n"));
    assert_eq!(run.read("gone"), None, "all else is applied");
    assert_eq!(run.state(), "waiting");
    assert_eq!(run.json(&["diff"])["changes"][0]["conflict"], "changed outside");
    run.endow(&["apply", "--on-conflict", "guest"]).ok();
    run.assert_after();
    run.endow(&["undo"]).ok();
    assert_eq!(run.read("edited").as_deref(), Some("host\n"));
    assert_eq!(run.read("gone").as_deref(), Some("x\n"));
}

#[test]
fn undo_leaves_alone_what_changed_since() {
    let run = Changed::new();
    run.endow(&["apply"]).ok();
    wait();
    run.world.write("home/project/edited", "later\n");
    let said = run.endow(&["undo"]);
    assert!(said.fails(121).contains("changed since it was written back"), "{}", said.stderr);
    assert_eq!(run.read("edited").as_deref(), Some("later\n"));
    assert_eq!(run.read("gone").as_deref(), Some("x\n"));
    assert_eq!(run.state(), "applied", "the rest can be tried again");
}

#[test]
fn discard_by_path_lets_the_host_show_through() {
    let run = Changed::new();
    run.endow(&["discard", &run.id, "gone", "./edited"]).ok();
    assert_eq!(run.endow(&["diff", "--name-status"]).ok(), "A\tempty/\nA\tnew name\n");
    run.endow(&["apply"]).ok();
    assert_eq!(run.read("gone").as_deref(), Some("x\n"));
    assert_eq!(run.read("edited").as_deref(), Some("one\ntwo\n"));
    assert_eq!(run.read("new name").as_deref(), Some("n\n"));
}

#[test]
fn part_of_a_replaced_directory_is_not_dropped_by_itself() {
    let run = Changed::with(|run| {
        let sub = run.upper().join("sub");
        fs::create_dir(&sub).expect("mkdir");
        fs::write(sub.join("kept"), "other\n").expect("written");
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(&sub, "user.overlay.opaque", b"y", flags).expect("an attribute");
    });
    let refused = run.endow(&["discard", "sub/kept"]);
    assert!(refused.fails(2).contains("discard the directory as a whole"), "{}", refused.stderr);
    run.endow(&["discard", "sub"]).ok();
    run.endow(&["apply"]).ok();
    assert_eq!(run.read("sub/kept").as_deref(), Some("k\n"));
}

#[test]
fn words_are_runs_first_and_paths_behind_dashes() {
    let run = Changed::with(|run| {
        run.record.name = Some("edited".to_owned());
    });
    let of_run = run.endow(&["diff", "--name-status", "edited"]);
    assert_eq!(of_run.ok().lines().count(), 4);
    for arguments in
        [&["./edited"][..], &["edited", "edited"], &["edited", "--", "edited"], &["--", "edited"]]
    {
        let of_path = run.endow(&[&["diff", "--name-status"][..], arguments].concat());
        assert_eq!(of_path.ok(), "M\tedited\n", "{arguments:?}");
    }
    let nothing = run.endow(&["diff", "edited", "sub/kept"]);
    assert!(nothing.fails(2).contains("neither a run nor a change"), "{}", nothing.stderr);
    assert!(nothing.stderr.contains("hint: `endow diff "), "{}", nothing.stderr);
    run.endow(&["diff", "/elsewhere"]).fails(2);
}

#[test]
fn two_that_apply_at_once_wait_for_each_other() {
    let run = Changed::new();
    let ends: Vec<Said> = std::thread::scope(|scope| {
        let both: Vec<_> = (0..2).map(|_| scope.spawn(|| run.endow(&["apply", &run.id]))).collect();
        both.into_iter().map(|it| it.join().expect("an end")).collect()
    });
    assert!(ends.iter().any(|said| said.code == 0), "{ends:?}");
    assert!(ends.iter().all(|said| said.code == 0 || said.code == 2), "{ends:?}");
    run.assert_after();
}

#[test]
fn patch_of_a_run_that_used_git_is_one_that_git_takes() {
    let world = World::new();
    let git = "git -c user.name=n -c user.email=e";
    world.bare(&format!("git init -q; echo one >a; git add a; {git} commit -qm one")).ok();
    let script = format!(
        "git mv a b; echo new >new; git add new; {git} commit -qm two
        mkdir sub; git init -q sub; echo s >sub/s; echo two >>b; git add b"
    );
    world.run(&["run", "--workspace", "cow", "--sync", "review"], &script).ok();
    let patch = said(&mut world.endow(["diff"]));
    let own = |line: &&str| line.contains(".git/") && !line.starts_with("# ");
    assert_eq!(patch.ok().lines().find(own), None);
    assert!(patch.stdout.contains("\n# .git: "), "{}", patch.stdout);
    let whole = said(&mut world.endow(["diff", "-v"]));
    assert_eq!(whole.ok().lines().find(own), None);
    assert!(whole.stdout.contains("# diff --git a/.git/refs/heads/"), "{}", whole.stdout);
    assert!(whole.stdout.contains("# Binary files a/.git/index and b/.git/index differ"));
    for added in ["b", "new", "sub/s"] {
        let head = format!("\ndiff --git a/{added} b/{added}\nnew file mode 100644\n");
        assert!(patch.stdout.contains(&head), "{added}: {}", patch.stdout);
    }
    world.write("patch", &patch.stdout);
    let taken = world.bare("git apply -v ../../patch");
    taken.ok();
    let told = world.bare("cat b new sub/s; ls");
    let all = "one\ntwo\nnew\ns\nb\nnew\nsub\n";
    assert_eq!(told.ok(), all, "{}\n{}", taken.stderr, patch.stdout);
}

#[test]
fn real_run_waits_and_is_reviewed() {
    let world = World::new();
    world.write("home/project/a", "one\n");
    world.write("home/project/sub/b", "b\n");
    let script = "echo two >> a; rm -r sub; mkdir new; echo n > new/n; ln -s a link; chmod 755 a";
    let options = ["run", "--workspace", "cow", "--sync", "review", "--name", "try"];
    world.run(&options, script).ok();
    let names = said(&mut world.endow(["diff", "--name-status", "try"]));
    assert_eq!(names.ok(), "M\ta\nA\tlink\nA\tnew/n\nD\tsub/b\n");
    said(&mut world.endow(["apply", "try"])).ok();
    let project = world.project();
    assert_eq!(fs::read_to_string(project.join("a")).expect("there"), "one\ntwo\n");
    assert!(!project.join("sub").exists());
    assert_eq!(fs::read_link(project.join("link")).expect("a link"), Path::new("a"));
    said(&mut world.endow(["undo", "try"])).ok();
    assert_eq!(fs::read_to_string(project.join("a")).expect("there"), "one\n");
    assert_eq!(fs::read_to_string(project.join("sub/b")).expect("there"), "b\n");
    assert!(!project.join("new").exists());
}

/// A command has no power to make one, so it is put into the layer; an ordinary user's holds in a
/// user namespace only.
#[test]
fn file_capability_is_refused() {
    for name in ["edited", "tool"] {
        let run = Changed::with(|run| {
            let tool = run.upper().join(name);
            fs::write(&tool, "changed\n").expect("written");
            give_capability(&tool);
        });
        let listed = run.json(&["diff"]);
        let changes = listed["changes"].as_array().expect("a list");
        let of_tool: Vec<_> = changes.iter().filter(|it| it["shown_as"] == name).collect();
        assert_eq!(of_tool.len(), 1, "{listed}");
        assert_eq!(of_tool[0]["refused"], "a file capability", "{listed}");
        let before = run.read(name);
        let said = run.endow(&["apply"]);
        assert!(said.fails(121).contains("refused"), "{}", said.stderr);
        assert_eq!(run.read(name), before, "{name}");
        assert_eq!(run.read("new name").as_deref(), Some("n\n"), "all else is written");
        run.endow(&["apply", "--on-conflict", "guest", name]).fails(121);
        assert_eq!(run.read(name), before, "{name}, asked for");
    }
}

/// Gives a file a capability, as version 2 of `struct vfs_cap_data` says it (capabilities(7)).
fn give_capability(file: &Path) {
    let script = "import os, struct, sys
os.setxattr(sys.argv[1], 'security.capability', struct.pack('<5I', 0x2000001, 1 << 13, 0, 0, 0))";
    let mut command = if rustix::process::geteuid().is_root() {
        Command::new("python3")
    } else {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "python3"]);
        command
    };
    said(command.args(["-c", script]).arg(file)).ok();
}

/// The name of a directory that is being moved is a name as any other: only a note that the command can't
/// write tells of one that is half-way.
#[test]
fn name_of_a_directory_half_way_is_no_sign_of_one() {
    let world = project();
    world
        .run(&["run"], "mkdir -p dir/.endow-rename; echo guest >.endow-rename; ln -s x half-way")
        .ok();
    assert_eq!(world.read(".endow-rename"), "guest\n");
    assert!(world.project().join("dir/.endow-rename").is_dir());
    assert_eq!(world.states(), ["applied"]);
}

#[test]
fn directory_half_way_keeps_the_changes_back_for_the_next_run_too() {
    let world = project();
    world.run(&["run", "--sync", "review", "--name", "first"], "echo guest >file").ok();
    let runs = fs::read_dir(world.state().join("runs")).expect("runs");
    let runs: Vec<_> = runs.flatten().map(|entry| entry.path()).collect();
    let note = runs.first().expect("a run").join("half-way");
    symlink("/work/dir", &note).expect("a note");
    let told = |it: Said| {
        assert!(it.code == 121 && it.stderr.contains("/work/dir"), "{} {}", it.code, it.stderr);
    };
    told(said(&mut world.endow(["apply", "first"])));
    told(world.run(&["run", "--from", "first"], "true"));
    assert_eq!(world.read("file"), "host\n");
    fs::remove_file(note).expect("the note");
    said(&mut world.endow(["apply", "first"])).ok();
    assert_eq!(world.read("file"), "guest\n", "the control");
}

#[test]
fn removal_deep_in_a_directory_made_again_waits_until_it_is_written_back() {
    let world = World::new();
    for name in ["gen/c/b", "gen/c/n", "top"] {
        world.write(Path::new("home/project").join(name), "x\n");
    }
    wait();
    let script = "rm -r gen; mkdir -p gen/c; echo n >gen/c/n; echo 2 >top";
    world.run(&["run", "--sync", "review", "--name", "made"], script).ok();
    said(&mut world.endow(["apply", "made", "top"])).ok();
    let waits = said(&mut world.endow(["diff", "--stat", "made"]));
    assert!(waits.ok().contains("gen/c/b"), "{}", waits.ok());
    said(&mut world.endow(["apply", "made"])).ok();
    assert!(!world.project().join("gen/c/b").exists(), "it is removed at last");
    assert_eq!(world.states(), ["applied"]);
}

/// As undo has it: who mistypes one name is not shown the others as if they were all.
#[test]
fn diff_of_what_is_no_change_that_was_written_back_is_refused() {
    let world = World::new();
    world.run(&["run"], "mkdir made; echo n >made/n; echo f >f1").ok();
    for words in [&["nosuch"][..], &["nosuch", "f1"], &["f1", "made/none"]] {
        let refused = said(&mut world.endow([&["diff"][..], words].concat()));
        let told = refused.fails(2);
        assert!(told.starts_with("endow: neither a run nor a change of "), "{told}");
        assert!(!told.contains("this one") && told.contains("hint: `endow runs`"), "{told}");
        let named = words.iter().find(|word| word.contains("no")).expect("a word");
        assert!(told.contains(&format!("/{named}\n")), "{told}");
    }
    for words in [&["f1"][..], &["made"], &["made/n", "f1"]] {
        assert_ne!(said(&mut world.endow([&["diff"][..], words].concat())).ok(), "", "{words:?}");
    }
}
