//! `endow trust`, and project files that were not accepted.

use std::fs;

use serde_json::Value;

use crate::harness::{Pty, Said, World, said};

const GRANTING: &str = "version = 1\n[mounts]\n\"/data\" = { host = \"/usr/share\" }\n";

fn trust(world: &World, arguments: &[&str]) -> Said {
    said(world.endow(["trust"]).args(arguments))
}

#[test]
fn untrusted_grants_end_the_run_with_file_and_line() {
    let world = World::new();
    let file = world.write("home/project/endow.toml", GRANTING);
    let said = world.run(&["--workspace", "rw"], "touch started");
    let error = said.fails(120);
    assert!(
        error.contains(&format!(
            "{}:3: grants mounts.\"/data\" (ro host=\"/usr/share\")",
            file.display()
        )),
        "{error}"
    );
    assert!(error.contains("hint: read it, then accept it with `endow trust`"), "{error}");
    assert!(!world.project().join("started").exists());
    world.run(&["--workspace", "rw", "--no-policy"], "true").ok();
}

#[test]
fn narrowing_file_needs_no_trust() {
    let world = World::new();
    world.write("home/project/endow.toml", "version = 1\n[deny]\npatterns = [\"plain\"]\n");
    world.write("home/project/plain", "content");
    world.run(&["--workspace", "ro"], "cat plain").fails(1);
    assert!(trust(&world, &[]).ok().contains("grants nothing"));
}

/// A file is measured where it holds, wherever it is named from.
#[test]
fn file_that_is_named_is_measured_by_its_own_directory() {
    let world = World::new();
    world.write("home/project/sib/secret", "secret");
    world.write("home/project/evil/endow.toml", "version = 1\n[mounts]\n\"..\" = \"cow\"\n");
    let named = trust(&world, &["evil/endow.toml"]);
    assert!(named.fails(120).contains("nobody can be asked"), "{}", named.stderr);
    assert!(named.stdout.contains("grants mounts.\"..\" (cow)"), "{}", named.stdout);
    assert!(!named.stderr.contains("grants mounts"), "once: {}", named.stderr);
    let mut inside = world.endow(["--", "cat", "../sib/secret"]);
    said(inside.current_dir(world.project().join("evil"))).fails(120);
}

/// Who can't be asked is told what it is about.
#[test]
fn grants_are_in_the_object_of_an_unanswered_question() {
    let world = World::new();
    world.write("home/project/endow.toml", GRANTING);
    let said = trust(&world, &["--json"]);
    said.fails(120);
    let said: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let cause = said["error"]["causes"][0].as_str().expect("a cause");
    assert!(cause.ends_with("endow.toml:3: grants mounts.\"/data\" (ro host=\"/usr/share\")"));
}

/// What no run reads can't be accepted.
#[test]
fn file_of_another_name_is_refused() {
    let world = World::new();
    world.write("home/project/policy.toml", GRANTING);
    let said = trust(&world, &["--yes", "policy.toml"]);
    assert!(said.fails(2).contains("`-p FILE` takes a file of any name"), "{}", said.stderr);
    assert_eq!(said.stdout, "");
}

/// The file is weaker than the flags, and takes nothing of theirs back by standing in the workspace's place.
#[test]
fn flags_that_narrow_hold_beside_a_projects_file() {
    let world = World::new();
    let (ro, live) = (["--workspace", "ro"], ["--workspace", "rw"]);
    world.run(&ro, "echo x >made").fails(2);
    world.write("home/project/endow.toml", "version = 1\n[mounts]\n\".\" = \"cow\"\n");
    let refused = world.run(&ro, "echo x >made");
    assert!(refused.fails(120).contains("grants mounts.\".\" (cow)"), "{}", refused.stderr);
    world.run(&["--workspace", "none", "--chdir", "/"], "true").fails(120);
    world.run(&live, "true").ok();
    assert!(trust(&world, &[]).ok().contains("grants nothing"));
    world.run(&ro, "true").fails(120);
    assert!(trust(&world, &["--yes"]).ok().contains("trusted"));
    world.run(&ro, "true").ok();
}

#[test]
fn trust_is_asked_for_and_ends_with_the_next_change() {
    let world = World::new();
    let file = world.write("home/project/endow.toml", GRANTING);
    let refused = trust(&world, &[]);
    assert!(refused.fails(120).contains("endow trust --yes"), "{}", refused.stderr);
    assert!(
        refused.stdout.contains("grants mounts.\"/data\" (ro host=\"/usr/share\")"),
        "{}",
        refused.stdout
    );
    let json = trust(&world, &["--yes", "--json"]);
    let said: Value = serde_json::from_str(json.ok()).expect("JSON");
    assert_eq!(said["trusted"], true);
    assert_eq!(said["grants"][0]["what"], "mounts.\"/data\" (ro host=\"/usr/share\")");
    world.run(&["--workspace", "rw"], "test -d /data").ok();
    assert!(trust(&world, &[]).ok().contains("trusted already"));
    fs::write(&file, format!("{GRANTING}\"/more\" = {{ host = \"/usr/lib\" }}\n"))
        .expect("written");
    world.run(&["--workspace", "rw"], "true").fails(120);
}

/// Who is asked sees what is granted, wherever data goes, and answers in a word of any case.
#[test]
fn who_is_asked_has_seen_what_is_granted() {
    for (answer, code) in [("YES\n", 0), ("\u{4}", 120), ("\u{4}x", 120)] {
        let world = World::new();
        world.write("home/project/endow.toml", GRANTING);
        let mut command = world.command("sh");
        command.args(["-c", "exec \"$E\" trust >/dev/null"]).env("E", crate::harness::endow());
        let mut pty = Pty::start(&command);
        pty.expect("grants mounts.\"/data\"");
        pty.expect("endow.toml as it is now? [y/N]");
        pty.type_in(answer);
        if answer.ends_with('x') {
            pty.type_in("\n");
        }
        let (ended, shown) = pty.end();
        assert_eq!(ended, code, "{shown}");
    }
}

#[test]
fn somebody_elses_file_is_nobodys_word() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let file = world.write("home/project/endow.toml", GRANTING);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("a mode");
    assert!(trust(&world, &["--yes"]).fails(120).contains("not yours alone"));
    world.run(&["--workspace", "rw"], "true").fails(120);
}

#[test]
fn policy_file_of_a_live_workspace_is_read_only() {
    let world = World::new();
    let file = world.write("home/project/endow.toml", GRANTING);
    trust(&world, &["--yes"]).ok();
    let script =
        "echo '# more' >> endow.toml; rm -f endow.toml; mv endow.toml other; echo x > new; true";
    world.run(&["--workspace", "rw"], script).ok();
    assert_eq!(fs::read_to_string(file).expect("still there"), GRANTING);
    assert!(world.project().join("new").exists());
    assert!(!world.project().join("other").exists());
}

#[test]
fn policy_file_made_inside_counts_for_nothing() {
    let world = World::new();
    let script = format!("cat > endow.toml <<'E'\n{GRANTING}E");
    world.run(&["--workspace", "rw"], &script).ok();
    assert!(!world.project().join("endow.toml").exists());
    world.run(&["--workspace", "rw"], "ls /data").fails(2);
    // Where it may be made it still grants nothing.
    world.run(&["--workspace", "rw", "--unprotect", "endow.toml"], &script).ok();
    world.run(&["--workspace", "rw"], "true").fails(120);
}
