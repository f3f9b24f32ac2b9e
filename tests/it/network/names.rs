//! The server's name in the first bytes of a connection.

use std::path::PathBuf;

use super::world::{NetWorld, authority};
use crate::escape::prober::{Attempts, script};
use crate::harness::{debian_program, said};

const COMMON: &str = include_str!("probes/common.py");
const HELLO: &str = include_str!("probes/hello.py");

/// A policy with one allowed host, whose name must match or not.
fn policy(world: &NetWorld, matching: bool) -> PathBuf {
    let policy = format!(
        "version = 1\n[network]\nallow = [\"web.example.test:80,443\"]\nmatch_server_name = {matching}\n"
    );
    world.files().write("policy.toml", &policy)
}

/// What curl prints when it asks the allowed host for another server.
fn asked(world: &NetWorld, matching: bool, arguments: &str) -> String {
    let files = world.files();
    let policy = policy(world, matching);
    let authority = authority(files).display().to_string();
    let certificates = format!("CURL_CA_BUNDLE={authority}");
    let script =
        format!("curl -ksS -o /dev/null -w '%{{http_code}}' {arguments} 2>/dev/null; true");
    let mut endow = world.endow(["run", "-p"]);
    endow.arg(policy).args(["--ro", &authority, "--env", &certificates, "--", "sh", "-c", &script]);
    said(&mut endow).ok().to_owned()
}

#[test]
fn server_of_another_name_is_refused_where_names_must_match() {
    let Some(world) = NetWorld::start().filter(|_| debian_program("curl").is_some()) else {
        return;
    };
    let others = [
        "--connect-to other.example.test:443:web.example.test:443 https://other.example.test/",
        "-H 'Host: other.example.test' http://web.example.test/",
    ];
    for other in others {
        assert_eq!(asked(&world, false, other), "200", "the control: {other}");
        assert_eq!(asked(&world, true, other), "000", "{other}");
    }
    for own in ["https://web.example.test/", "http://web.example.test/"] {
        assert_eq!(asked(&world, true, own), "200", "{own}");
    }
}

/// A server of TLS 1.3 that wants another first message believes the name in that.
#[test]
fn server_of_another_name_is_refused_in_the_second_hello_too() {
    let Some(world) = NetWorld::start() else { return };
    let greeted = |matching, names: &str| {
        let mut endow = world.endow(["run", "-p"]);
        endow.arg(policy(&world, matching)).arg("--");
        endow.args(script(&format!("{COMMON}\n{HELLO}"), &[names]));
        Attempts::of(&mut endow).get("hello").to_owned()
    };
    let (own, other) = ("web.example.test web.example.test", "web.example.test other.example.test");
    assert_eq!(greeted(false, other), "ok", "the control");
    assert_eq!(greeted(true, own), "ok");
    assert_eq!(greeted(true, other), "ECONNRESET");
}
