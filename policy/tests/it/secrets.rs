//! What sources make of secrets together.

use endow_policy::{Flags, Policy, SecretUse};
use insta::assert_snapshot;

use crate::harness::*;

const API: &str =
    "A = { from = \"env:KEY\", for = \"api.example.com/v1\", header = \"X-Key: {}\" }\n";

/// Renders secrets, and what the environment has of them.
fn show(policy: &Policy) -> String {
    let secrets = policy.secrets.iter().map(|secret| {
        let to = match &secret.value.to {
            SecretUse::Header(it) => {
                format!("{} {} {}={}", it.server, it.header, it.variable, it.url())
            }
            SecretUse::Descriptor(number) => format!("fd {number}"),
            SecretUse::Withheld => "withheld".to_owned(),
        };
        format!("{} {}: {to} ({})", secret.value.name, secret.value.from, secret.origin)
    });
    let rules = &policy.environment;
    let keeps = |name: &str| rules.drop.iter().any(|(dropped, _)| dropped == name);
    let passed = rules.pass_exact.iter().any(|(name, _)| name == "KEY");
    let key = if passed {
        "KEY passes"
    } else if keeps("KEY") {
        "KEY is kept"
    } else {
        "-"
    };
    let served = policy.network.endpoints.len();
    let last = format!("{key}, {served} served, {}", policy.network.mode.word());
    secrets.chain([last]).collect::<Vec<_>>().join("\n")
}

/// Composes a user file and a stronger one, and `--net` words.
fn merged(user: &str, explicit: &str, net: &[&str]) -> String {
    let flags = Flags { net: net.iter().map(ToString::to_string).collect(), ..Flags::default() };
    policy(&layered(user, explicit, &flags), &vars()).map_or_else(|error| error, |it| show(&it))
}

#[test]
fn endpoint_has_a_port_and_a_variable() {
    let user = format!("[secrets]\n{API}B = {{ from = \"file:~/b\", fd = 3 }}");
    assert_snapshot!(merged(&user, "", &[]));
}

#[test]
fn web_sockets_are_passed_on_where_an_entry_says_so() {
    let websocket = |value: &str| {
        let user = format!("[secrets]\n{}", API.replace(" }", &format!("{value} }}")));
        let policy = policy(&layered(&user, "", &Flags::default()), &vars()).expect("a policy");
        policy.network.endpoints.first().expect("an endpoint").value.websocket
    };
    assert!(!websocket("") && !websocket(", websocket = false") && websocket(", websocket = true"));
}

#[test]
fn later_entry_replaces_and_false_removes() {
    let user = format!("[secrets]\n{API}B = {{ from = \"cmd:b\", fd = 3 }}");
    let later = "[secrets]\nA = { from = \"env:KEY\", fd = 4 }\nB = false";
    assert_snapshot!(merged(&user, later, &[]));
}

#[test]
fn variable_that_holds_a_secret_is_never_passed() {
    let user = format!("[env]\npass = [\"KEY\"]\n[secrets]\n{API}");
    assert_snapshot!(merged(&user, "[env]\npass = [\"KEY\"]", &[]));
}

#[test]
fn network_that_is_taken_away_takes_the_endpoint() {
    let user = format!("[secrets]\n{API}");
    assert_snapshot!(
        ["none", "host", "example.org"].map(|word| merged(&user, "", &[word])).join("\n\n")
    );
}

#[test]
fn no_secret_is_at_the_port_of_a_login() {
    let with_login = |user: &str, word: &str| {
        let flags = Flags { bridge: vec![word.to_owned()], ..Flags::default() };
        policy(&layered(user, "", &flags), &vars())
    };
    let placed = with_login(&format!("[secrets]\n{API}"), "oauth:8601").expect("a policy");
    assert_eq!(placed.network.endpoints[0].value.port, 8602);
    assert_eq!(placed.network.served_ports(), [8602].into());
    let chosen = format!("[secrets]\n{}", API.replace(" }", ", port = 1455 }"));
    let refused = with_login(&chosen, "oauth:1455").expect_err("both have it");
    assert!(refused.starts_with("taken already: port 1455"), "{refused}");
}

#[test]
fn two_things_are_never_at_one_place() {
    let with = |more: &str| format!("[secrets]\n{API}{more}");
    let api = |name: &str, more: &str| {
        format!(
            "{name} = {{ from = \"env:K\", for = \"b.example.com\", header = \"X: {{}}\"{more} }}"
        )
    };
    let cases = [
        merged(&with(&api("B", ", url = \"A_BASE_URL\"")), "", &[]),
        merged(&with(&api("B", ", port = 8601")), "", &[]),
        merged(&with(&format!("{}\n{}", api("B", ", port = 9"), api("C", ", port = 9"))), "", &[]),
        merged(&with(&api("B", ", port = 3128")), "[network]\nproxy = 3128", &[]),
        merged(&with(&api("B", ", port = 5432")), "", &["localhost:5432"]),
        merged(
            "[secrets]\nA = { from = \"env:K\", fd = 3 }\nB = { from = \"env:K\", fd = 3 }",
            "",
            &[],
        ),
        merged(&with(""), "[network]\npublish = [\"9000:8601\"]", &[]),
        merged(&with(&api("B", ", port = 3000")), "[network]\npublish = [\"3000\"]", &[]),
        merged("", &format!("[network]\nmode = \"host\"\n[secrets]\n{API}"), &[]),
    ];
    assert_snapshot!(cases.join("\n\n"));
}
