//! What sources make of bridges together.

use endow_policy::{Flags, Policy};

use crate::harness::*;

/// Renders the bridges, and what the view, the network and the environment have of them.
fn show(policy: &Policy) -> String {
    let bridges = policy.bridges.iter().map(|it| format!("{} ({})", it.value, it.origin));
    let socket = policy.mounts.iter().find(|it| it.at.as_path().ends_with("bridges.sock"));
    let socket = socket.map(|it| format!("{} {:?} ({})", it.at, it.access, it.origin));
    let ports =
        policy.network.publish.iter().map(|it| format!("port {} ({})", it.value, it.origin));
    let set = policy.environment.set.get("BROWSER".as_ref() as &std::ffi::OsStr);
    let set = set.map(|(value, origin)| format!("BROWSER={} ({origin})", value.display()));
    bridges.chain(socket).chain(ports).chain(set).collect::<Vec<_>>().join("\n")
}

/// Composes a user file, a stronger one and words of `--bridge`.
fn merged(user: &str, explicit: &str, words: &[&str]) -> String {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    let flags = Flags { bridge: words, ..Flags::default() };
    policy(&layered(user, explicit, &flags), &vars()).map_or_else(|error| error, |it| show(&it))
}

#[test]
fn nothing_is_open_unless_it_is_said() {
    assert_eq!(merged("", "", &[]), "");
    assert_eq!(merged("[bridges]\nopen = [\"notify\"]", "", &["!notify"]), "");
    assert_eq!(merged("", "", &["ssh-agent:work"]), "", "a key opens no other");
}

#[test]
fn words_add_up_and_are_taken_back() {
    let user = "[bridges]\nopen = [\"clipboard\", \"browser:a.example\"]";
    let later = "[bridges]\nopen = [\"!clipboard\", \"browser:a.example\"]";
    insta::assert_snapshot!(merged(user, later, &["notify"]), @r"
    browser:a.example:443 (~/.config/endow/policy.toml:3)
    notify (--bridge notify)
    /run/endow/bridges.sock Ro (~/.config/endow/policy.toml:3)
    BROWSER=/run/endow/bin/xdg-open (~/.config/endow/policy.toml:3)
    ");
}

#[test]
fn login_has_a_port_and_a_browser() {
    insta::assert_snapshot!(merged("[env]\nset = { BROWSER = \"x\" }", "", &["oauth:1455"]), @r"
    oauth:1455 (--bridge oauth:1455)
    browser (--bridge oauth:1455)
    /run/endow/bridges.sock Ro (--bridge oauth:1455)
    port 1455:1455 (--bridge oauth:1455)
    BROWSER=x (~/.config/endow/policy.toml:3)
    ");
    let limited = merged("", "", &["oauth:1455", "browser:a.example"]);
    assert!(!limited.contains("browser (") && limited.contains("browser:a.example"), "{limited}");
}

/// Who takes a limit back does not open what it kept closed.
#[test]
fn login_has_no_browser_where_a_word_about_it_was_taken_back() {
    let user = "[bridges]\nopen = [\"browser:a.example\", \"oauth\"]";
    for (words, open) in [
        (&["!browser:a.example"][..], ""),
        (&["!browser"], "browser:a.example:443"),
        (&["!browser:a.example", "browser:b.example"], "browser:b.example:443"),
        (&["!browser:a.example", "browser"], "browser "),
    ] {
        let said = merged(user, "", words);
        let browsers: Vec<&str> = said.lines().filter(|it| it.starts_with("browser")).collect();
        assert_eq!(browsers.len(), usize::from(!open.is_empty()), "{said}");
        assert!(said.contains("oauth (") && said.contains(open), "{said}");
    }
    assert!(!merged("", "", &["oauth", "!browser"]).contains("browser ("));
}

#[test]
fn login_without_a_port_publishes_none_before_it_begins() {
    insta::assert_snapshot!(merged("", "", &["oauth"]), @r"
    oauth (--bridge oauth)
    browser (--bridge oauth)
    /run/endow/bridges.sock Ro (--bridge oauth)
    BROWSER=/run/endow/bin/xdg-open (--bridge oauth)
    ");
    let logins = |text: &str| {
        let flags = Flags { bridge: vec!["oauth".to_owned()], ..Flags::default() };
        policy(&layered(text, "", &flags), &vars()).expect("good").network.logins
    };
    assert!(logins(""));
    assert!(!logins("[network]\nmode = \"host\""), "the host's network has every port");
}

#[test]
fn port_is_published_once() {
    let ports = |text: &str| text.matches("port 1455:1455").count();
    assert_eq!(ports(&merged("[network]\npublish = [\"1455\"]", "", &["oauth:1455"])), 1);
    let taken = merged("[network]\npublish = [\"1455:80\"]", "", &["oauth:1455"]);
    assert!(taken.starts_with("published twice"), "{taken}");
    let host = merged("[network]\nmode = \"host\"", "", &["oauth:1455"]);
    assert!(!host.contains("port "), "the host's network has it: {host}");
}
