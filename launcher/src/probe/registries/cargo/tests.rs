//! Configurations of cargo, and what it keeps, as examples.

use super::super::address::rules;
use super::super::outside::testing::Host;
use super::*;

/// Checks the hosts, or the fault.
fn check(host: &Host, expected: Result<&[&str], &str>) {
    let found = registries(&host.outside()).and_then(|named| rules(&named));
    let found = found.map(|rules| rules.iter().map(ToString::to_string).collect::<Vec<_>>());
    let found = found.map_err(|fault| match fault {
        RegistryFault::Unused { .. } => "unused",
        RegistryFault::Unreadable { .. } => "unreadable",
        RegistryFault::NoAddress { .. } => "no address",
        RegistryFault::Writable { .. } => "writable",
        _ => "other",
    });
    assert_eq!(found, expected.map(|hosts| hosts.iter().map(ToString::to_string).collect()));
}

/// Lets cargo have used a registry.
fn used(host: &Host, name: &str, json: &str) {
    host.write(&format!("home/.cargo/registry/index/{name}/config.json"), json);
}

const USED: &str = r#"{"dl": "https://files.example/crates", "api": "https://api.example:8443"}"#;

#[test]
fn cargo_that_was_never_used_says_so() {
    let host = Host::new();
    check(&host, Err("unused"));
    // One that only has a repository of git knows nothing either.
    host.write("home/.cargo/registry/index/old.example-0123456789abcdef/.last-updated", "");
    check(&host, Err("unused"));
}

#[test]
fn used_registries_say_where_packages_are() {
    let mut host = Host::new();
    used(&host, "index.example-0123456789abcdef", USED);
    check(&host, Ok(&["index.example:443", "files.example:443", "api.example:8443"]));
    used(&host, "other.example-00", r#"{"dl": "https://other.example/{crate}/{version}"}"#);
    let all = ["index.example:443", "files.example:443", "api.example:8443", "other.example:443"];
    check(&host, Ok(&all));
    host.set("CARGO_HOME", host.path("elsewhere"));
    check(&host, Err("unused"));
}

#[test]
fn mirror_stands_for_the_default() {
    let host = Host::new();
    used(&host, "index.example-0123456789abcdef", USED);
    let config = |text: &str| host.write("home/.cargo/config.toml", text);
    config(
        "[source.crates-io]\nreplace-with = 'mirror'\n[source.mirror]\n\
         registry = 'sparse+https://mirror.example:8443/index/'\n",
    );
    check(&host, Ok(&["mirror.example:8443"]));
    used(&host, "mirror.example-01", r#"{"dl": "https://packages.example", "api": null}"#);
    check(&host, Ok(&["mirror.example:8443", "packages.example:443"]));
    config(
        "[source.crates-io]\nreplace-with = 'a'\n[source.a]\nreplace-with = 'own'\n[registries.own]\nindex = 'https://own.example'",
    );
    check(&host, Ok(&["own.example:443"]));
    config("[source.crates-io]\nreplace-with = 'v'\n[source.v]\ndirectory = 'vendor'");
    check(&host, Err("other"));
}

#[test]
fn further_registries_stand_beside_the_default() {
    let mut host = Host::new();
    host.write(
        "home/.cargo/config.toml",
        "[registries.own]\nindex = 'sparse+http://own.example/'\n",
    );
    check(&host, Err("unused"));
    used(&host, "own.example-01", r#"{"dl": "http://own.example/dl"}"#);
    check(&host, Err("unused"));
    used(&host, "index.example-02", USED);
    let default = ["index.example:443", "files.example:443", "api.example:8443"];
    let expected = |more: &[&'static str]| [&default, more].concat();
    check(&host, Ok(&expected(&["own.example:80"])));
    host.set("CARGO_REGISTRIES_MORE_INDEX", "https://u:secret@more.example");
    check(&host, Ok(&expected(&["own.example:80", "more.example:443"])));
}

#[test]
fn older_name_of_the_configuration_counts() {
    let host = Host::new();
    let text = |host: &str| {
        format!(
            "[source]\ncrates-io = {{ replace-with = 'm' }}\nm = {{ registry = 'https://{host}' }}"
        )
    };
    host.write("home/.cargo/config.toml", &text("new.example"));
    check(&host, Ok(&["new.example:443"]));
    host.write("home/.cargo/config", &text("old.example"));
    check(&host, Ok(&["old.example:443"]));
}

#[test]
fn odd_configurations_are_faults() {
    let host = Host::new();
    used(&host, "index.example-02", USED);
    for text in [
        "[source",
        "registries = 3",
        "[source.crates-io]\nreplace-with = 3",
        "[source.crates-io]\nreplace-with = 'none'",
        "[source.crates-io]\nreplace-with = 'a'\n[source.a]\nreplace-with = 'crates-io'",
        "[source.crates-io]\nreplace-with = 'a'\n[source.a]\nregistry = 3",
    ] {
        host.write("home/.cargo/config.toml", text);
        check(&host, Err("unreadable"));
    }
    host.write("home/.cargo/config.toml", "source = 3\n[registries]\na = 3\nb = {}\n[source-x]");
    check(&host, Ok(&["index.example:443", "files.example:443", "api.example:8443"]));
}

#[test]
fn odd_indexes_are_faults() {
    for json in ["", "[]", "{}", r#"{"dl": 3}"#, r#"{"dl": "https://{prefix}.example"}"#] {
        let host = Host::new();
        used(&host, "index.example-02", json);
        check(&host, Err("no address"));
    }
    for name in ["index.example", "-02", "index.example-xy", "index.example-", "a_b -"] {
        let host = Host::new();
        used(&host, name, USED);
        check(&host, Err("unused"));
    }
    let host = Host::new();
    used(&host, "index example-02", USED);
    check(&host, Err("no address"));
}

#[test]
fn what_a_command_may_write_is_not_believed() {
    let mut host = Host::new();
    used(&host, "index.example-02", USED);
    host.write("home/.cargo/config.toml", "");
    host.open("home/.cargo/registry");
    check(&host, Err("writable"));
    host.open("home/.cargo");
    check(&host, Err("writable"));
}
