//! Policies that a command would change for the next run.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::time::Duration;

use crate::harness::{Running, World, within};

const NARROW: &str = "version = 1\n";
const WIDE: &str = "version = 1\n[mounts]\n\"/secret\" = { host = \"ROOT/secret\" }\n";

/// Every way to put a wide policy into the place of `policies/deep/own.toml`.
const ATTACKS: [&str; 6] = [
    "cat wide > policies/deep/own.toml",
    "cp wide new; mv -f new policies/deep/own.toml",
    "rm -f policies/deep/own.toml; cp wide policies/deep/own.toml",
    "mv policies away; mkdir -p policies/deep; cp wide policies/deep/own.toml",
    "mv policies/deep policies/away; mkdir policies/deep; cp wide policies/deep/own.toml",
    "ln policies/deep/own.toml alias; cat wide > alias",
];

fn world() -> World {
    let world = World::new();
    world.write("secret/key", "canary\n");
    world.write("home/project/policies/deep/own.toml", NARROW);
    let root = world.root().to_str().expect("text").to_owned();
    world.write("home/project/wide", &WIDE.replace("ROOT", &root));
    world
}

const OWN: [&str; 5] = ["run", "--workspace", "rw", "-p", "policies/deep/own.toml"];

#[test]
fn escape_by_a_policy_file_that_is_rewritten() {
    for attack in ATTACKS {
        let world = world();
        world.run(&OWN, attack);
        let next = world.run(&OWN, "cat /secret/key");
        assert_eq!((next.code, next.stdout.as_str()), (1, ""), "{attack}: {}", next.stderr);
        let control = self::world();
        control.bare(attack).ok();
        assert_eq!(control.run(&OWN, "cat /secret/key").ok(), "canary\n", "{attack}");
    }
}

#[test]
fn policy_file_that_is_granted_by_itself_stays_as_it_is() {
    let world = world();
    let file = world.project().join("policies/deep/own.toml");
    let grant = file.to_str().expect("text");
    let options = [&OWN[..], &["--rw", grant]].concat();
    let inside = world.run(&options, &format!("cat wide > {grant}"));
    assert_ne!(inside.code, 0);
    assert_eq!(fs::read_to_string(file).expect("a file"), NARROW);
}

#[test]
fn policy_file_behind_a_link_that_can_be_changed_is_refused() {
    let world = world();
    let link = world.project().join("link.toml");
    symlink("policies/deep/own.toml", &link).expect("a link");
    let options = ["run", "--workspace", "rw", "-p", "link.toml"];
    let refused = world.run(&options, "true");
    let told = refused.fails(120);
    assert!(told.contains("named by a link in a writable mount: "), "{told}");
    assert!(told.contains("hint: name the file itself: "), "{told}");
    world.run(&["run", "--workspace", "ro", "-p", "link.toml"], "true").ok();
}

/// The user's own file may be a link into a directory that is granted.
#[test]
fn user_policy_that_lies_in_a_live_mount_is_held() {
    let world = world();
    let file = world.write("home/project/user.toml", NARROW);
    fs::create_dir_all(world.root().join("config")).expect("a directory");
    symlink(&file, world.root().join("config/policy.toml")).expect("a link");
    let attack = "cp wide new; mv -f new user.toml; cat wide > user.toml";
    world.run(&["run", "--workspace", "rw"], attack);
    assert_eq!(fs::read_to_string(&file).expect("a file"), NARROW);
    world.bare(attack).ok();
    assert_ne!(fs::read_to_string(&file).expect("a file"), NARROW);
}

/// An editor replaces a policy file by renaming a new one over it, which takes the cover away.
#[test]
fn replaced_policy_file_is_held_again() {
    for (name, options) in
        [("policies/deep/own.toml", &OWN[..]), ("endow.toml", &["run", "--workspace", "rw"])]
    {
        let world = world();
        world.write("home/project/endow.toml", NARROW);
        let script = format!(
            "echo ready; while read x; do (echo '#' >> {name}) 2>/dev/null && echo open || echo held; done"
        );
        let mut command = world.endow([options, &["--", "sh", "-c", &script]].concat());
        let mut running = Running::start(command.stdin(Stdio::piped()));
        running.expect("ready");
        for _ in 0..3 {
            let new = world.write("new", NARROW);
            fs::rename(new, world.project().join(name)).expect("renamed");
            within(Duration::from_secs(5), "it is held again", || {
                running.say("\n");
                running.line() == "held"
            });
        }
        running.hush();
        running.end();
    }
}
