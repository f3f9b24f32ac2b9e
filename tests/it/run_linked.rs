//! Directories that are granted by a link, or at another path: what patterns say of them by each of their paths.

use std::fs;
use std::os::unix::fs::symlink;

use crate::harness::{Said, World, said};

const SECRET: &str = "s3cr3t-content";

/// Makes `dotfiles/docker` and `dotfiles/cargo`, to which `.docker` and `.cargo` lead, or which these are.
fn home(is_linked: bool) -> World {
    let world = World::new();
    for name in ["docker", "cargo"] {
        let (dotted, plain) = (format!("home/.{name}"), format!("home/dotfiles/{name}"));
        let place = if is_linked { plain } else { dotted.clone() };
        world.write(format!("{place}/config.json"), SECRET);
        world.write(format!("{place}/config.toml"), "theirs\n");
        world.write(format!("{place}/other"), "harmless\n");
        if is_linked {
            let target = format!("dotfiles/{name}");
            symlink(target, world.root().join(dotted)).expect("a link");
        }
    }
    world
}

fn run(world: &World, options: &[&str], script: &str) -> Said {
    world.run(&[&["run"], options].concat(), script)
}

#[test]
fn hidden_names_are_absent_in_a_directory_behind_a_link() {
    for is_linked in [true, false] {
        let world = home(is_linked);
        let at = world.home().join(".docker");
        let at = at.to_str().expect("text");
        let script = format!("cat {at}/other; cat {at}/config.json; cat {at}/config.toml");
        for access in ["--ro", "--cow", "--rw"] {
            let inside = run(&world, &[access, at], &script);
            assert_eq!(inside.stdout, "harmless\ntheirs\n", "{access} {is_linked}");
        }
        let name = format!("{at}/config.json");
        let asked = said(&mut world.endow(["why", "--ro", at, "--verify", &name]));
        assert!(asked.stdout.starts_with("absent: read"), "{}{}", asked.stdout, asked.stderr);
        assert!(asked.stdout.contains("deny **/.docker/config.json"), "{}", asked.stdout);
    }
}

#[test]
fn hidden_names_are_absent_at_another_path() {
    let world = home(true);
    let (home, place) = (world.home(), world.home().join("dotfiles/docker"));
    let (home, place) = (home.to_str().expect("text"), place.to_str().expect("text"));
    symlink(".docker", world.home().join("more")).expect("a link");
    for (at, source) in [
        (format!("{home}/.docker"), place.to_owned()),
        ("/opt/x".to_owned(), format!("{home}/.docker")),
        ("/opt/x".to_owned(), format!("{home}/more")),
    ] {
        let grant = format!("{at}={source}");
        let script = format!("cat {at}/other; cat {at}/config.json");
        let inside = run(&world, &["--ro", &grant], &script);
        assert_eq!(inside.stdout, "harmless\n", "{grant}");
    }
    // By none of its paths a pattern begins there.
    let inside = run(&world, &["--ro", place], &format!("cat {place}/config.json"));
    assert_eq!(inside.ok(), SECRET);
}

#[test]
fn protected_names_are_kept_in_a_directory_behind_a_link() {
    for is_linked in [true, false] {
        let world = home(is_linked);
        let at = world.home().join(".cargo");
        let text = at.to_str().expect("text");
        let script =
            format!("cd {text}; echo evil >config.toml; echo evil >config; echo new >other");
        let read = |name: &str| fs::read_to_string(at.join(name)).ok();
        for access in ["--rw", "--cow"] {
            run(&world, &[access, text], &script);
            assert_eq!(read("config.toml").as_deref(), Some("theirs\n"), "{access} {is_linked}");
            assert_eq!(read("config"), None, "{access} {is_linked}");
            assert_eq!(read("other").as_deref(), Some("new\n"), "{access} {is_linked}");
        }
        let name = format!("{text}/config.toml");
        let asked = ["why", "--rw", text, "--to", "write", "--verify", &name];
        let asked = said(&mut world.endow(asked));
        assert!(asked.stdout.contains("protect **/.cargo/config"), "{}", asked.stdout);
    }
}
