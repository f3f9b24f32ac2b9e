//! `endow profile trim`: grants that no observed run used.

use serde_json::Value;

use super::{learn, trust};
use crate::harness::{Said, World, said};

fn trim(world: &World, arguments: &[&str]) -> Said {
    said(world.endow(["profile", "trim"]).args(arguments))
}

fn world() -> World {
    let world = World::new();
    let (one, two) = (world.write("one/data", "1\n"), world.write("two/data", "2\n"));
    let text = format!(
        "version = 1\n[mounts]\n\"{}\" = \"ro\"\n\"{}\" = \"ro\"\n[network]\nallow = [\"a.example.com\"]\n",
        one.parent().expect("a parent").display(),
        two.parent().expect("a parent").display(),
    );
    world.write("home/project/endow.toml", &text);
    trust(&world);
    world
}

#[test]
fn nothing_is_said_of_what_was_never_observed() {
    let world = world();
    let said = trim(&world, &[]);
    assert_eq!(said.ok(), "");
    assert!(said.stderr.contains("no run of this project was observed yet"), "{}", said.stderr);
    assert!(said.stderr.contains("--explain"), "{}", said.stderr);
    trim(&world, &["no-such-profile"]).fails(2);
}

#[test]
fn unused_grants_are_named_with_the_runs() {
    let world = world();
    let read = format!("cat {}/one/data", world.root().display());
    learn(&world, &[], &read).ok();
    let explained = world.run(&["run", "--explain"], &read);
    assert_eq!(explained.ok(), "1\n");
    let before = super::policy(&world);
    let said = trim(&world, &["--json"]);
    let told: Value = serde_json::from_str(said.ok()).expect("JSON");
    assert_eq!(told["runs"], 2);
    let unused = told["unused"].as_array().expect("a list");
    let names: Vec<&str> = unused.iter().filter_map(|it| it["grant"].as_str()).collect();
    let two = world.root().join("two").display().to_string();
    assert_eq!(names, [two.as_str(), "a.example.com:443"]);
    assert!(unused[0]["origin"].as_str().expect("a place").ends_with("endow.toml:4"), "{told}");
    assert_eq!(unused[0]["runs"], 2);
    // Once it was used, nobody takes it for needless.
    learn(&world, &[], &format!("cat {two}/data")).ok();
    let text = trim(&world, &[]);
    assert!(!text.ok().contains(&two), "{text:?}");
    assert!(text.stderr.contains("1 of 3 grants"), "{text:?}");
    assert_eq!(super::policy(&world), before);
}

#[test]
fn profiles_are_judged_by_their_own_grants() {
    let world = World::new();
    world.write("home/.npm/package", "fetched\n");
    world.write("home/.cache/yarn/x", "fetched\n");
    learn(&world, &["--profile", "node"], "cat ~/.npm/package").ok();
    let told = trim(&world, &["node"]);
    assert!(told.ok().contains(".cache/yarn  never used in 1 run  (profile node)"), "{told:?}");
    assert!(!told.stdout.contains(".npm") && !told.stdout.contains("/usr"), "{told:?}");
}

/// What leads to a grant uses it, in whichever form it is written.
#[test]
fn grants_are_used_by_any_form_of_a_path() {
    let world = world();
    std::os::unix::fs::symlink("../../one/data", world.project().join("link")).expect("a link");
    std::os::unix::fs::symlink("../../one", world.project().join("dir")).expect("a link");
    let one = world.root().join("one").display().to_string();
    let project = world.project().display().to_string();
    let forms = [
        "../../one/data".to_owned(),
        format!("{project}/../../one/data"),
        "link".to_owned(),
        "dir/data".to_owned(),
        "/proc/self/cwd/../../one/data".to_owned(),
    ];
    for form in forms {
        learn(&world, &[], &format!("cat {form}")).ok();
        let told = trim(&world, &[]);
        assert!(!told.ok().contains(&one), "{form}: {told:?}");
        assert!(told.stdout.contains("/two"), "{form}: {told:?}");
        said(&mut world.endow(["learn", "--forget"])).ok();
    }
}
