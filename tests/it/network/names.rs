//! The server's name in the first bytes of a connection.

use super::world::{NetWorld, authority};
use crate::harness::{debian_program, said};

/// What curl prints when it asks the allowed host for another server.
fn asked(world: &NetWorld, matching: bool, arguments: &str) -> String {
    let files = world.files();
    let policy = format!(
        "version = 1\n[network]\nallow = [\"web.example.test:80,443\"]\nmatch_server_name = {matching}\n"
    );
    let policy = files.write("policy.toml", &policy);
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
