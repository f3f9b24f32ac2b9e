//! What `endow why` says would allow something does.

use std::os::unix::net::UnixListener;

use serde_json::Value;

use crate::harness::{World, said};
use crate::why::why;

#[test]
fn remedy_for_a_missing_grant_works() {
    let world = World::new();
    let file = world.write("elsewhere/file", "content");
    let path = file.to_str().expect("UTF-8");
    let absent = why(&world, &[path, "--json"]);
    let answer: Value = serde_json::from_str(&absent.stdout).expect("JSON");
    let remedy = answer["remedy"].as_str().expect("a remedy");
    let options: Vec<&str> = remedy.split(' ').chain([path]).collect();
    why(&world, &options).ok();
}

#[test]
fn remedy_opens_no_more_than_was_asked_for() {
    let world = World::new();
    let file = world.write("home/.config/app/set.json", "{}");
    let file = file.to_str().expect("UTF-8");
    let told = |path: &str| why(&world, &[path]).stdout;
    assert!(told(file).contains(&format!("  allow    --ro {file}\n")), "{}", told(file));
    let missing = told(&format!("{file}/below/deeper"));
    assert!(!missing.contains("allow"), "{missing}");
    let beside = file.replace("set.json", "other/deeper");
    assert!(!told(&beside).contains("allow"), "{}", told(&beside));
    let made = why(&world, &[&beside, "--to", "write"]).stdout;
    let above = world.home().join(".config/app");
    assert!(made.contains(&format!("  allow    --rw {}\n", above.display())), "{made}");
}

#[test]
fn what_permissions_keep_has_no_remedy_in_a_grant() {
    let world = World::new();
    let options = ["/usr/bin", "--to", "write", "--json"];
    let answer: Value = serde_json::from_str(&why(&world, &options).stdout).expect("JSON");
    let is_of_root = !rustix::process::geteuid().is_root();
    assert_eq!(answer["remedy"].is_null(), is_of_root, "{answer}");
}

/// A directory above would be shown without the file that was asked for.
#[test]
fn remedy_for_a_name_that_patterns_hide_names_it() {
    let world = World::new();
    let key = world.write("home/.ssh/id_ed25519", "secret");
    let key = key.to_str().expect("UTF-8");
    let absent = why(&world, &[key]);
    let remedy = format!("  allow    --ro {key}\n  danger   logins to other machines\n");
    assert!(absent.stdout.contains(&remedy), "{}", absent.stdout);
    why(&world, &["--ro", key, key]).ok();
}

#[test]
fn pattern_that_protects_what_is_not_there_is_named() {
    let world = World::new();
    let asked = |options: &[&str]| {
        let options = [&[".github/workflows/ci.yml", "--to", "write"], options].concat();
        why(&world, &options).stdout
    };
    let protected = asked(&[]);
    assert!(protected.starts_with("absent: "), "{protected}");
    assert!(protected.contains("no such name there either; what is made"), "{protected}");
    let allow = "  allow    --unprotect '**/.github/workflows/**'\n";
    assert!(protected.contains(allow), "{protected}");
    let lifted = asked(&["--unprotect", "**/.github/workflows/**"]);
    assert!(!lifted.contains("protect"), "{lifted}");
}

#[test]
fn remedy_for_the_root_is_none_that_fails() {
    let world = World::new();
    let root = why(&world, &["/", "--to", "write"]);
    assert!(!root.stdout.contains("--tmp"), "{root:?}");
    let below = why(&world, &["/newfile", "--to", "write"]);
    assert!(below.stdout.contains("--tmp /newfile"), "{below:?}");
    world.run(&["--tmp", "/newfile"], "true").ok();
}

/// A layer lies before what is in a copy-on-write directory, and nobody is reached through it.
#[test]
fn socket_behind_a_layer_is_told_with_its_flag() {
    let world = World::new();
    let socket = world.project().join("s.sock");
    let _listens = UnixListener::bind(&socket).expect("a socket");
    let asked = |more: &[&str]| said(world.endow(["why", "s.sock", "--to", "connect"]).args(more));
    let refused = asked(&["--verify"]);
    assert!(refused.stdout.contains("a layer lies before this socket"), "{}", refused.stdout);
    let flag = format!("  allow    --socket {}\n", socket.display());
    assert!(refused.stdout.contains(&flag), "{}", refused.stdout);
    assert!(refused.stdout.contains("as answered"), "{}", refused.stdout);
    asked(&["--socket", "s.sock", "--verify"]).ok();
    world.write("home/project/file", "");
    let file = said(&mut world.endow(["why", "file", "--to", "connect"]));
    assert!(file.stdout.contains("it is no socket") && !file.stdout.contains("allow"), "{file:?}");
}
