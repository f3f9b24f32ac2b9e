//! Where actions may read and write in the project, and where the project may be.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::build::STEPS;
use crate::harness::{Project, World, said};

#[test]
fn what_no_build_made_is_never_replaced() {
    let project = Project::new(STEPS);
    project.write("in/text", "abc\n");
    project.write("out/twice", "mine\n");
    let said = project.build(&[]);
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("no build made what stands there: out/twice"), "{}", said.stderr);
    assert_eq!(project.read("out/twice"), "mine\n");
    assert!(!project.path("out/upper").exists(), "nothing was executed");
    fs::remove_file(project.path("out/twice")).expect("removed");
    project.build(&[]).ok();
    // What a build made is replaced, and not what was changed since.
    project.write("in/text", "xyz\n");
    project.build(&[]).ok();
    assert_eq!(project.read("out/twice"), "XYZ\nXYZ\n");
    project.write("out/twice", "edited\n");
    assert_eq!(project.build(&[]).code, 2);
    assert_eq!(project.read("out/twice"), "edited\n");
    project.build(&["--force"]).ok();
    assert_eq!(project.read("out/twice"), "XYZ\nXYZ\n");
}

/// The control is the first build: without the link the output goes there.
#[test]
fn link_in_the_way_of_an_output_leads_nowhere() {
    let project = Project::new("");
    let arguments = ["--output", "out/x", "--", "sh", "-c", "echo made >out/x"];
    project.build(&arguments).ok();
    assert_eq!(project.read("out/x"), "made\n");
    fs::remove_dir_all(project.path("out")).expect("removed");
    let elsewhere = project.world.root().join("elsewhere");
    fs::create_dir(&elsewhere).expect("made");
    symlink(&elsewhere, project.path("out")).expect("a link");
    for force in [&[][..], &["--force"]] {
        let told = project.build(&[force, &arguments].concat());
        let shown =
            "no output can be put there: out/x\ncause: out is a link, which is not followed\n";
        assert!(told.fails(2).contains(shown), "{told:?}");
    }
    assert_eq!(fs::read_dir(&elsewhere).expect("listed").count(), 0);
    fs::remove_file(project.path("out")).expect("removed");
    fs::write(project.path("out"), "mine\n").expect("written");
    let script = "mkdir -p out; touch ran; echo made >out/x";
    let forced = project.build(&["--force", "--output", "out/x", "--", "sh", "-c", script]);
    assert!(forced.fails(2).contains("cause: out is no directory\n"), "{forced:?}");
    assert_eq!(project.read("out"), "mine\n");
}

/// A build has no workspace, so that what a run takes for none by default is fine.
#[test]
fn build_can_be_in_memory() {
    let world = World::new();
    let place = tempfile::tempdir_in("/dev/shm").expect("a directory");
    fs::write(place.path().join("in"), "abc\n").expect("written");
    let place = place.path().to_str().expect("text");
    let action = ["--input", "in", "--output", "out", "--", "cp", "in", "out"];
    let built = said(&mut world.endow([&["build", "-C", place], &action[..]].concat()));
    assert_eq!(built.code, 0, "{built:?}");
    assert_eq!(fs::read_to_string(Path::new(place).join("out")).expect("an output"), "abc\n");
    let run = said(&mut world.endow(["-C", place, "--", "true"]));
    assert!(run.stderr.contains("not taken as the workspace by default"), "control: {run:?}");
}

/// The control is the first action: the same at another place is an output.
#[test]
fn project_can_plant_nothing_that_others_run() {
    let project = Project::new("");
    let outputs = |output: &str, script: &str| {
        let said = project.build_anew(&["--output", output, "--", "sh", "-c", script]);
        (said.code, said.stderr)
    };
    let (code, told) = outputs("hooks/post-checkout", "echo evil >hooks/post-checkout");
    assert_eq!(code, 0, "{told}");
    for place in [".git/hooks/post-checkout", ".git/config", ".envrc", ".git/"] {
        let (code, told) = outputs(place, "true");
        assert_eq!(code, 2, "{place}: {told}");
        assert!(told.contains("that can't be an output"), "{told}");
    }
    let (code, told) = outputs("tooling/pre-commit", "echo fine >tooling/pre-commit");
    assert_eq!(code, 0, "{told}");
    project.world.bare("git init -q . && git config core.hooksPath tooling").ok();
    let (code, told) = outputs("tooling/pre-commit", "true");
    assert_eq!(code, 2, "{told}");
    let (code, told) =
        outputs("gen/", "mkdir -p gen/.git/hooks; echo evil >gen/.git/hooks/pre-commit");
    assert_eq!(code, 1, "{told}");
    assert!(told.contains("gen/.git/hooks/pre-commit: somebody else runs"), "{told}");
    assert!(!project.path("gen").exists());
}

#[test]
fn hidden_names_are_no_inputs() {
    let project = Project::new("");
    for path in [".env", "a", "deep/server.pem"] {
        project.write(path, "canary\n");
    }
    let said = project.build(&["--input", "**", "--", "find", ".", "-type", "f"]);
    assert_eq!(said.ok().lines().filter(|it| *it != "./endow.toml").collect::<Vec<_>>(), ["./a"]);
    let said = project.build(&["--input", ".env", "--", "true"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stderr.contains("hidden from every command"), "{}", said.stderr);
}

#[test]
fn link_that_leads_out_is_no_output() {
    let project = Project::new("");
    for target in ["/etc/passwd", "../../outside", "d/../../../outside", "here/here/../.."] {
        let script =
            format!("mkdir -p out; ln -s . out/here; ln -s {target} out/link; echo x >out/file");
        for output in ["out/", "out/link"] {
            let said = project.build_anew(&["--output", output, "--", "sh", "-c", &script]);
            assert_eq!(said.code, 1, "{target} {output}: {}", said.stderr);
            assert!(said.stderr.contains("the link leads out"), "{}", said.stderr);
        }
    }
    assert!(fs::symlink_metadata(project.path("out/link")).is_err());
}

/// Any directory can be one of git's. The controls are the same files without the one, and what `endow run` holds.
#[test]
fn output_makes_no_repository_that_runs_programs() {
    let project = Project::new("");
    project.world.bare("git init -q .; git init -q --bare bare.git; rm -rf bare.git/hooks").ok();
    let parts = "mkdir -p out/objects out/refs out/deep; echo 'ref: refs/heads/m' >out/HEAD; touch out/refs/x";
    let settings = "printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = \"touch pwned; false\"\n\tbare = false\n\tworktree = ..\n' >out/config";
    let build = |output: &str, script: &str| {
        let said = project.build_anew(&["--force", "--output", output, "--", "sh", "-c", script]);
        (said.code, said.stderr)
    };
    let plant = format!("{parts}; {settings}");
    let cases = [
        ("out/", plant.as_str()),
        ("bare.git/hooks/post-receive", "echo evil >bare.git/hooks/post-receive"),
        ("bare.git/config.worktree", "echo '[core]' >bare.git/config.worktree"),
        ("link", "ln -s .git/hooks link"),
        ("out/", "mkdir out; ln -s .. out/up; ln -s up/.git/hooks out/link"),
    ];
    for (output, script) in cases {
        let (code, told) = build(output, script);
        assert_eq!(code, 1, "{output}: {told}");
        assert!(told.contains("that can't be an output"), "{told}");
        assert!(!project.path(output.trim_end_matches('/')).exists(), "{output}");
    }
    for script in [parts.to_owned(), format!("mkdir out; {settings}")] {
        drop(fs::remove_dir_all(project.path("out")));
        let (code, told) = build("out/", &script);
        assert_eq!(code, 0, "{told}");
    }
    // What completes it is found beside it.
    let (code, told) = build("out/HEAD", "mkdir -p out; echo 'ref: refs/heads/m' >out/HEAD");
    assert_eq!(code, 1, "{told}");
    project.world.bare("cd out; mkdir objects refs; cp ../.git/HEAD .; git status").ok();
    assert!(project.path("pwned").exists() || project.path("out/pwned").exists(), "control");
}

#[test]
fn longest_names_are_outputs() {
    let project = Project::new("");
    for name in ["x".repeat(255), "\u{e9}".repeat(127)] {
        let script = format!("echo made >{name}");
        project.build(&["--output", &name, "--", "sh", "-c", &script]).ok();
        assert_eq!(project.read(&name), "made\n");
    }
}

/// The control is the same file as a tool.
#[test]
fn command_in_the_home_shows_nothing_of_it() {
    let project = Project::new("");
    let home = project.world.home().join("tools").display().to_string();
    let script = format!("#!/bin/sh\nls {home}/* >out; true\n");
    let program = project.world.write("home/tools/bin/x", &script);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
    project.world.write("home/tools/share/notes", "nobody's business\n");
    let program = program.display().to_string();
    let line = ["--output", "out", "--", program.as_str()];
    let unseen = project.build(&line);
    let said = format!("command not found: {program}\n");
    assert!(unseen.fails(1).contains(&said) && unseen.stderr.contains("--tool"), "{unseen:?}");
    project.build(&[&["--tool", program.as_str()], &line[..]].concat()).ok();
    assert_eq!(project.read("out"), "x\n");
}
