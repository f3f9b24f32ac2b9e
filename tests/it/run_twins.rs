//! One directory of the host in several mounts, and endow's own directories below a grant.

use std::fs;

use crate::harness::{Said, World, said};

/// A host directory that holds a secret, a workspace and endow's own directories.
fn world() -> World {
    let world = World::new();
    world.write("home/.ssh/id_rsa", "secret\n");
    world.write("home/project/file", "content\n");
    world.run(&[], "true").ok();
    assert!(world.state().exists());
    world
}

fn run(world: &World, grants: &[String], script: &str) -> Said {
    let grants = grants.iter().map(String::as_str);
    let words: Vec<&str> =
        ["run", "--workspace", "none", "--chdir", "/"].into_iter().chain(grants).collect();
    said(&mut world.endow([&words[..], &["--", "sh", "-c", script]].concat()))
}

#[test]
fn what_is_shown_on_purpose_in_one_place_is_shown_there_alone() {
    for (access, order) in
        [("ro", false), ("ro", true), ("rw", false), ("rw", true), ("cow", false)]
    {
        let world = world();
        let root = world.root().display();
        let [flag, plain] = [format!("--{access}"), format!("/plain={root}")];
        let mut grants = [[flag, plain], ["--ro".into(), format!("/shown={root},nodeny")]];
        if order {
            grants.reverse();
        }
        let script = "cat /shown/home/.ssh/id_rsa; cat /plain/home/project/file; cat /plain/home/.ssh/id_rsa";
        let said = run(&world, &grants.concat(), script);
        assert_eq!(said.stdout, "secret\ncontent\n", "{access} {order}: {}", said.stderr);
    }
}

#[test]
fn names_are_protected_beside_a_place_where_nothing_is_denied() {
    let world = world();
    world.write("home/project/sub/.envrc", "theirs\n");
    let root = world.root().display().to_string();
    let places = [(",nodeny", ""), ("", ",nodeny")];
    for (w, z) in places {
        let grants =
            ["--rw".into(), format!("/w={root}{w}"), "--ro".into(), format!("/z={root}{z}")];
        let script = "cd /w/home/project; echo evil >sub/.envrc; echo fine >own";
        run(&world, &grants, script);
        let found = (world.read("sub/.envrc"), world.read("own"));
        assert_eq!(found, ("theirs\n".into(), "fine\n".into()), "{grants:?}");
        fs::remove_file(world.project().join("own")).expect("removed");
    }
}

/// What lies in endow's own directories can't be covered by itself: nobody gets there.
#[test]
fn home_can_be_granted_while_a_run_waits_in_it() {
    let world = world();
    let review = ["run", "--sync", "review", "--", "sh", "-c", "mkdir n; echo new >n/new"];
    said(&mut world.endow(review));
    assert_eq!(world.states().len(), 1);
    let grants = ["--rw".into(), format!("/w={}", world.root().display())];
    let said = run(&world, &grants, "cat /w/home/project/file; ls -A /w/state");
    assert_eq!(said.stdout, "content\n", "{}", said.stderr);
}
