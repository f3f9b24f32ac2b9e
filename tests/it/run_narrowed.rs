//! Directories of a live workspace that are granted once more, and others that stay at their paths.

use std::path::PathBuf;

use crate::harness::{Said, World};

const OWN: &str = "own\n";
/// Puts files of the command's where the granted directory stands.
const SWAP: &str = "mv par q; mkdir -p par/in/lib; echo evil >par/in/lib/f; echo evil >par/f";

fn world() -> World {
    let world = World::new();
    std::fs::create_dir_all(world.project().join("par/in/lib")).expect("mkdir");
    for file in ["par/in/lib/f", "par/f"] {
        std::fs::write(world.project().join(file), OWN).expect("write");
    }
    world
}

fn run(world: &World, grants: &[(&str, &str)], script: &str) -> Said {
    let paths: Vec<PathBuf> = grants.iter().map(|(_, at)| world.project().join(at)).collect();
    let granted = grants.iter().zip(&paths);
    let options = granted.flat_map(|((kind, _), at)| [*kind, at.to_str().expect("text")]);
    let start = ["run", "--workspace", "rw", "--sync", "discard"].into_iter();
    world.run(&start.chain(options).collect::<Vec<_>>(), script)
}

fn is_own(world: &World, file: &str) -> bool {
    std::fs::read_to_string(world.project().join(file)).is_ok_and(|text| text == OWN)
}

#[test]
fn what_is_granted_with_less_stays_at_its_path() {
    for (grants, file) in [
        (&[("--ro", "par/in/lib")][..], "par/in/lib/f"),
        (&[("--cow", "par/in/lib")], "par/in/lib/f"),
        (&[("--ro", "par/in/lib/f")], "par/in/lib/f"),
        (&[("--cow", "par/f")], "par/f"),
        (&[("--rw", "par/in"), ("--ro", "par/in/lib")], "par/in/lib/f"),
    ] {
        let world = world();
        run(&world, grants, SWAP);
        assert!(is_own(&world, file), "{grants:?}");
        assert!(!world.project().join("q").exists(), "{grants:?}");
    }
}

#[test]
fn what_is_not_granted_once_more_can_be_moved() {
    let world = world();
    run(&world, &[], SWAP).ok();
    assert!(!is_own(&world, "par/in/lib/f") && is_own(&world, "q/in/lib/f"));
}

/// What one mount hides the other would not put back.
#[test]
fn hidden_names_in_what_is_granted_once_more_stay() {
    for kind in ["--ro", "--cow", "--rw"] {
        let world = world();
        std::fs::write(world.project().join("par/in/lib/.env"), OWN).expect("write");
        let script = "mkdir node_modules; mv par node_modules/; mkdir -p par/in/lib";
        let said = run(&world, &[(kind, "par/in/lib")], script);
        assert!(said.stderr.contains("busy"), "{kind}: {}", said.stderr);
        assert!(is_own(&world, "par/in/lib/.env"), "{kind}");
    }
}

/// The ways to a repository further down can be renamed else.
#[test]
fn repository_that_is_granted_once_more_stays_at_its_path() {
    let world = world();
    world.bare("cd project; git init -q par/in/r; git init -q --bare par/in/b.git").ok();
    for grant in ["par/in/r/.git", "par/in/b.git", "par/in/r/.git/hooks"] {
        let said = run(&world, &[("--ro", grant)], "mv par q; git init -q par/in/r");
        assert!(said.stderr.contains("busy"), "{grant}: {}", said.stderr);
        assert!(!world.project().join("q").exists(), "{grant}");
    }
}

/// A token in the settings of a repository is shown to no command, and to none that comes after a move.
#[test]
fn repository_with_a_token_stays_at_its_path() {
    let world = world();
    let token = "git init -q par/r; git -C par/r remote add o https://u:TOKEN@example.com/x";
    world.bare(&format!("cd project; {token}")).ok();
    let said = run(&world, &[], "mkdir node_modules; mv par node_modules/; git -C par/r remote -v");
    assert!(said.stderr.contains("busy"), "{}", said.stderr);
    for workspace in ["rw", "ro", "cow"] {
        let options = ["run", "--workspace", workspace];
        let said = world.run(&options, "cat par/r/.git/config node_modules/par/r/.git/config");
        assert!(
            said.stdout.contains("example.com") && !said.stdout.contains("TOKEN"),
            "{workspace}"
        );
    }
}

#[test]
fn what_is_beside_it_is_as_live_as_before() {
    let world = world();
    let script = "cd par; echo new >in/new; mv f in/f; mv in/new ../new; rm -r ../par/in/f; echo x >in/lib/f";
    let said = run(&world, &[("--ro", "par/in/lib")], script);
    assert!(said.fails(2).contains("Read-only file system"), "{}", said.stderr);
    assert!(is_own(&world, "par/in/lib/f") && !is_own(&world, "par/f"));
    assert_eq!(std::fs::read_to_string(world.project().join("new")).expect("moved"), "new\n");
}
