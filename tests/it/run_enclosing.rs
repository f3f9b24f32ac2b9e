//! What a project's policy takes away, in directories of it that are projects of their own, or look like it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::harness::{Said, World, said};

const POLICY: &str = "version = 1\n[deny]\npatterns = [\"*.sqlite\"]\n[mounts]\n\"/given\" = { host = \"/usr/share\" }\n";

/// A project whose policy hides a file and gives a directory, trusted.
fn world() -> World {
    let world = World::new();
    world.write("home/project/endow.toml", POLICY);
    world.write("home/project/sub/x.sqlite", "hidden\n");
    world.bare("git init -q .").ok();
    said(&mut world.endow(["trust", "--yes"])).ok();
    world
}

fn inside(world: &World, at: &str, options: &[&str], script: &str) -> Said {
    let words = [&["run"], options, &["--", "sh", "-c", script]].concat();
    said(world.endow(words).current_dir(world.project().join(at)))
}

#[test]
fn what_is_denied_stays_so_in_what_a_command_makes_a_project() {
    let shown = inside(&world(), "sub", &["--no-policy"], "cat x.sqlite");
    assert_eq!(shown.ok(), "hidden\n", "control");
    for way in ["true", "git init -q sub", "rm .git/HEAD", "git init -q x; mv x/.git sub"] {
        for workspace in ["cow", "rw"] {
            let world = world();
            inside(&world, ".", &["--workspace", workspace], way);
            let is_other = !inside(&world, "sub", &[], "test -e /given").stderr.is_empty()
                || inside(&world, "sub", &[], "test -e /given").code != 0;
            // What makes it a repository is not taken away by write-back.
            let is_kept = workspace == "cow" && way.starts_with("rm");
            assert_eq!(is_other, way != "true" && !is_kept, "control: {workspace}: {way}");
            let shown = inside(&world, "sub", &[], "cat x.sqlite");
            assert!(!shown.stdout.contains("hidden"), "{workspace}: {way}: {}", shown.stderr);
        }
    }
}

#[test]
fn project_within_another_keeps_its_own_policy() {
    let world = world();
    world.bare("git init -q sub").ok();
    world.write("home/endow.toml", "version = 1\n[deny]\npatterns = [\"plain\"]\n");
    world.write("home/project/sub/endow.toml", "version = 1\n[deny]\npatterns = [\"own\"]\n");
    for name in ["own", "plain"] {
        world.write(format!("home/project/sub/{name}"), "shown\n");
    }
    let list =
        inside(&world, "sub", &[], "cat x.sqlite own plain; test -e /given || echo not given");
    assert_eq!(list.stdout, "shown\nnot given\n", "{}", list.stderr);
    let told = said(world.endow(["check"]).current_dir(world.project().join("sub")));
    let told = told.ok().to_owned() + &told.stderr;
    assert!(told.contains("endow.toml stands above this project"), "{told}");
    world.write("named", "version = 1\n");
    let named = world.root().join("named");
    let named = inside(&world, "sub", &["-p", named.to_str().expect("text")], "cat x.sqlite own");
    assert_eq!(named.ok(), "hidden\nshown\n", "what is named is all that counts");
}

/// The workspace is the whole work tree, whichever file is the nearest.
#[test]
fn file_in_a_part_of_the_tree_takes_nothing_of_the_tree_back() {
    let world = World::new();
    world.bare("git init -q .").ok();
    world.write("home/project/secret/key", "hidden\n");
    let policy = "version = 1\n[deny]\npatterns = [\"secret/**\"]\n[env]\ndrop = [\"LANG\"]\n";
    world.write("home/project/vendor/lib/x", "");
    let script = "cat ../../secret/key; echo ${LANG:-unset}";
    let run = || {
        said(
            world
                .endow(["run", "--", "sh", "-c", script])
                .env("LANG", "C")
                .current_dir(world.project().join("vendor/lib")),
        )
    };
    assert_eq!(run().ok(), "hidden\nC\n", "control");
    world.write("home/project/endow.toml", policy);
    for inner in ["", "vendor/endow.toml", "vendor/lib/endow.toml"] {
        if !inner.is_empty() {
            world.write(format!("home/project/{inner}"), "version = 1\n");
        }
        let shown = run();
        assert_eq!(shown.stdout, "unset\n", "{inner}: {}", shown.stderr);
    }
    let told = said(world.endow(["check"]).current_dir(world.project().join("vendor/lib")));
    let told = told.ok().to_owned() + &told.stderr;
    for above in ["project/endow.toml stands above", "vendor/endow.toml stands above"] {
        assert!(told.contains(above), "{above}: {told}");
    }
}

#[test]
fn file_around_a_project_that_others_may_write_ends_the_run() {
    let world = world();
    world.bare("git init -q sub").ok();
    inside(&world, "sub", &[], "true").ok();
    let file = world.project().join("endow.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("set");
    inside(&world, "sub", &[], "true").fails(120);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("set");
    fs::write(&file, "version =").expect("written");
    inside(&world, "sub", &[], "true").fails(120);
}

/// What a run shows is the whole project, by a grant, whatever directory of it is a repository.
#[test]
fn pattern_with_a_path_holds_where_a_grant_shows_the_project() {
    let world = World::new();
    world.write("home/project/secrets/x", "hidden\n");
    world.write("home/project/sub/y", "");
    world.bare("git init -q .").ok();
    let at = world.project().display().to_string();
    let show = || inside(&world, "sub", &["--cow", &at], "cat ../secrets/x");
    assert_eq!(show().ok(), "hidden\n", "control");
    world.write("home/project/endow.toml", "version = 1\n[deny]\npatterns = [\"secrets/x\"]\n");
    assert_eq!(show().stdout, "");
    inside(&world, "sub", &["--cow", &at], "git init -q .").ok();
    assert!(world.project().join("sub/.git").exists(), "control");
    let shown = show();
    assert_eq!(shown.stdout, "", "{}", shown.stderr);
}
