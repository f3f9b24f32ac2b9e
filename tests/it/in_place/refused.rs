//! What level `landlock` does not have is refused entry by entry, before anything starts.

use super::run;
use crate::harness::{Said, World};

#[track_caller]
fn refuses(world: &World, options: &[&str], words: &[&str]) -> Said {
    let said = run(world, options, "echo started");
    said.fails(122);
    assert_eq!(said.stdout, "");
    for word in words {
        assert!(said.stderr.contains(word), "{options:?}: {word} is not in {}", said.stderr);
    }
    said
}

#[test]
fn each_entry_that_needs_a_mount_is_named() {
    let world = World::new();
    let said = refuses(
        &world,
        &["--ro", "/data=/usr", "--tmp", "/scratch", "--hostname", "box", "--allow", "io-uring"],
        &["/data: /usr", "--ro /data=/usr", "/scratch: memory", "--hostname box", "io-uring"],
    );
    assert_eq!(said.stderr.matches("cause:").count(), 4, "{}", said.stderr);
    world.assert_no_run_left();
}

#[test]
fn words_that_open_a_way_past_the_filter_are_refused() {
    let world = World::new();
    for word in ["userns", "io-uring", "foreign-arch", "raw-sockets"] {
        refuses(&world, &["--allow", word], &[&format!("--allow {word}")]);
    }
    run(&world, &["--allow", "personality"], "true").ok();
}

#[test]
fn hosts_and_ports_need_a_network_of_the_run() {
    let world = World::new();
    let options =
        ["--net", "example.com:443", "--net", "localhost:80", "--publish", "3000", "--proxy", "1"];
    let said = refuses(
        &world,
        &options,
        &["--net example.com:443: ", "--net localhost:80: ", "--publish 3000", "--proxy 1: "],
    );
    assert_eq!(said.stderr.matches("cause:").count(), 4, "{}", said.stderr);
    run(&world, &["--net", "example.com", "--net", "none"], "true").ok();
}

#[test]
fn less_within_more_is_refused_and_more_within_less_is_not() {
    let world = World::new();
    world.write("tree/sub/file", "content");
    let tree = world.root().join("tree").display().to_string();
    let sub = format!("{tree}/sub");
    let said = refuses(&world, &["--rw", &tree, "--ro", &sub], &["(ro) lies in", "(rw)"]);
    assert!(said.stderr.contains(&format!("--ro {sub}")), "{}", said.stderr);
    let noexec = format!("{sub}={sub},noexec");
    refuses(&world, &["--ro", &tree, "--ro", &noexec], &["(ro,noexec) lies in"]);
    let script = format!("echo new >{sub}/file && ! echo new 2>/dev/null >{tree}/file");
    run(&world, &["--ro", &tree, "--rw", &sub], &script).ok();
}

#[test]
fn hidden_name_in_a_grant_is_refused() {
    let world = World::new();
    world.write("home/project/.env", "SECRET=1");
    refuses(&world, &[], &["project/.env", "`deny` .env", "profile base"]);
    refuses(&world, &["--workspace", "ro"], &["project/.env"]);
    run(&world, &["--deny", "!.env"], "cat .env").ok();
}

#[test]
fn credential_in_settings_of_a_grant_is_refused() {
    let world = World::new();
    let script = "git init -q; git config http.extraHeader 'AUTHORIZATION: basic canary'";
    world.bare(script).ok();
    for workspace in ["rw", "ro"] {
        let settings = "project/.git/config: the credential in it";
        refuses(&world, &["--workspace", workspace], &[settings, "`nodeny`"]);
    }
    let shown = run(&world, &["--unprotect", "**/.git/config"], "cat .git/config");
    assert!(shown.ok().contains("canary"), "asked for");
    world.bare("git config --unset http.extraHeader").ok();
    run(&world, &[], "true").ok();
}

#[test]
fn endows_own_directories_are_never_open() {
    let world = World::new();
    let root = world.root().display().to_string();
    std::fs::create_dir_all(world.state()).expect("a state");
    refuses(&world, &["--rw", &root, "--no-default-deny"], &["endow's own"]);
}

#[test]
fn policy_file_of_a_writable_workspace_needs_a_word() {
    let world = World::new();
    world.write("home/project/endow.toml", "version = 1\n");
    refuses(&world, &[], &["can't enforce: protect", "endow.toml", "--best-effort protect"]);
    run(&world, &["--best-effort", "protect"], "true").ok();
    run(&world, &["--workspace", "ro"], "true").ok();
}

/// The workspace is live here, whether somebody said so or not.
#[test]
fn names_that_nothing_protects_need_a_word() {
    let world = World::new();
    world.write("home/project/a.c", "host\n");
    let script = "echo changed >a.c; cat a.c";
    let named = ["--protect", "*.c"];
    for live in [&[][..], &["--workspace", "rw"]] {
        refuses(&world, &[live, &named].concat(), &["can't enforce: protect", "*.c"]);
        assert_eq!(world.read("a.c"), "host\n");
    }
    world.write("policy.toml", "version = 1\n[protect]\nnames = [\"*.c\"]\n");
    let policy = world.root().join("policy.toml").display().to_string();
    refuses(&world, &["-p", &policy], &["can't enforce: protect", "policy.toml:3"]);
    let accepted = [&named[..], &["--best-effort", "protect"]].concat();
    assert_eq!(run(&world, &accepted, script).ok(), "changed\n");
    run(&world, &["--workspace", "ro", "--protect", "*.c"], "true").ok();
}

#[test]
fn changes_can_not_wait_or_be_dropped() {
    let world = World::new();
    world.write("home/project/a.c", "host\n");
    for mode in ["discard", "review", "apply-ok"] {
        refuses(&world, &["--sync", mode], &[&format!("--sync {mode}: ")]);
        world.write("policy.toml", &format!("version = 1\n[sync]\nmode = \"{mode}\"\n"));
        let policy = world.root().join("policy.toml").display().to_string();
        refuses(&world, &["-p", &policy], &[&format!("--sync {mode}: ")]);
        run(&world, &["-p", &policy, "--workspace", "ro"], "true").ok();
    }
    assert_eq!(world.read("a.c"), "host\n");
    run(&world, &["--sync", "apply"], "echo changed >a.c").ok();
    assert_eq!(world.read("a.c"), "changed\n");
}

#[test]
fn limits_that_nothing_here_keeps_are_refused() {
    let world = World::new();
    let said = run(&world, &["--pids", "64"], "true");
    if said.code != 0 {
        assert!(said.fails(122).contains("--best-effort pids"), "{}", said.stderr);
    }
    run(&world, &["--pids", "64", "--best-effort", "pids"], "true").ok();
}

#[test]
fn untrusted_project_can_not_lower_the_level() {
    let world = World::new();
    world.write("home/project/endow.toml", "version = 1\n[require]\nlevel = \"landlock\"\n");
    let said = world.run(&[], "echo started");
    assert!(said.fails(120).contains("require.level"), "{}", said.stderr);
}

/// A host that refuses user namespaces, outside of any endow, gets no lower level by itself.
#[test]
fn refused_user_namespaces_outside_stay_an_error() {
    let world = World::new();
    let none = "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
    let with = |options: &[&str]| {
        let mut command = world.command("unshare");
        command.args(["--user", "--map-root-user", "sh", "-c", none]);
        command.arg(crate::harness::endow()).args(options).args(["--", "echo", "started"]);
        crate::harness::said(&mut command)
    };
    assert!(with(&["run"]).fails(122).contains("user.max_user_namespaces"));
    assert_eq!(with(super::IN_PLACE).ok(), "started\n");
}
