//! What is granted works at its own path; what is not stays closed, though it is there.

use super::{IN_PLACE, run};
use crate::escape::prober::{inside, outside};
use crate::harness::World;

const CHANGE: &str = include_str!("../escape/probes/change.py");

/// Changes of modes, owners, times and attributes, which no rule of Landlock is about.
const METADATA: &[&str] =
    &["chmod", "chmod-handle", "fchmodat2", "chown", "lchown", "utimes", "setxattr", "flags"];

fn tree(world: &World, name: &str) -> String {
    world.write(format!("{name}/file"), "content");
    world.write(format!("{name}/sub/other"), "other");
    let tree = world.root().join(name);
    std::os::unix::fs::symlink("file", tree.join("link")).expect("a link");
    tree.display().to_string()
}

#[test]
fn workspace_is_writable_and_programs_start() {
    let world = World::new();
    world.write("home/project/file", "content\n");
    let script = "cat file; echo new >made; mkdir d; mv made d/; cat d/made; pwd -P";
    let project = world.project().canonicalize().expect("a project");
    let expected = format!("content\nnew\n{}\n", project.display());
    assert_eq!(run(&world, &[], script).ok(), expected);
    assert_eq!(std::fs::read_to_string(project.join("d/made")).expect("live"), "new\n");
    world.assert_no_run_left();
}

#[test]
fn what_is_not_granted_can_neither_be_read_nor_listed() {
    let world = World::new();
    let secret = world.write("home/secret", "secret\n");
    let script = |path: &str| format!("cat {path}");
    let path = secret.display().to_string();
    assert_eq!(world.bare(&script(&path)).ok(), "secret\n");
    let said = run(&world, &[], &script(&path));
    assert!(said.fails(1).contains("Permission denied"), "{}", said.stderr);
    for place in ["/", "/etc", "/proc", "/dev", "/tmp", "~", "/proc/self", "/run"] {
        world.bare(&format!("ls {place}")).ok();
        let said = run(&world, &[], &format!("ls {place}"));
        assert!(said.fails(2).contains("Permission denied"), "{place}: {}", said.stderr);
    }
    assert_eq!(run(&world, &["--ro", &path], &script(&path)).ok(), "secret\n");
}

#[test]
fn devices_and_the_kernels_own_files_work() {
    let world = World::new();
    let script = "head -c 4 /dev/urandom | wc -c; echo gone >/dev/null; nproc >/dev/null; \
                  grep -c MemTotal /proc/meminfo; cat /proc/sys/kernel/ostype; cat <(echo fd)";
    let mut command = world.endow(IN_PLACE);
    command.args(["--", "bash", "-c", script]);
    assert_eq!(crate::harness::said(&mut command).ok(), "4\n1\nLinux\nfd\n");
}

#[test]
fn read_only_grant_keeps_its_content() {
    let world = World::new();
    let (outer, inner) = (tree(&world, "outer"), tree(&world, "inner"));
    let control = outside(&world, CHANGE, &[&outer]);
    control.succeed(&["write", "append", "truncate", "create", "rename", "mkfifo", "rmdir"]);
    let options = ["--require", "landlock", "--ro", &inner];
    let mut attempts = inside(&world, &options, CHANGE, &[&inner]);
    for name in METADATA {
        attempts = attempts.but(name);
    }
    for name in ["link-in", "rename-out"] {
        let said = attempts.get(name).to_owned();
        assert!(["EXDEV", "EACCES"].contains(&said.as_str()), "{name} {said}");
        attempts = attempts.but(name);
    }
    attempts.all("EACCES");
    let read = |name: &str| std::fs::read_to_string(format!("{inner}/{name}")).expect("there");
    assert_eq!((read("file"), read("sub/other")), ("content".to_owned(), "other".to_owned()));
}

#[test]
fn temporary_files_have_a_directory_of_the_runs_own() {
    let world = World::new();
    let script = "echo text >$TMPDIR/file; cat $TMPDIR/file; mktemp >/dev/null && echo $TMPDIR";
    let said = run(&world, &[], script);
    let mut lines = said.ok().lines();
    assert_eq!(lines.next(), Some("text"));
    let place = std::path::Path::new(lines.next().expect("a directory"));
    assert!(place.starts_with(world.state().canonicalize().expect("a state")), "{place:?}");
    assert!(!place.exists());
    world.assert_no_run_left();
}

#[test]
fn noexec_grant_starts_no_program() {
    let world = World::new();
    let tool = world.write("tools/tool", "#!/bin/sh\necho started\n");
    let script = format!("chmod 755 {0}; {0}", tool.display());
    assert_eq!(world.bare(&script).ok(), "started\n");
    let tools = world.root().join("tools").display().to_string();
    run(&world, &["--ro", &format!("{tools}={tools},noexec")], &script).fails(126);
    assert_eq!(run(&world, &["--ro", &tools], &script).ok(), "started\n");
}

#[test]
fn streams_that_are_files_can_be_opened_again() {
    let world = World::new();
    let (out, err) = (world.root().join("out"), world.root().join("err"));
    let file = |path| std::fs::File::create(path).expect("a file");
    let mut command = world.endow(IN_PLACE);
    command.args(["--", "sh", "-c", "echo one >/dev/stdout; echo two >/dev/stderr"]);
    assert!(command.stdout(file(&out)).stderr(file(&err)).status().expect("starts").success());
    let read = |path| std::fs::read_to_string(path).expect("read");
    assert_eq!((read(&out).as_str(), read(&err).as_str()), ("one\n", "two\n"));
}

#[test]
fn environment_and_limits_hold() {
    let world = World::new();
    let mut command = world.endow([IN_PLACE, &["--open-files", "64"]].concat());
    command.args(["--", "sh", "-c", "echo ${API_TOKEN-none}; ulimit -n; ulimit -c"]);
    let said = crate::harness::said(command.env("API_TOKEN", "secret"));
    assert_eq!(said.ok(), "none\n64\n0\n");
    run(&world, &["--timeout", "200ms", "--grace", "100ms"], "sleep 60").fails(124);
}

#[test]
fn report_and_plan_name_the_level() {
    let world = World::new();
    let report = world.root().join("report.json");
    let said = run(&world, &["--report", &report.display().to_string()], "true");
    said.ok();
    let text = std::fs::read_to_string(&report).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&text).expect("json");
    let enforcement = &report["enforcement"];
    assert_eq!(enforcement["level"], "landlock");
    assert_eq!(enforcement["namespaces"], serde_json::json!([]));
    assert_eq!(enforcement["landlock"]["status"], "enforced");
    let plan =
        crate::harness::said(&mut world.endow(["plan", "--require", "landlock", "--", "true"]));
    assert!(plan.ok().starts_with("level   landlock\n"), "{}", plan.stdout);
}

#[test]
fn why_answers_as_the_kernel_does() {
    let world = World::new();
    let secret = world.write("home/secret", "secret").display().to_string();
    world.write("home/project/file", "content");
    let all = [
        ("read", secret.as_str(), "denied", "--ro"),
        ("write", secret.as_str(), "denied", "--rw"),
        ("read", "file", "allowed", ""),
        ("write", "new", "allowed", ""),
        ("write", "/usr/bin/env", "denied", ""),
        ("read", "/nonesuch", "absent", ""),
        ("read", "/etc", "denied", "--ro"),
        ("connect", "/run/socket", "denied", ""),
        ("read", "/dev/null", "allowed", ""),
    ];
    for (operation, path, verdict, remedy) in all {
        let arguments = ["why", "--require", "landlock", "--verify", "--to", operation, path];
        let said = crate::harness::said(&mut world.endow(arguments));
        assert!(said.stdout.starts_with(verdict), "{operation} {path}: {said:?}");
        assert!(said.stdout.contains(", as answered"), "{operation} {path}: {said:?}");
        assert!(said.stdout.contains(remedy), "{operation} {path}: {said:?}");
    }
    let said =
        crate::harness::said(&mut world.endow(["why", "--require", "landlock", "127.0.0.1:80"]));
    assert!(said.fails(1).is_empty() && said.stdout.contains("EAFNOSUPPORT"), "{said:?}");
}
