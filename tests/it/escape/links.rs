//! Links that one run plants for the next.

use crate::harness::World;

const SECRET: &str = "canary\n";

/// A project that is granted live, with `data` below it replaced by a link to a secret from inside.
fn planted(link: &str) -> (World, String) {
    let world = World::new();
    world.write("secret/key", SECRET);
    world.write("home/project/data/key", "public\n");
    world.write("home/project/other/key", "other\n");
    let to = link.replace("ROOT", world.root().to_str().expect("text"));
    world.run(&["run", "--workspace", "rw"], &format!("rm -r data; ln -s {to} data")).ok();
    let data = world.project().join("data").to_str().expect("text").to_owned();
    (world, data)
}

#[test]
fn escape_by_a_link_in_the_place_of_a_grant() {
    for (link, options) in [
        ("ROOT/secret", &["--workspace", "rw", "--ro"][..]),
        ("../../secret", &["--workspace", "rw", "--ro"]),
        ("ROOT/secret", &["--workspace", "rw", "--rw"]),
        ("../../../../../../../../../../etc", &["--workspace", "rw", "--rw"]),
    ] {
        let (world, data) = planted(link);
        let options = [&["run"], options, &[data.as_str()]].concat();
        let refused = world.run(&options, &format!("cat {data}/key"));
        assert_eq!(refused.stdout, "");
        let told = refused.fails(125);
        assert!(told.contains(&format!("link leads out of a writable mount: {data}")), "{told}");
        assert!(told.contains("hint: if you made it, grant "), "{told}");
        world.assert_no_run_left();
    }
}

/// Without the rule: where nothing of the run is writable, the same link is followed.
#[test]
fn escape_by_a_link_in_the_place_of_a_grant_control() {
    let (world, data) = planted("ROOT/secret");
    let options = ["run", "--workspace", "ro", "--ro", &data];
    assert_eq!(world.run(&options, &format!("cat {data}/key")).ok(), SECRET);
}

#[test]
fn link_that_stays_in_the_live_mount_is_followed() {
    let (world, data) = planted("other");
    let options = ["run", "--workspace", "rw", "--ro", &data];
    let script = format!("cat {data}/key; echo x > {data}/new");
    let inside = world.run(&options, &script);
    assert_eq!(inside.stdout, "other\n");
    assert!(inside.stderr.contains("Read-only file system") || inside.stderr.contains("denied"));
    assert!(!world.project().join("other/new").exists());
}

/// The base shows program directories of the home where it finds them: a link in their place shows
/// nothing, and ends no run.
#[test]
fn escape_by_a_link_in_the_place_of_a_program_directory() {
    let world = World::new();
    world.write("secret/key", SECRET);
    let home = world.home().to_str().expect("text").to_owned();
    let secret = world.root().join("secret").display().to_string();
    let script = format!("mkdir -p {home}/go; ln -s {secret} {home}/go/bin");
    let options = ["run", "--rw", &home];
    world.run(&options, &script).ok();
    let inside = world.run(&options, "readlink ~/go/bin; cat ~/go/bin/key");
    assert_eq!(inside.stdout, format!("{secret}\n"));
    assert_ne!(inside.code, 0);
    let control = world.run(&["run", "--workspace", "rw"], "cat ~/go/bin/key");
    assert_eq!(control.ok(), SECRET);
}
