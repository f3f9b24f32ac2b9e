//! `endow check` and `endow profile`.

use std::os::unix::net::UnixListener;

use serde_json::Value;

use crate::harness::{Said, World, said};

fn check(world: &World, arguments: &[&str]) -> Said {
    said(world.endow(["check"]).args(arguments))
}

#[test]
fn every_broken_file_is_named() {
    let world = World::new();
    let good = world.write("good.toml", "version = 1\n");
    let bad = world.write("bad.toml", "version = 1\nmonts = 1\n");
    let missing = world.root().join("missing.toml");
    let files = [&good, &bad, &missing].map(|path| path.to_str().expect("UTF-8"));
    let said = check(&world, &files);
    let error = said.fails(120);
    assert!(error.contains("bad.toml:2:1"), "{error}");
    assert!(error.contains("missing.toml"), "{error}");
    assert!(said.stdout.contains("good.toml: ok"), "{}", said.stdout);
    let json = check(&world, &["--json", files[1]]);
    let said: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!((json.code, &said["ok"]), (120, &Value::Bool(false)));
    assert_eq!(said["policies"][0]["problems"][0]["kind"], "policy");
}

#[test]
fn files_of_a_run_here_are_checked() {
    let world = World::new();
    check(&world, &[]).ok();
    world.write("config/policy.toml", "version = 1\n[deny]\npatterns = [\"a/../b\"]\n");
    assert!(check(&world, &[]).fails(120).contains("policy.toml:3"));
}

/// It has tables that no other file may have.
#[test]
fn file_of_the_user_is_checked_as_that() {
    let world = World::new();
    let own = "version = 1\n[state]\nruns = 3\n[project.\"~/project\".deny]\npatterns = [\"x\"]\n";
    let file = world.write("config/policy.toml", own);
    let linked = world.root().join("linked.toml");
    std::os::unix::fs::symlink(&file, &linked).expect("a link");
    let copied = world.write("copied.toml", own);
    for (path, code) in [(&file, 0), (&linked, 0), (&copied, 120)] {
        let path = path.to_str().expect("UTF-8");
        let checked = check(&world, &[path]);
        assert_eq!(checked.code, code, "{path}: {}", checked.stderr);
        assert_eq!(world.run(&["-p", path], "true").code, code, "{path}");
    }
    world.write("config/policy.toml", "version = 1\n[state]\nrunz = 3\n");
    let broken = check(&world, &[file.to_str().expect("UTF-8")]);
    assert!(broken.fails(120).contains("policy.toml:3"), "{}", broken.stderr);
}

/// Else a build would refuse what was found to be in order.
#[test]
fn actions_are_checked_as_a_build_does() {
    let world = World::new();
    let action = |name: &str, more: &str| {
        format!("[[action]]\nname = \"{name}\"\ncommand = [\"true\"]\n{more}\n")
    };
    for (actions, told) in [
        (action("a", "needs = [\"b\"]"), "no such action: b"),
        (action("a", "needs = [\"a\"]"), "actions need one another"),
        (action("a", "") + &action("a", ""), "a second action a"),
        (action("a", "outputs = [\"o\"]") + &action("b", "outputs = [\"o\"]"), "both leave o"),
        (action("a", "inputs = [\"o\"]\noutputs = [\"o\"]"), "o is an input and an output of a"),
        (action("a", "outputs = [\".git/hooks/x\"]"), "that can't be an output"),
    ] {
        world.write("home/project/endow.toml", &format!("version = 1\n{actions}"));
        let built = said(&mut world.endow(["build"]));
        assert!(built.fails(120).contains(told), "{}", built.stderr);
        let checked = check(&world, &[]);
        assert!(checked.fails(120).contains(told), "{}", checked.stderr);
    }
    world.write("home/project/endow.toml", &format!("version = 1\n{}", action("a", "")));
    check(&world, &[]).ok();
}

/// Trees have no names that somebody could hide: without patterns of one's own nothing is said.
#[test]
fn patterns_that_hide_nothing_in_trees_are_noted() {
    let world = World::new();
    world
        .bare("git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x")
        .ok();
    let mounts = "[mounts]\n\"/r\" = { git = \".\", rev = \"HEAD\" }\n";
    let deny = "[deny]\npatterns = [\"f\"]\n";
    let noted = |text: &str| {
        let file = world.write("home/project/policy.toml", &format!("version = 1\n{text}"));
        let said = check(&world, &[file.to_str().expect("UTF-8")]);
        said.ok().contains("note: `[deny]` hides nothing in /r: ")
    };
    assert!(noted(&format!("{mounts}{deny}")));
    assert!(!noted(mounts) && !noted(deny), "control");
}

#[test]
fn check_names_no_option_that_it_has_not() {
    let world = World::new();
    world.write("home/project/endow.toml", "version = 1\n[network]\nmode = \"host\"\n");
    let said = check(&world, &[]);
    assert!(said.fails(120).contains("`endow trust`"), "{said:?}");
    assert!(!said.stderr.contains("--no-policy"), "{said:?}");
    let run = world.run(&[], "true");
    assert!(run.stderr.contains("--no-policy"), "control: {run:?}");
}

#[test]
fn network_rules_are_noted() {
    let world = World::new();
    let policy = "version = 1\n[network]\nallow = [\"*.example.com\", \"a.example.com\", \
        \"169.254.169.254:80\"]\npublish = [\"0.0.0.0:0:3000\"]\n";
    let file = world.write("policy.toml", policy);
    let said = check(&world, &[file.to_str().expect("UTF-8")]);
    assert!(said.ok().contains("`a.example.com:443` ("), "{}", said.stdout);
    assert!(said.stdout.contains("a cloud's metadata service"), "{}", said.stdout);
    assert!(said.stdout.contains("other machines reach port 3000"), "{}", said.stdout);
}

#[test]
fn shadows_and_absent_mounts_are_noted() {
    let world = World::new();
    world.write("home/project/sub/file", "");
    let policy = "version = 1\n[workspace]\naccess = \"rw\"\n[mounts]\n\
        \"/nowhere\" = { optional = true }\n\"~/project/sub\" = { memory = true }\n";
    let file = world.write("policy.toml", policy);
    let said = check(&world, &[file.to_str().expect("UTF-8")]);
    assert!(said.ok().contains("/project/sub ("), "{}", said.stdout);
    assert!(said.stdout.contains(" hides "), "{}", said.stdout);
    assert!(said.stdout.contains("/nowhere"), "{}", said.stdout);
}

#[test]
fn deep_names_sockets() {
    let world = World::new();
    let policy = world.write("policy.toml", "version = 1\n[workspace]\naccess = \"rw\"\n");
    let socket = world.project().join("socket");
    let _listener = UnixListener::bind(&socket).expect("a socket");
    let said = check(&world, &["--deep", policy.to_str().expect("UTF-8")]);
    assert!(said.ok().contains(&format!("{} is a socket", socket.display())), "{}", said.stdout);
    let later =
        format!("host makes during a run can be connected to: in {}\n", world.project().display());
    assert!(said.stdout.contains(&later), "{}", said.stdout);
}

#[test]
fn profiles_are_listed_and_shown_with_reasons() {
    let world = World::new();
    world.write(
        "config/profiles/mine.toml",
        "version = 1\n[mounts]\n\"/data\" = \"ro\"\n\
        [network]\nallow = [\"one.example\"]\n[process]\nallow = [\"userns\"]\n",
    );
    let said = self::said(&mut world.endow(["profile", "list"]));
    assert!(said.ok().contains("base") && said.stdout.contains("mine.toml"), "{}", said.stdout);
    let base = self::said(&mut world.endow(["profile", "show", "base"]));
    assert!(base.ok().contains("/usr") && base.stdout.contains("programs and libraries"));
    assert!(base.stdout.contains("deny     .netrc"), "{}", base.stdout);
    let mine = self::said(&mut world.endow(["profile", "show", "mine", "--json"]));
    let mine: Value = serde_json::from_str(mine.ok()).expect("JSON");
    assert_eq!(mine["mounts"][0]["access"], "ro");
    assert_eq!(mine["network"]["allow"][0], "one.example");
    let mine = self::said(&mut world.endow(["profile", "show", "mine"]));
    for line in ["network  allow = [\"one.example\"]\n", "process  allow = [\"userns\"]\n"] {
        assert!(mine.ok().contains(line), "{}", mine.stdout);
    }
    let none = self::said(&mut world.endow(["profile", "show", "nune"]));
    let known = none.fails(2).lines().find(|line| line.contains("known are: base, "));
    assert!(known.is_some_and(|known| known.ends_with(", mine")), "{}", none.stderr);
}

/// A directory above the project gives nothing, and the home directory's own is not read.
#[test]
fn files_above_the_project_are_named() {
    let world = World::new();
    let file = world.write("home/project/endow.toml", "version = 1\n[limits]\nopen_files = 77\n");
    let home = world.write("home/endow.toml", "version = 1\n");
    world.write("home/project/sub/deep/file", "");
    let below = |path: &str| {
        let told = said(world.endow(["check"]).current_dir(world.project().join(path)));
        told.ok().to_owned() + &told.stderr
    };
    let note = format!("{} stands above this project", file.display());
    let unread = format!("{} is not read here", home.display());
    for path in ["sub", "sub/deep"] {
        let told = below(path);
        assert!(told.contains(&note) && told.contains(&unread), "{told}");
    }
    assert!(!below(".").contains("above this project"));
    world.bare("git init -q .").ok();
    assert!(!below("sub").contains("above this project") && !below("sub").contains("not read"));
}
