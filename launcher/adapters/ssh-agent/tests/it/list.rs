//! Which keys a sandbox sees.

use crate::harness::World;

#[test]
fn list_has_the_chosen_keys_only() {
    let world = World::with(&["work", "home", "other"]);
    let _filter = world.filter(&["work", &world.fingerprint("other")]);
    let listed = world.ok("sandbox", &["ssh-add", "-L"]);
    let comments: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    assert_eq!(comments, ["work", "other"]);
    assert_eq!(world.ok("agent", &["ssh-add", "-L"]).lines().count(), 3, "the control");
}

#[test]
fn list_of_all_has_keys_that_come_later() {
    let world = World::with(&["work"]);
    let _filter = world.filter(&["*"]);
    world.make_key("late");
    world.ok("agent", &["ssh-add", "-q", "late"]);
    assert_eq!(world.ok("sandbox", &["ssh-add", "-L"]), world.ok("agent", &["ssh-add", "-L"]));
}

#[test]
fn list_has_certificates_of_chosen_keys() {
    let world = World::with(&["authority"]);
    for name in ["work", "home"] {
        world.make_key(name);
        world.ok("agent", &["ssh-keygen", "-q", "-s", "authority", "-I", "id", "-n", "git", name]);
        world.ok("agent", &["ssh-add", "-q", name]);
    }
    assert_eq!(world.ok("agent", &["ssh-add", "-L"]).lines().count(), 5, "two of them certified");
    let _filter = world.filter(&[&world.fingerprint("work-cert.pub")]);
    let listed = world.ok("sandbox", &["ssh-add", "-L"]);
    let kinds: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(kinds, ["ssh-ed25519", "ssh-ed25519-cert-v01@openssh.com"]);
    assert!(listed.lines().all(|line| line.ends_with(" work")), "{listed}");
}

#[test]
fn list_of_every_kind_of_key() {
    let world = World::with(&[]);
    for (kind, bits) in [("rsa", "2048"), ("ecdsa", "256"), ("ecdsa", "521"), ("ed25519", "256")] {
        let name = &format!("{kind}{bits}");
        let make = ["ssh-keygen", "-q", "-N", "", "-t", kind, "-b", bits, "-C", name, "-f", name];
        world.ok("agent", &make);
        world.ok("agent", &["ssh-keygen", "-q", "-s", name, "-I", "id", name]);
        world.ok("agent", &["ssh-add", "-q", name]);
        let filter = world.filter(&[&world.fingerprint(name)]);
        let listed = world.ok("sandbox", &["ssh-add", "-L"]);
        assert_eq!(listed.lines().count(), 2, "{name} with its certificate: {listed}");
        drop(filter);
        std::fs::remove_file(world.path("sandbox")).expect("removed");
    }
}
