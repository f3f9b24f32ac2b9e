//! `endow trust`, and project files that were not accepted.

use std::fs;

use serde_json::Value;

use crate::harness::{Said, World, said};

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
