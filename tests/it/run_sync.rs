//! Write-back at the end of a run: what the bare command would have left, and what is not.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;

use serde_json::Value;

use crate::harness::{Running, Said, World, endow, pid, project, said};

/// Runs a script in the default workspace, which is buffered.
fn run(world: &World, options: &[&str], script: &str) -> Said {
    world.run(&[&["run"], options].concat(), script)
}

/// Everything below a directory: names, kinds, modes, times, targets and contents.
fn tree(world: &World) -> String {
    let script = "find . -printf '%P %y %m %T@ %l\\n' | sort; find . -type f | sort | xargs cat";
    world.bare(script).ok().to_owned()
}

/// Runs with a report, and returns what the command said and the report.
fn reported(world: &World, options: &[&str], script: &str) -> (Said, Value) {
    let path = world.root().join("report.json");
    let report = path.display().to_string();
    let said = run(world, &[options, &["--report", &report]].concat(), script);
    let text = fs::read_to_string(&path).expect("a report");
    (said, serde_json::from_str(&text).expect("json"))
}

#[test]
fn bare_and_buffered_leave_the_same() {
    let script = "set -e; umask 022; touch -d @1000000000 file
        echo more >>file; rm -r dir; mkdir -m 750 dir; echo new >dir/new; chmod 600 dir/new
        ln -sfn dir link; mkdir -p a/b/c; echo deep >a/b/c/deep; ln a/b/c/deep a/linked
        truncate -s 1M hole; touch -d @1100000000 hole; cp file copy; mv copy moved
        touch -d @1200000000 a/b dir a; find . -exec touch -h -d @1300000000 '{}' +";
    let (bare, buffered) = (project(), project());
    bare.bare(script).ok();
    run(&buffered, &[], script).ok();
    assert_eq!(tree(&buffered), tree(&bare));
    assert_eq!(buffered.states(), ["applied"]);
}

#[test]
fn run_that_changes_nothing_leaves_nothing() {
    let world = project();
    let before = tree(&world);
    run(&world, &[], "cat file; touch -r file file; chmod 644 dir/inner").ok();
    assert_eq!(tree(&world), before);
    world.assert_no_run_left();
}

#[test]
fn mode_decides_when() {
    let rows = [
        ("apply", "true", "guest\n", "applied"),
        ("apply", "false", "guest\n", "applied"),
        ("apply-ok", "true", "guest\n", "applied"),
        ("apply-ok", "false", "host\n", "waiting"),
        ("review", "true", "host\n", "waiting"),
        ("discard", "true", "host\n", ""),
    ];
    for (mode, end, content, state) in rows {
        let world = project();
        let said = run(&world, &["--sync", mode], &format!("echo guest >file; {end}"));
        assert_eq!(said.code, i32::from(end == "false"), "{mode} {end}");
        assert_eq!(world.read("file"), content, "{mode} {end}");
        assert_eq!(world.states().join(" "), state, "{mode} {end}");
    }
}

#[test]
fn both_sides_changed_and_the_hosts_stays() {
    let world = project();
    let script = "echo guest >file; echo guest >other; echo in; read go";
    let report = world.root().join("report.json");
    let mut command = world.endow(["run", "--report", &report.display().to_string()]);
    command.args(["--", "sh", "-c", script]).stdin(Stdio::piped());
    let mut running = Running::start(&mut command);
    running.expect("in");
    world.write("home/project/file", "outside\n");
    running.say("\n");
    assert_eq!(running.end(), 121);
    assert_eq!((world.read("file"), world.read("other")), ("outside\n".into(), "guest\n".into()));
    let report: Value =
        serde_json::from_str(&fs::read_to_string(&report).expect("a report")).expect("json");
    let conflicts = &report["sync"]["conflicts"];
    assert_eq!(conflicts[0]["path"], world.project().join("file").display().to_string());
    assert_eq!(conflicts[0]["winner"], "host");
    assert_eq!(world.states(), ["waiting"]);
}

#[test]
fn commands_own_failure_wins_over_a_conflict() {
    let world = project();
    let script = "echo guest >file; echo in; read go; exit 3";
    let mut command = world.endow(["run", "--", "sh", "-c", script]);
    let mut running = Running::start(command.stdin(Stdio::piped()));
    running.expect("in");
    world.write("home/project/file", "outside\n");
    running.say("\n");
    assert_eq!(running.end(), 3);
    assert_eq!(world.read("file"), "outside\n");
}

#[test]
fn what_changed_before_the_start_is_no_conflict() {
    for _ in 0..20 {
        let world = World::new();
        world.write("home/project/file", "host\n");
        run(&world, &[], "echo guest >file").ok();
        assert_eq!(world.read("file"), "guest\n");
    }
}

#[test]
fn refused_kinds_are_named_and_all_else_is_written() {
    let world = project();
    let script = "mkfifo pipe; ln -s /etc/passwd out; ln -s ../../up up; echo x >fine
        cp /bin/true suid; chmod u+s suid; ln -s dir/inner within";
    let (said, report) = reported(&world, &[], script);
    let message = said.fails(121);
    assert!(message.contains("refused") && message.contains("2 held"), "{message}");
    let refused = report["sync"]["refused"].as_array().expect("a list");
    let name =
        |it: &Value| it["path"].as_str().expect("text").rsplit('/').next().map(str::to_owned);
    let mut names: Vec<String> = refused.iter().filter_map(name).collect();
    names.sort();
    assert_eq!(names, ["pipe", "suid"]);
    assert_eq!(world.read("fine"), "x\n");
    assert!(world.project().join("within").exists());
    for name in ["pipe", "out", "suid", "up"] {
        assert!(fs::symlink_metadata(world.project().join(name)).is_err(), "{name}");
    }
}

#[test]
fn protected_names_are_held() {
    let world = project();
    world.write("home/project/.git/hooks/keep", "host\n");
    let script = "echo evil >.git/hooks/pre-commit; echo evil >.git/hooks/keep; mkdir .vscode
        echo evil >.vscode/tasks.json; echo evil >endow.toml; echo fine >code";
    let (said, report) = reported(&world, &[], script);
    said.ok();
    let held = report["sync"]["held"].as_array().expect("a list");
    assert!(held.len() >= 4, "{held:?}");
    assert_eq!(world.read(".git/hooks/keep"), "host\n");
    for name in [".git/hooks/pre-commit", ".vscode/tasks.json", "endow.toml"] {
        assert_eq!(world.read(name), "absent", "{name}");
    }
    assert_eq!(world.read("code"), "fine\n");
    let world = project();
    run(&world, &["--strict"], "echo evil >endow.toml").fails(121);
}

#[test]
fn name_in_the_place_of_a_hidden_one_is_held() {
    let world = project();
    world.write("home/project/.env", "secret\n");
    let script = "echo own >.env; mkdir new; echo own >new/.env";
    let (said, report) = reported(&world, &[], script);
    said.ok();
    assert_eq!(world.read(".env"), "secret\n");
    assert_eq!(world.read("new/.env"), "own\n");
    assert_eq!(report["sync"]["held"].as_array().expect("a list").len(), 1);
}

#[test]
fn second_signal_keeps_changes_unapplied() {
    let world = project();
    let script =
        "trap 'echo asked' TERM; echo guest >file; echo in; while :; do sleep 9 & wait; done";
    let mut running = Running::start(&mut world.endow(["run", "--", "sh", "-c", script]));
    running.expect("in");
    running.signal(15);
    running.expect("asked");
    // At once it would be the same request.
    std::thread::sleep(std::time::Duration::from_millis(600));
    running.signal(15);
    assert_eq!(running.end(), 137);
    assert_eq!(world.read("file"), "host\n");
    assert_eq!(world.states(), ["waiting"]);
}

#[test]
fn full_layer_ends_the_run_and_keeps_changes() {
    let world = project();
    let policy = world.write("policy.toml", "version = 1\n[limits]\nlayer_size = \"1M\"\n");
    let policy = policy.display().to_string();
    let script = "head -c 8M /dev/urandom >large; sync; sleep 60";
    let said = run(&world, &["-p", &policy], script);
    assert_eq!(said.code, 124, "{}", said.stderr);
    assert_eq!((world.read("large"), world.states()), ("absent".into(), vec!["waiting".into()]));
}

#[test]
fn killed_supervisor_leaves_the_changes() {
    let world = project();
    let script = "echo guest >file; echo in; sleep 60";
    let mut running = Running::start(&mut world.endow(["run", "--", "sh", "-c", script]));
    running.expect("in");
    running.signal(9);
    running.end();
    assert_eq!(world.read("file"), "host\n");
    run(&world, &[], "true").ok();
    assert_eq!(world.states(), ["running"], "kept, and nobody holds its lock");
}

#[test]
fn killed_supervisor_leaves_bits_of_the_root_and_nothing_else() {
    for (script, left) in [("chmod 711 .", vec!["running"]), ("cat file", vec![])] {
        let world = project();
        let script = format!("{script}; echo in; sleep 60");
        let mut running = Running::start(&mut world.endow(["run", "--", "sh", "-c", &script]));
        while running.line() != "in" {}
        running.signal(9);
        running.end();
        run(&world, &[], "true").ok();
        assert_eq!(world.states(), left, "{script}");
    }
}

#[test]
fn two_runs_on_one_tree_conflict_only_where_both_changed() {
    let world = project();
    let first = "echo first >one; echo first >both; echo in; read go";
    let mut command = world.endow(["run", "--", "sh", "-c", first]);
    let mut running = Running::start(command.stdin(Stdio::piped()));
    running.expect("in");
    run(&world, &[], "echo second >two; echo second >both; echo second >dir/inner").ok();
    running.say("\n");
    assert_eq!(running.end(), 121);
    let contents = ["one", "two", "both", "dir/inner"].map(|name| world.read(name));
    assert_eq!(contents, ["first\n", "second\n", "second\n", "second\n"]);
}

#[test]
fn single_file_is_written_back() {
    let world = World::new();
    let file = world.write("data/file", "host\n");
    world.write("data/other", "other\n");
    let at = file.display().to_string();
    run(&world, &["--cow", &at], &format!("echo guest >{at}")).ok();
    assert_eq!(fs::read_to_string(&file).expect("there"), "guest\n");
}

#[test]
fn layer_in_memory_is_written_back() {
    let world = project();
    let root = world.root().display().to_string();
    let script = format!("echo guest >{root}/made; echo guest >>{root}/home/project/file");
    run(&world, &["--cow", &root], &script).ok();
    assert_eq!(fs::read_to_string(world.root().join("made")).expect("there"), "guest\n");
    assert_eq!(world.read("file"), "host\nguest\n");
}

#[test]
fn layer_in_memory_waits_on_the_disk() {
    let world = project();
    let root = world.root().display().to_string();
    let script = format!(
        "set -e; cd {root}; echo guest >made; echo guest >>home/project/file; mkfifo pipe
        rm -r home/project/dir/sub; rm home/project/link; mkdir -m 000 closed; mkdir -p d/e
        echo x >d/e/one; ln d/e/one d/other; truncate -s 1M d/hole; chmod 000 d/e/one; ln -s d to"
    );
    run(&world, &["--cow", &root, "--sync", "review"], &script).ok();
    assert!(!world.root().join("made").exists());
    assert_eq!((world.read("file"), world.states()), ("host\n".into(), vec!["waiting".into()]));
    let diff = said(&mut world.endow(["diff", "--name-status"]));
    let lines = [format!("A\t{}/d/other", &root[1..]), "M\tfile".into(), "D\tlink".into()];
    for line in lines {
        assert!(diff.ok().lines().any(|it| it == line), "{line}: {}", diff.stdout);
    }
    said(&mut world.endow(["apply"])).fails(121);
    assert_eq!(world.read("file"), "host\nguest\n");
    let at = |name: &str| fs::metadata(world.root().join(name)).expect("there");
    assert_eq!(at("d/other").ino(), at("d/e/one").ino());
    assert_eq!((at("d/other").mode() & 0o777, at("closed").mode() & 0o777), (0, 0));
    assert!(at("d/hole").blocks() == 0 && at("d/hole").len() == 1 << 20);
    assert!(!world.project().join("dir/sub").exists() && !world.project().join("link").exists());
    assert_eq!(world.states(), ["waiting"], "the FIFO still waits");
    let diff = said(&mut world.endow(["diff", "--name-status"]));
    assert_eq!(diff.ok(), format!("A\t{}/pipe\n", &root[1..]));
    said(&mut world.endow(["undo"])).ok();
    assert_eq!(world.read("dir/sub/deep"), "deep\n");
}

#[test]
fn layer_in_memory_is_kept_when_the_command_fails() {
    let world = project();
    let root = world.root().display().to_string();
    let script = format!("echo guest >{root}/made; exit 3");
    let said_of = run(&world, &["--cow", &root, "--sync", "apply-ok"], &script);
    assert_eq!((said_of.code, world.states()), (3, vec!["waiting".into()]));
    said(&mut world.endow(["apply"])).ok();
    assert_eq!(fs::read_to_string(world.root().join("made")).expect("there"), "guest\n");
}

#[test]
fn layer_in_memory_keeps_only_what_was_refused() {
    let world = project();
    let root = world.root().display().to_string();
    let script = format!("echo guest >{root}/made; mkfifo {root}/pipe; rm -r dir");
    run(&world, &["--cow", &root], &script).fails(121);
    assert_eq!(fs::read_to_string(world.root().join("made")).expect("there"), "guest\n");
    assert_eq!((world.states(), layer(&world)), (vec!["waiting".into()], vec!["pipe".into()]));
    said(&mut world.endow(["undo"])).ok();
    assert!(!world.root().join("made").exists());
    assert_eq!(world.read("dir/inner"), "inner\n");
}

/// Limits how much endow may write into one file, as a disk that is full would; the command's
/// files are written by then.
fn end_with_little_room(world: &World, options: &[&str], script: &str, room: u64) -> i32 {
    let script = format!("{script}; echo in; read go");
    let mut command = world.command("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]).arg(endow()).arg("run").args(options);
    command.args(["--", "sh", "-c", &script]).stdin(Stdio::piped());
    let mut running = Running::start(&mut command);
    running.expect("in");
    let limit = rustix::process::Rlimit { current: Some(room), maximum: Some(room) };
    let resource = rustix::process::Resource::Fsize;
    rustix::process::prlimit(Some(pid(running.pid())), resource, limit).expect("a limit");
    running.say("\n");
    running.end()
}

#[test]
fn layer_in_memory_that_does_not_fit_is_told_to_be_lost() {
    let world = project();
    let root = world.root().display().to_string();
    let script = format!("head -c 1M /dev/urandom >{root}/large");
    let report = world.root().join("report.json").display().to_string();
    let options = ["--cow", &root, "--sync", "review", "--report", &report];
    assert_eq!(end_with_little_room(&world, &options, &script, 64 << 10), 121);
    world.assert_no_run_left();
    let report: Value =
        serde_json::from_str(&fs::read_to_string(&report).expect("a report")).expect("json");
    assert_eq!(report["sync"]["lost"][0]["path"], root);
    let reason = report["sync"]["lost"][0]["reason"].as_str().expect("a text");
    assert!(reason.starts_with("can't copy: large: "), "{reason}");
    assert_eq!(report["sync"]["state"], Value::Null);
}

#[test]
fn record_that_can_not_be_written_leaves_the_changes() {
    let world = project();
    let options = ["--sync", "review"];
    assert_eq!(end_with_little_room(&world, &options, "echo guest >file", 64), 125);
    assert_eq!(world.states(), ["running"], "and nobody runs it");
    said(&mut world.endow(["apply"])).ok();
    assert_eq!(world.read("file"), "guest\n");
}

/// The layer, by names.
fn layer(world: &World) -> Vec<String> {
    let script = "cd $ENDOW_STATE_DIR/runs/*/layers/000/m000/upper && find . -mindepth 1 | sort";
    world.bare(script).ok().lines().map(|line| line[2..].to_owned()).collect()
}

#[test]
fn layer_lets_go_of_what_was_written_back() {
    let world = project();
    world.write("home/project/old/one", "one\n");
    world.write("home/project/old/two", "two\n");
    world.write("home/project/old/sub/three", "three\n");
    let before = tree(&world);
    let script =
        "echo guest >>file; rm -r dir; mkdir -p new/sub; echo x >new/sub/a; mkfifo new/pipe
        rm -r old; mkdir old; echo x >old/one; echo x >old/fresh; rm link; echo x >endow.toml
        chmod 500 new/sub; touch -d @1000000000 new old .";
    run(&world, &[], script).fails(121);
    assert_eq!(world.states(), ["waiting"]);
    let linked = "find . -type f -links +1";
    assert_eq!(world.bare(linked).ok(), "", "what the layer still holds");
    assert_eq!(layer(&world), ["endow.toml", "new", "new/pipe"]);
    assert_eq!((world.read("old/one"), world.read("old/two")), ("x\n".into(), "absent".into()));
    let left = said(&mut world.endow(["diff", "--name-status"]));
    assert_eq!(left.ok(), "A\tendow.toml\nA\tnew/pipe\n");
    said(&mut world.endow(["apply", "endow.toml"])).ok();
    assert_eq!(layer(&world), ["new", "new/pipe"]);
    assert_eq!((world.bare(linked).ok(), world.read("endow.toml")), ("", "x\n".into()));
    said(&mut world.endow(["undo"])).ok();
    assert_eq!(tree(&world), before);
    assert_eq!(world.states(), ["waiting"], "the FIFO");
}

#[test]
fn layer_hides_by_name_what_is_still_to_go() {
    let world = project();
    for name in ["one", "two", "three"] {
        world.write(format!("home/project/old/{name}"), "host\n");
    }
    let script = "rm -r old; mkdir old; echo guest >old/one; echo guest >old/new; echo in; read go";
    let mut command = world.endow(["run", "--", "sh", "-c", script]);
    let mut running = Running::start(command.stdin(Stdio::piped()));
    running.expect("in");
    world.write("home/project/old/two", "outside\n");
    running.say("\n");
    assert_eq!(running.end(), 121);
    let names = ["one", "two", "three", "new"].map(|name| world.read(&format!("old/{name}")));
    assert_eq!(names, ["guest\n", "outside\n", "absent", "guest\n"]);
    assert_eq!(layer(&world), ["old", "old/two"]);
    world.write("home/project/old/later", "host\n");
    assert_eq!(said(&mut world.endow(["diff", "--name-status"])).ok(), "D\told/two\n");
    said(&mut world.endow(["apply", "--on-conflict", "guest"])).ok();
    assert_eq!(
        (world.read("old/two"), world.read("old/later")),
        ("absent".into(), "host\n".into())
    );
    said(&mut world.endow(["undo"])).ok();
    let names = ["one", "two", "three", "new"].map(|name| world.read(&format!("old/{name}")));
    assert_eq!(names, ["host\n", "outside\n", "host\n", "absent"]);
}

#[test]
fn link_on_the_way_to_a_protected_name_is_held() {
    let world = project();
    let script =
        "mkdir c g; echo evil >c/config.toml; ln -s c .cargo; ln -s g .github; ln -s c .config
        ln -s dir fine";
    let (said, report) = reported(&world, &[], script);
    said.ok();
    assert_eq!(report["sync"]["held"].as_array().expect("a list").len(), 3, "{report}");
    assert!(world.project().join("fine").exists());
    for name in [".cargo", ".github", ".config"] {
        assert!(fs::symlink_metadata(world.project().join(name)).is_err(), "{name}");
    }
}

#[test]
fn link_that_leads_out_by_another_link_is_held() {
    let world = project();
    world.write("home/outside/secret", "secret\n");
    let script =
        "mkdir -p a/b/c; ln -s ../../.. a/b/c/d; ln -s a/b/c/d/../outside l; ln -s ../dir a/in";
    let (said, report) = reported(&world, &[], script);
    said.ok();
    let held = report["sync"]["held"].as_array().expect("a list");
    assert_eq!(held.len(), 1, "{held:?}");
    assert!(fs::symlink_metadata(world.project().join("l")).is_err());
    assert!(world.project().join("a/in").exists());
}

#[test]
fn directory_above_releases_nothing_that_is_held() {
    let script = "mkdir -p .git/hooks src .husky; rm -rf sub; echo x >.git/hooks/post-commit
        echo x >src/.envrc; echo x >src/plain; echo x >.husky/pre-commit";
    let made = || {
        let world = project();
        world.write("home/project/sub/.env", "secret\n");
        world.write("home/project/sub/plain", "plain\n");
        run(&world, &["--sync", "review"], script).ok();
        world
    };
    let held = [".git/hooks/post-commit", "src/.envrc", ".husky/pre-commit"];
    let rows: &[(&str, &[&str])] = &[
        (".", &[]),
        ("..", &[]),
        ("src", &[]),
        (".git", &[]),
        (".git/hooks", &[".git/hooks/post-commit"]),
        (".git/hooks/post-commit", &[".git/hooks/post-commit"]),
        (".husky", &[".husky/pre-commit"]),
        ("src/.envrc", &["src/.envrc"]),
    ];
    for (named, released) in rows {
        let world = made();
        said(&mut world.endow(["apply", named]));
        for name in held {
            let expected = if released.contains(&name) { "x\n" } else { "absent" };
            assert_eq!(world.read(name), expected, "{named}: {name}");
        }
        assert_eq!(world.read("sub/.env"), "secret\n", "{named}");
        assert_eq!(world.states(), ["waiting"], "{named}");
    }
    let world = made();
    said(&mut world.endow(["apply", "."])).ok();
    assert_eq!([world.read("src/plain"), world.read("sub/plain")], ["x\n", "absent"]);
}
