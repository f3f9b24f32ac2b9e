//! Mounts that a link of the host brings to one place.

use std::fs;
use std::os::unix::fs::symlink;

use crate::harness::{Said, World, said};

/// A home that is reached by a link, as where `/home` is one.
fn linked_home() -> World {
    let world = World::new();
    world.write("home/file", "host\n");
    symlink("home", world.root().join("by-link")).expect("a link");
    fs::create_dir(world.root().join("work")).expect("a directory");
    world
}

fn run(world: &World, options: &[&str], script: &str) -> Said {
    let mut command = world.endow([&["run"], options, &["--", "sh", "-c", script]].concat());
    command.env("HOME", world.root().join("by-link"));
    command.current_dir(world.root().join("work"));
    said(&mut command)
}

/// Grants the home by one of its paths, and checks what the command has of it.
fn check_home(level: &str, option: &str, name: &str) {
    let world = linked_home();
    let at = world.root().join(name).display().to_string();
    let real = world.home().display().to_string();
    let script = format!("cat {real}/file; {{ echo new >{real}/new; }} 2>/dev/null && echo made");
    let said = run(&world, &["--require", level, option, &at], &script);
    let is_live = option == "--rw";
    let expected = ["host\n", if is_live { "made\n" } else { "" }].concat();
    assert_eq!(said.stdout, expected, "{level} {option} {name}: {}", said.stderr);
    assert_eq!(world.home().join("new").exists(), is_live, "{level} {option} {name}");
}

#[test]
fn home_is_granted_by_any_of_its_paths() {
    for name in ["home", "by-link"] {
        for level in ["full", "landlock"] {
            check_home(level, "--rw", name);
            check_home(level, "--ro", name);
        }
    }
    let world = linked_home();
    let at = world.home().display().to_string();
    let told =
        run(&world, &["--rw", &at], "cat ~/file; ls ~/.gitconfig 2>/dev/null; echo new >~/new");
    assert_eq!(told.stdout, "host\n", "the home leads there: {}", told.stderr);
    assert!(world.home().join("new").exists());
    let world = linked_home();
    let control = run(&world, &[], "cat ~/file 2>/dev/null; echo new >~/new && echo made");
    assert_eq!(control.ok(), "made\n", "control: it is private where nobody grants it");
    assert!(!world.home().join("new").exists());
}

/// `x/y`, to which `a/y` and `z/y` lead.
fn linked() -> World {
    let world = World::new();
    fs::create_dir_all(world.root().join("x/y")).expect("directories");
    for link in ["a", "z"] {
        symlink("x", world.root().join(link)).expect("a link");
    }
    world
}

fn is_writable(world: &World, options: &[&str], code: i32) -> bool {
    let place = |word: &&str| match word.strip_prefix('@') {
        Some(path) => world.root().join(path).display().to_string(),
        None => (*word).to_owned(),
    };
    let options: Vec<String> = options.iter().map(place).collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let script = format!("touch {0}/x/y/new 2>/dev/null; echo ran", world.root().display());
    let said = world.run(&[&["run"], &options[..]].concat(), &script);
    assert_eq!(said.code, code, "{options:?}: {}", said.stderr);
    assert_eq!(said.stderr.contains("mounted twice"), code != 0, "{}", said.stderr);
    fs::remove_file(world.root().join("x/y/new")).is_ok()
}

#[test]
fn what_is_granted_by_name_wins_over_what_a_link_leads_to() {
    let world = linked();
    for (options, expected) in [
        (["--rw", "@x/y", "--ro", "@a/y"], true),
        (["--rw", "@x/y", "--ro", "@z/y"], true),
        (["--ro", "@a/y", "--rw", "@x/y"], true),
        (["--ro", "@x/y", "--rw", "@a/y"], false),
        (["--rw", "@z/y", "--ro", "@x/y"], false),
    ] {
        assert_eq!(is_writable(&world, &options, 0), expected, "{options:?}");
    }
}

#[test]
fn two_grants_by_links_that_differ_are_refused() {
    let world = linked();
    assert!(!is_writable(&world, &["--rw", "@a/y", "--ro", "@z/y"], 125));
    assert!(
        is_writable(&world, &["--rw", "@a/y", "--rw", "@z/y"], 0),
        "control: they say the same"
    );
}

#[test]
fn flag_wins_over_a_file_by_whatever_path() {
    let world = linked();
    for (written, flag, expected) in [
        (("x/y", "rw"), ["--ro", "@a/y"], false),
        (("a/y", "rw"), ["--ro", "@x/y"], false),
        (("x/y", "ro"), ["--rw", "@z/y"], true),
    ] {
        let at = world.root().join(written.0);
        let text = format!("version = 1\n[mounts]\n\"{}\" = \"{}\"\n", at.display(), written.1);
        world.write("policy.toml", &text);
        let options = [&["-p", "@policy.toml"], &flag[..]].concat();
        assert_eq!(is_writable(&world, &options, 0), expected, "{written:?} {flag:?}");
    }
}

/// A project that nobody trusts takes no work away, and no grant.
#[test]
fn empty_directory_of_a_project_is_not_the_workspace() {
    let world = World::new();
    world.write("home/project/a/b/file", "host\n");
    world.bare("git init -q .").ok();
    let start = |options: &[&str], script: &str| {
        let words = [&["run"], options, &["--", "sh", "-c", script]].concat();
        said(world.endow(words).current_dir(world.project().join("a/b")))
    };
    let mounts = |lines: &str| {
        world.write("home/project/endow.toml", &format!("version = 1\n[mounts]\n{lines}"));
    };
    for (link, to) in [("alias", "."), ("part", "a/b")] {
        symlink(to, world.project().join(link)).expect("a link");
        mounts(&format!("{link} = {{ private = true }}\n"));
        let told = start(&[], "echo new >made");
        told.fails(120);
        assert!(told.stderr.contains(link), "{}", told.stderr);
    }
    mounts("a = { memory = true }\n\"a/b/c\" = { memory = true }\n");
    let above = world.home().display().to_string();
    let script = format!("echo new >{}/file", world.project().display());
    start(&["--ro", &above], &script).fails(120);
    assert!(!world.project().join("file").exists());
}
