//! What a sandbox can have signed, and by which keys.

use std::os::unix::net::UnixStream;

use crate::harness::{FAILURE, World, ask, first_key, string};

/// Has the tool sign a file with a key of which it has the public half only.
fn sign(key: &str) -> [&str; 9] {
    ["ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", key, "text"]
}

fn only_public_keys(world: &World, names: &[&str]) {
    world.write("text", "a commit");
    for name in names {
        std::fs::remove_file(world.path(name)).expect("removed");
    }
}

#[test]
fn sign_works_with_a_chosen_key() {
    let world = World::with(&["work", "home"]);
    let _filter = world.filter(&["work"]);
    only_public_keys(&world, &["work", "home"]);
    world.ok("sandbox", &sign("work.pub"));
    let key = std::fs::read_to_string(world.path("work.pub")).expect("read");
    world.write("signers", &format!("me {key}"));
    let verify = "ssh-keygen -Y verify -f signers -I me -n git -s text.sig <text";
    world.ok("sandbox", &["sh", "-c", verify]);
}

#[test]
fn sign_fails_with_another_key() {
    let world = World::with(&["work", "home"]);
    let _filter = world.filter(&["work"]);
    only_public_keys(&world, &["work", "home"]);
    world.fails("sandbox", &sign("home.pub"));
    world.ok("agent", &sign("home.pub"));
}

#[test]
fn sign_of_unknown_data_fails() {
    let world = World::with(&["work"]);
    let _filter = world.filter(&["work"]);
    let mut client = world.client();
    let key = first_key(&mut client);
    let mut agent = UnixStream::connect(world.path("agent")).expect("connected");
    for data in [&b"any text"[..], b"", b"SSHSIG", &string(&[1; 32])] {
        let message = [&[13][..], &string(&key), &string(data), &[0; 4]].concat();
        assert_eq!(ask(&mut client, &message).expect("answered"), FAILURE);
        assert_eq!(ask(&mut agent, &message).expect("answered")[0], 14, "the control");
    }
}

#[test]
fn sign_of_a_login_with_another_key_fails() {
    let world = World::with(&["work"]);
    let _filter = world.filter(&["work"]);
    let mut client = world.client();
    let key = first_key(&mut client);
    let mut other = key.clone();
    other[30] ^= 1;
    let mut login = |named: &[u8]| {
        let head = [&string(&[1; 32])[..], &[50], &string(b"git"), &string(b"ssh-connection")];
        let tail = [&string(b"publickey")[..], &[1], &string(b"ssh-ed25519"), &string(named)];
        let data = [head.concat(), tail.concat()].concat();
        let message = [&[13][..], &string(&key), &string(&data), &[0; 4]].concat();
        ask(&mut client, &message).expect("answered")[0]
    };
    assert_eq!(login(&key), 14);
    assert_eq!(login(&other), 5);
}
