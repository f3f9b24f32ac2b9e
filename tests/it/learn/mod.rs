//! `endow learn`: what a command asked for becomes lines of a policy, and nothing else of it remains.

mod hostile;
mod paths;
mod trimmed;

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use serde_json::Value;

use crate::harness::{Said, World, said};

/// Learns from a script of the shell.
fn learn(world: &World, options: &[&str], script: &str) -> Said {
    let mut command = world.endow(["learn"]);
    said(command.args(options).args(["--", "sh", "-c", script]))
}

fn policy(world: &World) -> String {
    fs::read_to_string(world.project().join("endow.toml")).unwrap_or_default()
}

fn trust(world: &World) {
    said(&mut world.endow(["trust", "--yes"])).ok();
}

/// Every file below a directory, with its bytes.
fn all(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let name = path.display().to_string();
            if path.is_dir() {
                found.push((name, Vec::new()));
                open.push(path);
            } else {
                found.push((name, fs::read(&path).unwrap_or_default()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn hosts_are_proposed_and_nothing_is_done() {
    let world = World::new();
    world.write("home/project/file", "host\n");
    let before = all(&world.home());
    let script = "echo changed > file; echo made > new; getent hosts a.example.com; echo said";
    let learned = learn(&world, &[], script);
    let diff = learned.ok();
    assert!(
        diff.starts_with("diff --git a/endow.toml b/endow.toml\nnew file mode 100644\n"),
        "{diff}"
    );
    assert!(diff.contains("\n+[network]\n+allow = [\"a.example.com\"]\n"), "{diff}");
    assert!(!diff.contains("said") && learned.stderr.contains("said\n"), "{learned:?}");
    assert_eq!(all(&world.home()), before);
    world.assert_no_run_left();
}

#[test]
fn proposal_is_a_patch() {
    let world = World::new();
    let text = "# Ours.\nversion = 1\n\n[limits] # theirs\ntimeout = \"9m\"\n";
    world.write("home/project/endow.toml", text);
    world.bare("git init -q .").ok();
    world.write("home/project/sub/file", "");
    let script = "cd sub && getent hosts a.example.com || :";
    let diff = learn(&world, &[], script).ok().to_owned();
    let patch = world.write("patch", &diff);
    world.bare(&format!("git apply {}", patch.display())).ok();
    assert_eq!(policy(&world), format!("{text}\n[network]\nallow = [\"a.example.com\"]\n"));
    trust(&world);
    let again = learn(&world, &[], "getent hosts a.example.com || :");
    assert_eq!(again.ok(), "");
    assert!(again.stderr.contains("nothing is missing"), "{}", again.stderr);
}

#[test]
fn runs_add_up_until_they_are_forgotten() {
    let world = World::new();
    learn(&world, &[], "getent hosts a.example.com").ok();
    let both = learn(&world, &[], "getent hosts b.example.com; exit 7");
    assert!(
        both.ok().contains("allow = [\"a.example.com\", \"b.example.com\"]"),
        "{}",
        both.stdout
    );
    assert!(both.stderr.contains("the command ended with 7"), "{}", both.stderr);
    let json = said(&mut world.endow(["learn", "--json"]));
    let told: Value = serde_json::from_str(json.ok()).expect("JSON");
    assert_eq!((&told["runs"], &told["outcome"]), (&Value::from(2), &Value::Null));
    assert_eq!(told["lines"][1]["line"], "\"b.example.com\"");
    assert_eq!(told["lines"][1]["danger"], Value::Null);
    let forgot = said(&mut world.endow(["learn", "--forget"]));
    assert_eq!(forgot.ok(), "forgot what 2 runs of this project asked for\n");
    let nothing = said(&mut world.endow(["learn"]));
    assert_eq!(nothing.ok(), "");
    assert!(nothing.stderr.contains("nothing is known yet"), "{}", nothing.stderr);
}

#[test]
fn projects_learn_apart() {
    let world = World::new();
    learn(&world, &[], "getent hosts a.example.com").ok();
    world.write("home/other/file", "");
    let mut other = world.endow(["learn"]);
    assert_eq!(said(other.current_dir(world.home().join("other"))).ok(), "");
}

#[test]
fn written_only_when_asked_for() {
    let world = World::new();
    learn(&world, &[], "getent hosts a.example.com").ok();
    assert_eq!(policy(&world), "");
    let wrote = said(&mut world.endow(["learn", "--write"]));
    assert!(
        wrote.ok().starts_with("wrote ") && wrote.stderr.contains("`endow trust`"),
        "{wrote:?}"
    );
    assert!(policy(&world).contains("allow = [\"a.example.com\"]\n"), "{}", policy(&world));
    // Nobody has accepted it yet.
    learn(&world, &[], "true").fails(120);
    trust(&world);
    let again = said(&mut world.endow(["learn", "--write"]));
    assert_eq!(again.ok(), "");
    assert!(again.stderr.contains("nothing is missing"), "{}", again.stderr);
}

#[test]
fn file_that_changes_meanwhile_is_left_alone() {
    let world = World::new();
    let text = "version = 1\n";
    let file = world.write("home/project/endow.toml", text);
    let other = format!("cat > {} <<E\nversion = 1\n# Mine.\nE\n", file.display());
    learn(&world, &[], "getent hosts a.example.com").ok();
    // Between the reading and the writing the user's registries are asked: here by a tool that edits.
    let tool = world.write("bin/npm", &format!("#!/bin/sh\n{other}"));
    world.bare(&format!("chmod +x {}", tool.display())).ok();
    let path = format!("{}:/usr/bin:/bin", tool.parent().expect("a parent").display());
    let wrote = said(world.endow(["learn", "--write"]).env("PATH", path));
    assert!(wrote.fails(2).contains("the file has changed"), "{}", wrote.stderr);
    assert_eq!(policy(&world), "version = 1\n# Mine.\n");
}

#[test]
fn special_addresses_are_comments() {
    let world = World::new();
    let connect =
        "bash -c 'echo > /dev/tcp/169.254.169.254/80'; bash -c 'echo > /dev/tcp/10.0.0.1/5432'";
    let diff = learn(&world, &[], connect);
    for comment in ["+    #\"10.0.0.1:5432\",  # ", "+    #\"169.254.169.254:80\",  # "] {
        assert!(diff.ok().contains(comment), "{diff:?}");
    }
    let json = said(&mut world.endow(["learn", "--json"]));
    let told: Value = serde_json::from_str(json.ok()).expect("JSON");
    assert!(told["lines"].as_array().expect("lines").iter().all(|line| line["danger"].is_string()));
}

/// Where nothing listens outside, the sandbox's own loopback was meant.
#[test]
fn service_of_the_machine_is_a_comment() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let port = listener.local_addr().expect("an address").port();
    let connect = |port: u16| format!("bash -c 'echo > /dev/tcp/127.0.0.1/{port}' || :");
    let nobody = learn(&world, &[], &connect(1));
    assert_eq!(nobody.ok(), "");
    assert!(nobody.stderr.contains("nothing is missing, without a policy file"), "{nobody:?}");
    let diff = learn(&world, &[], &connect(port));
    let comment = format!("+    #\"localhost:{port}\",  # ");
    assert!(diff.ok().contains(&comment) && !diff.stderr.contains("not proposed"), "{diff:?}");
    let granted = format!("version = 1\n[network]\nallow = [\"localhost:{port}\"]\n");
    world.write("home/project/endow.toml", &granted);
    trust(&world);
    let again = said(&mut world.endow(["learn"]));
    assert_eq!(again.ok(), "");
    assert!(again.stderr.contains("endow.toml"), "{again:?}");
}

#[test]
fn what_could_not_start_is_said_as_by_run() {
    let world = World::new();
    let mut command = world.endow(["learn", "--", "no-such-command"]);
    assert!(said(&mut command).fails(127).contains("no-such-command"));
    let mut command = world.endow(["learn", "--require", "landlock", "--", "true"]);
    said(&mut command).fails(122);
    let mut command = world.endow(["learn", "--no-such-flag"]);
    said(&mut command).fails(2);
}
