//! Hidden names of live mounts that a command moves with a directory above them: the next run sees them no more than this one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::harness::{Said, World};

const SECRET: &str = "s3cr3t-content\n";

fn live(world: &World, script: &str) -> Said {
    world.run(&["run", "--workspace", "rw"], script)
}

fn here(world: &World, name: &str) -> std::path::PathBuf {
    world.root().join("home/project").join(name)
}

/// Whether a run in any kind of workspace finds the secret anywhere.
fn is_read(world: &World) -> bool {
    let script = "grep -rs s3cr3t . >/tmp/found; test -s /tmp/found";
    ["ro", "cow", "rw"].iter().any(|access| {
        let inside = world.run(&["run", "--workspace", access], script);
        assert!(inside.code < 2, "{}", inside.stderr);
        inside.code == 0
    })
}

/// The command moves a directory; its hidden name is back and nothing else is, and it is told.
fn check(name: &str, script: &str, to: &str) {
    let world = World::new();
    world.bare("git init -q").ok();
    world.write(format!("home/project/{name}"), SECRET);
    let above = Path::new(name).parent().expect("a directory");
    let other = above.join("other");
    world.write(Path::new("home/project").join(&other), "other\n");
    assert!(!is_read(&world), "{name}");
    let moved = live(&world, &format!("{script} && test ! -e {}", other.display()));
    assert_eq!(moved.code, 0, "{name}: {}", moved.stderr);
    let told = format!(
        "moved back, for it is hidden where it was: {} (the command had moved it to {})",
        here(&world, name).display(),
        here(&world, to).display()
    );
    assert!(moved.stderr.contains(&told), "{}", moved.stderr);
    assert_eq!(fs::read_to_string(here(&world, name)).expect("back"), SECRET);
    assert!(!here(&world, to).exists() && !here(&world, "").join(&other).exists(), "{name}");
    let beside = Path::new(to).with_file_name("other");
    assert_eq!(fs::read_to_string(here(&world, "").join(beside)).expect("moved"), "other\n");
    assert!(!is_read(&world), "{name}");
}

#[test]
fn name_that_is_hidden_for_its_directory_goes_back_there() {
    check(".docker/config.json", "mv .docker moved", "moved/config.json");
    check("a/.cargo/credentials", "mv a/.cargo b; mv a c; mv b c", "c/b/credentials");
    // What is called `.git` can be made one of git's by the next command.
    check("conf/.env", "mkdir -p foo/.git; mv conf foo/.git/", "foo/.git/conf/.env");
    check(".m2/settings.xml", "mv .m2 m && chmod 500 m", "m/settings.xml");
}

#[test]
fn name_that_was_moved_to_where_nothing_is_hidden_goes_back() {
    let node_modules = "mkdir node_modules && mv conf node_modules";
    check("conf/.env", node_modules, "node_modules/conf/.env");
    check("conf/.env", "git init -q foo && mv conf foo/.git", "foo/.git/conf/.env");
}

#[test]
fn directory_that_is_hidden_goes_back_whole() {
    let world = World::new();
    world.write("home/project/.config/gh/hosts.yml", SECRET);
    world.write("home/project/.config/x", "x\n");
    assert_eq!(live(&world, "mv .config moved").code, 0);
    assert!(here(&world, ".config/gh/hosts.yml").exists() && here(&world, "moved/x").exists());
    assert!(!is_read(&world));
}

#[test]
fn name_that_is_hidden_where_it_was_moved_stays_there() {
    let world = World::new();
    world.write("home/project/conf/.env", SECRET);
    let moved = live(&world, "mv conf moved");
    assert_eq!((moved.code, moved.stderr.as_str()), (0, ""));
    assert!(here(&world, "moved/.env").exists() && !here(&world, "conf").exists());
    assert!(!is_read(&world));
}

/// The place is taken: what is there goes where the name was, and it is told.
#[test]
fn nothing_is_replaced_by_what_goes_back() {
    let world = World::new();
    world.write("home/project/.docker/config.json", SECRET);
    let moved = live(&world, "mv .docker moved; mkdir .docker; echo new > .docker/config.json");
    let told =
        format!("what stood in its place is now {}", here(&world, "moved/config.json").display());
    assert_eq!(moved.code, 121, "nobody knows whose it is: {}", moved.stderr);
    assert!(moved.stderr.contains(&told), "{}", moved.stderr);
    assert!(!moved.stderr.contains("nothing hides"), "a pattern may well: {}", moved.stderr);
    let read = |name: &str| fs::read_to_string(here(&world, name)).expect("there");
    assert_eq!(
        (read(".docker/config.json").as_str(), read("moved/config.json").as_str()),
        (SECRET, "new\n")
    );
    assert!(!is_read(&world));
}

/// What the command puts in the way leads nowhere else.
#[test]
fn links_in_the_way_are_not_followed() {
    let world = World::new();
    world.write("home/project/.docker/config.json", SECRET);
    fs::create_dir(world.root().join("outside")).expect("made");
    symlink(world.root().join("outside"), here(&world, "link")).expect("a link");
    let moved = live(&world, "mv .docker moved; mv link .docker");
    let told =
        format!("what stood in its place is now {}", here(&world, "moved/.docker").display());
    assert!(moved.stderr.contains(&told), "{}", moved.stderr);
    assert_eq!(fs::read_to_string(here(&world, ".docker/config.json")).expect("back"), SECRET);
    assert!(fs::read_link(here(&world, "moved/.docker")).is_ok());
    assert_eq!(fs::read_dir(world.root().join("outside")).expect("listed").count(), 0);
    assert!(!is_read(&world));
}

/// What can't go back is told, everywhere, and the run is no success.
#[test]
fn name_that_can_not_go_back_is_told() {
    let world = World::new();
    world.write("home/project/.docker/config.json", SECRET);
    let report = world.root().join("report");
    let arguments = ["run", "--workspace", "rw", "--report", report.to_str().expect("a text")];
    let script = "mv .docker moved; : >.docker; : >moved/.docker
        for it in $(seq 99); do : >moved/.docker.$it; done";
    let moved = world.run(&arguments, script);
    assert_eq!(moved.code, 121, "{}", moved.stderr);
    assert!(moved.stderr.contains("hidden no more, and can't be moved back"), "{}", moved.stderr);
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(report).expect("a report")).expect("JSON");
    let at = here(&world, "moved/config.json");
    assert_eq!(report["missed"], serde_json::json!([{"path": at, "reason": "shown"}]));
    assert_eq!(fs::read_to_string(here(&world, "moved/config.json")).expect("there"), SECRET);
}

/// What makes way for a hidden name is looked at as all that the command leaves.
#[test]
fn what_makes_way_plants_nothing_protected() {
    let plant = "mkdir sub; mv config sub/.git; cd sub/.git; echo ref: refs/heads/main >HEAD
        mkdir objects refs; cd ../..
        printf '[core]\\n\\tfsmonitor = touch ../ran; false\\n' >config";
    let status = "cd sub && git status >/dev/null 2>&1; test -e ran -o -e ../ran";
    let control = World::new();
    fs::create_dir(here(&control, "config")).expect("made");
    control.bare(&format!("{plant}; mv config sub/.git/config")).ok();
    assert_eq!(control.bare(status).code, 0, "control: git runs it");
    let world = World::new();
    world.write("home/project/config/master.key", SECRET);
    let moved = live(&world, plant);
    assert_eq!(world.bare(status).code, 1, "{}", moved.stderr);
    assert_eq!(fs::read_to_string(here(&world, "config/master.key")).expect("back"), SECRET);
    assert!(!is_read(&world));
}

/// Nothing is spared in what the command makes where a hidden name was that it has moved away.
#[test]
fn place_of_a_name_that_was_moved_is_looked_at() {
    let world = World::new();
    world.write("home/project/conf/.env", SECRET);
    let script =
        "mv conf other; mkdir -p conf/.env/.vscode; echo evil >conf/.env/.vscode/tasks.json";
    let moved = live(&world, script);
    assert!(moved.stderr.contains("held for review"), "{}", moved.stderr);
    assert!(!here(&world, "conf/.env/.vscode/tasks.json").exists());
    assert!(here(&world, "other/.env").exists() && !is_read(&world));
}

/// There may be more names than descriptors.
#[test]
fn very_many_names_go_back() {
    let world = World::new();
    let names: Vec<String> = (0..300).map(|number| format!("certs/{number}.pem")).collect();
    for name in &names {
        world.write(format!("home/project/{name}"), SECRET);
    }
    let endow = crate::harness::endow();
    let script = "mkdir node_modules; mv certs node_modules/certs";
    let limited =
        format!("ulimit -Sn 200; exec {} run --workspace rw -- sh -c '{script}'", endow.display());
    let mut command = world.command("sh");
    let moved = crate::harness::said(command.args(["-c", &limited]));
    assert_eq!(moved.code, 0, "{}", moved.stderr);
    assert!(names.iter().all(|name| here(&world, name).exists()), "{}", moved.stderr);
    assert!(!is_read(&world));
}

/// A directory that is taken away for its name gives a hidden one back that was in it, whatever else is taken there.
#[test]
fn name_that_was_taken_away_is_never_lost() {
    for again in ["true", "mkdir -p .vscode/a; echo forged >.vscode/a/.env; sleep 0.3"] {
        let world = World::new();
        world.write("home/project/a/.env", SECRET);
        let script = format!("mkdir .vscode; mv a .vscode/a; sleep 0.3; {again}");
        let taken = live(&world, &script);
        let kept = fs::read_to_string(here(&world, "a/.env"));
        assert_eq!(kept.ok().as_deref(), Some(SECRET), "{again}: {}", taken.stderr);
        assert!(!is_read(&world), "{again}");
    }
}

/// What is in a hidden directory is the user's, wherever that is moved.
#[test]
fn protected_names_in_a_hidden_directory_stay_in_it() {
    let world = World::new();
    world.write("home/project/app/secrets/.envrc", SECRET);
    let moved = world.run(&["run", "--workspace", "rw", "--deny", "secrets"], "mv app app2");
    assert_eq!((moved.code, moved.stderr.as_str()), (0, ""));
    assert_eq!(fs::read_to_string(here(&world, "app2/secrets/.envrc")).expect("there"), SECRET);
}
