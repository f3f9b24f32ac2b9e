//! The profiles of toolchains that come with endow.

use serde_json::Value;

use crate::harness::{Said, World, said};

fn told(world: &World, words: &[&str]) -> Said {
    said(&mut world.endow(words))
}

#[test]
fn profiles_are_listed_and_shown() {
    let world = World::new();
    let listed = told(&world, &["profile", "list"]);
    for name in ["base", "git", "go", "jvm", "node", "python", "rust"] {
        let line = format!("{name:<16} built-in\n");
        assert!(listed.ok().contains(&line), "{name}");
        let shown = told(&world, &["profile", "show", name]);
        assert_eq!(shown.ok().contains("discard  ~/"), !["base", "git"].contains(&name), "{name}");
    }
    let shown = told(&world, &["profile", "show", "rust", "--json"]);
    let shown: Value = serde_json::from_str(shown.ok()).expect("json");
    let registry = &shown["mounts"][0];
    assert_eq!((&registry["access"], &registry["sync"]), (&"cow".into(), &"discard".into()));
}

/// Without a cache on the host the tool makes one in the private home.
#[test]
fn cache_that_is_not_there_is_private() {
    let world = World::new();
    let script = "mkdir -p ~/.cargo/registry ~/.m2/repository; echo x >~/.cargo/registry/new
        echo x >~/.m2/repository/new; cat ~/.cargo/registry/new";
    let profiles = ["run", "--profile", "rust", "--profile", "jvm"];
    assert_eq!(world.run(&profiles, script).ok(), "x\n");
    assert!(!world.home().join(".cargo").exists() && !world.home().join(".m2").exists());
    world.assert_no_run_left();
}

/// Settings beside a cache have passwords.
#[test]
fn settings_beside_a_cache_are_absent() {
    let world = World::new();
    let settings = [".m2/settings.xml", ".gradle/gradle.properties", ".ivy2/.credentials"];
    let caches = [".m2/repository/x", ".gradle/caches/x", ".ivy2/cache/x"];
    for name in settings.iter().chain(&caches) {
        world.write(format!("home/{name}"), "content\n");
    }
    let script = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| format!("~/{name}")).collect();
        format!("cat {} 2>/dev/null", names.join(" "))
    };
    let profile = ["run", "--profile", "jvm"];
    assert_eq!(world.run(&profile, &script(&settings)).stdout, "");
    assert_eq!(world.run(&profile, &script(&caches)).ok(), "content\n".repeat(3));
    assert_eq!(world.bare(&script(&settings)).ok(), "content\n".repeat(3), "control");
}

#[test]
fn rules_of_git_are_shown() {
    let world = World::new();
    world.write("home/.config/git/ignore", "*.ignored\n");
    world.write("home/.config/git/config", "[user]\nname = x\n");
    let script = "git init -q; touch a.ignored b; git status --short; ls ~/.config/git";
    let inside = world.run(&["run", "--profile", "git"], script);
    assert_eq!(inside.ok(), "?? b\nignore\n");
    let refused = world.run(&["run", "--profile", "git"], "echo x >~/.config/git/ignore");
    assert!(refused.stderr.contains("Read-only file system"), "{refused:?}");
}
