//! The profile that a command gets by its name, and which names get none.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::harness::{Said, World, project, said};

/// What the profile of `claude` grants and nothing else does.
const STATE: &str = "home/.claude/login";

/// A world with an agent's state, and the workspace of a repository.
fn world() -> World {
    let world = project();
    world.write(STATE, "token\n");
    world.write("home/.codex/auth.json", "other token\n");
    world.bare("git init -q").ok();
    world
}

/// Puts a program somewhere that prints the state, and makes a change once what was there is recorded.
fn program(world: &World, path: &str) -> PathBuf {
    let script =
        "#!/bin/sh\ncat ~/.claude/login; sleep 0.3; echo seen >seen; cat ~/.codex/auth.json; :\n";
    let path = world.write(path, script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    path
}

/// Runs a command with a directory before others on the PATH.
fn run(world: &World, path: &Path, options: &[&str], command: &str) -> Said {
    let mut endow = world.endow(["run"]);
    endow.args(options).args(["--", command]);
    endow.env("PATH", format!("{}:/usr/bin:/bin", path.display()));
    said(&mut endow)
}

/// claude takes away the lock file of an editor whose process it does not see, which is every one.
#[test]
fn lock_files_of_editors_stay() {
    let world = world();
    let lock = world.write("home/.claude/ide/4000.lock", "{}");
    let script = "#!/bin/sh\nrm -f ~/.claude/ide/*.lock; rm -f ~/.claude/login; :\n";
    let path = world.write("programs/claude", script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    run(&world, &world.root().join("programs"), &[], "claude").ok();
    assert!(lock.exists());
    // The control: other state is live.
    assert!(!world.root().join(STATE).exists());
}

#[test]
fn profile_belongs_to_the_command_of_its_name() {
    let world = world();
    program(&world, "programs/claude");
    let programs = world.root().join("programs");
    let inside = run(&world, &programs, &[], "claude");
    assert_eq!(inside.ok(), "token\n");
    assert!(inside.stderr.contains(".codex/auth.json: No such file"), "{inside:?}");
    // The workspace is live, and what it held is recorded.
    assert_eq!(fs::read_to_string(world.project().join("seen")).expect("written"), "seen\n");
    assert_eq!(world.states(), ["applied"], "{inside:?}");
    said(&mut world.endow(["undo"])).ok();
    assert!(!world.project().join("seen").exists());
    // Another name, the word for none, and a path have no profile.
    symlink("claude", programs.join("other")).expect("a link");
    let by_path = programs.join("claude").display().to_string();
    let cases = [(&[][..], "other"), (&["--profile", "none"], "claude"), (&[], by_path.as_str())];
    for (options, command) in cases {
        let said = run(&world, &programs, options, command);
        assert!(!said.stdout.contains("token"), "{command}: {said:?}");
    }
    let wrapped = ["run", "--", "env", "claude"];
    let mut wrapped = world.endow(wrapped);
    wrapped.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    assert!(!said(&mut wrapped).stdout.contains("token"));
}

/// A program that an earlier run could have left is called what it likes to be.
#[test]
fn profile_is_not_had_by_a_planted_program() {
    let world = world();
    let planted = program(&world, "home/project/bin/claude");
    let granted = program(&world, "granted/claude");
    let granted = granted.parent().expect("a directory");
    let links = world.root().join("links");
    fs::create_dir(&links).expect("a directory");
    symlink(&planted, links.join("claude")).expect("a link");
    let through = world.root().join("through");
    fs::create_dir(&through).expect("a directory");
    symlink(world.project().join("bin"), through.join("bin")).expect("a link");
    program(&world, "programs/claude");
    symlink(world.root().join("programs/claude"), world.project().join("hop")).expect("a link");
    symlink(world.project().join("hop"), through.join("claude")).expect("a link");
    let rw = granted.display().to_string();
    let cases: [(&Path, &[&str]); 5] = [
        (planted.parent().expect("a directory"), &[]),
        (&links, &[]),
        (&through.join("bin"), &[]),
        (&through, &[]),
        (granted, &["--rw", &rw]),
    ];
    for (path, options) in cases {
        let said = run(&world, path, options, "claude");
        assert!(!said.stdout.contains("token"), "{}: {said:?}", path.display());
    }
    // The control: the same program where nothing inside writes.
    assert_eq!(run(&world, granted, &[], "claude").ok(), "token\n");
}

/// Whoever fetched the project put it there, and what is left out of the view or can't be written says nothing of that.
#[test]
fn profile_is_not_had_by_a_program_of_a_project_that_is_not_writable() {
    let world = world();
    let planted = program(&world, "home/project/node_modules/.bin/claude");
    let path = planted.parent().expect("a directory");
    let none = ["--workspace", "none", "--chdir", "/"];
    for options in [&["--workspace", "ro"][..], &none] {
        let said = run(&world, path, options, "claude");
        assert!(!said.stdout.contains("token"), "{options:?}: {said:?}");
    }
    run(&world, path, &none, "claude").fails(127);
    world.write("home/project/endow.toml", "version = 1\n[workspace]\naccess = \"ro\"\n");
    let said = run(&world, path, &[], "claude");
    assert!(!said.stdout.contains("token"), "{said:?}");
    // The control: the same file, and a program that is nobody's project.
    program(&world, "programs/claude");
    assert_eq!(run(&world, &world.root().join("programs"), &[], "claude").stdout, "token\n");
}

#[test]
fn profile_of_the_user_goes_before() {
    let world = world();
    program(&world, "programs/claude");
    let own = "version = 1\n[workspace]\naccess = \"ro\"\n[mounts]\n\
               \"~/.codex\" = { access = \"ro\", nodeny = true }\n";
    world.write("config/profiles/claude.toml", own);
    let said = run(&world, &world.root().join("programs"), &[], "claude");
    assert_eq!(said.stdout, "other token\n", "{said:?}");
}

#[test]
fn profile_can_be_narrowed_by_what_is_said() {
    let world = world();
    program(&world, "programs/claude");
    let programs = world.root().join("programs");
    let said = run(&world, &programs, &["--workspace", "cow", "--sync", "discard"], "claude");
    assert_eq!(said.ok(), "token\n");
    assert!(!world.project().join("seen").exists());
    // What is said of changes counts, or is refused.
    let said = run(&world, &programs, &["--sync", "review"], "claude");
    assert_eq!((said.code, said.stdout.as_str()), (125, ""), "{said:?}");
    assert!(said.stderr.contains("hint: `--workspace cow` beside `--sync review`"), "{said:?}");
    let mut plan = world.endow(["plan", "--", "claude"]);
    plan.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    let plan = crate::harness::said(&mut plan);
    let plan = plan.ok();
    assert!(plan.contains("allow   api.anthropic.com:443 (profile claude)"), "{plan}");
    assert!(plan.lines().any(|line| line.starts_with("mount") && line.contains(".claude rw")));
}

/// A profile that can't be read is told with its place, whoever names it.
#[test]
fn invalid_profile_is_told_with_its_place() {
    let world = World::new();
    let file =
        world.write("config/profiles/own.toml", "version = 1\n[mounts]\n\"~/data\" = \"bad\"\n");
    world.write("config/profiles/true.toml", "version = 1\nx = \n");
    let place = format!("cause: {}:3:12: ", file.display());
    let named = world.run(&["--profile", "own"], "true");
    assert!(named.fails(120).contains(&place), "{}", named.stderr);
    let above = world.write("above.toml", "version = 1\nextends = [\"own\"]\n");
    let extended = world.run(&["-p", &above.display().to_string()], "true");
    assert!(extended.fails(120).contains(&place), "{}", extended.stderr);
    let by_command = said(&mut world.endow(["run", "--", "true"]));
    assert!(by_command.fails(120).contains("true.toml:2:"), "{}", by_command.stderr);
}

/// One that is shown, and never used, is worse than none.
#[test]
fn profile_with_a_name_that_means_something_else_is_refused() {
    for name in ["base", "none"] {
        let world = World::new();
        let file = world.write(format!("config/profiles/{name}.toml"), "version = 1\n");
        let told = format!("no profile can have this name: {}", file.display());
        for words in [&["run", "--", "true"][..], &["profile", "show", name], &["check"]] {
            let said = said(&mut world.endow(words));
            assert!(said.code == 120 && format!("{said:?}").contains(&told), "{words:?}: {said:?}");
        }
    }
}

#[test]
fn plan_begins_with_what_is_asked_first() {
    let world = World::new();
    let data = world.write("data/file", "x\n").parent().expect("a directory").display().to_string();
    let words = ["plan", "--ro", &data, "--net", "example.org", "--timeout", "10m", "--", "true"];
    let plan = said(&mut world.endow(words));
    let first: Vec<&str> = plan.ok().lines().take_while(|line| !line.is_empty()).collect();
    let project = world.project();
    let expected = [
        "level   ".to_owned(),
        format!("works   {} cow (", project.display()),
        format!("grant   {data} ro (--ro {data})"),
        "reach   example.org:443".to_owned(),
        "changes apply".to_owned(),
        "limits  timeout 600s".to_owned(),
        "policy  ".to_owned(),
    ];
    assert_eq!(first.len(), expected.len(), "{first:?}");
    for (line, expected) in first.iter().zip(&expected) {
        assert!(line.starts_with(expected), "{expected}: {line}");
    }
}
