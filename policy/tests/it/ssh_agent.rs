//! What sources make of keys of the ssh-agent together.

use endow_policy::{FileKind, Flags, Policy, Sources, Stated, compose};
use insta::assert_snapshot;

use crate::harness::*;

/// Renders the chosen keys, and what the view and the environment have of them.
fn show(policy: &Policy) -> String {
    let mount = policy.mounts.iter().find(|it| it.at.as_path().ends_with("ssh-agent.sock"));
    let mount = mount.map(|it| format!("{} {:?} ({})", it.at, it.access, it.origin));
    let set = policy.environment.set.get("SSH_AUTH_SOCK".as_ref() as &std::ffi::OsStr);
    let set = set.map(|(value, origin)| format!("SSH_AUTH_SOCK={} ({origin})", value.display()));
    let Some(chosen) = &policy.ssh_agent else { return format!("off {mount:?} {set:?}") };
    let key = |key: &Stated<String>| format!("{} ({})", key.value, key.origin);
    let mut lines: Vec<String> = chosen.keys.iter().map(key).collect();
    let agent = chosen.agent.iter().map(|it| format!("of {} ({})", it.value, it.origin));
    let confirm = chosen.confirm.iter().map(|it| format!("asks {:?} ({})", it.value, it.origin));
    lines.extend(agent.chain(confirm));
    lines.extend(mount.into_iter().chain(set));
    lines.join("\n")
}

/// Composes a user file, a stronger one and keys of `--bridge`.
fn merged(user: &str, explicit: &str, flags: &[&str]) -> String {
    let keys = flags.iter().map(|key| format!("ssh-agent:{key}")).collect();
    let flags = Flags { bridge: keys, ..Flags::default() };
    policy(&layered(user, explicit, &flags), &vars()).map_or_else(|error| error, |it| show(&it))
}

#[test]
fn key_has_a_socket_and_a_variable() {
    assert_snapshot!(merged("", "", &["work"]));
}

#[test]
fn keys_add_up_and_the_rest_is_replaced() {
    let user = "[ssh_agent]\nkeys = [\"a\", \"b\"]\nconfirm = [\"ssh-askpass\"]\nagent = \"~/one\"";
    let later = "[ssh_agent]\nkeys = [\"!a\", \"c\", \"b\"]\nconfirm = [\"./ask\", \"./x\"]\nagent = \"$XDG_RUNTIME_DIR/two\"";
    assert_snapshot!(merged(user, later, &["SHA256:d"]));
}

#[test]
fn nothing_is_there_without_a_key() {
    let user = "[ssh_agent]\nkeys = [\"a\"]\nconfirm = [\"ssh-askpass\"]";
    let cases = [
        merged(user, "[ssh_agent]\nkeys = [\"!a\"]", &[]),
        merged(user, "", &["!a"]),
        merged("[ssh_agent]\nconfirm = []\nagent = \"/x\"", "", &[]),
        merged("", "", &[]),
    ];
    for case in cases {
        assert_eq!(case, "off None None");
    }
}

#[test]
fn variable_that_is_set_stays() {
    assert_snapshot!(merged("[env]\nset = { SSH_AUTH_SOCK = \"/x\" }", "", &["a"]));
}

#[test]
fn exception_from_all_keys_is_refused() {
    let all = "[ssh_agent]\nkeys = [\"*\"]";
    let later = "[ssh_agent]\nkeys = [\"!*\", \"!a\", \"b\"]";
    assert_eq!(merged(all, "[ssh_agent]\nkeys = [\"!a\"]", &[]), "still chosen: a");
    assert!(merged(all, later, &[]).starts_with("b (policy.toml:3)\n/run/user"));
    let sources = Sources {
        user: Some(text(FileKind::User, all)),
        project: Some(text(FileKind::Project, "[ssh_agent]\nkeys = [\"!a\"]")),
        ..Sources::default()
    };
    let error = compose(&sources, &vars()).expect_err("refused");
    let hint = "`*` (~/.config/endow/policy.toml:3) chooses every key: take that back";
    assert_eq!(error.hints(), [hint]);
}

#[test]
fn place_that_is_taken_is_refused() {
    let user = "[mounts]\n\"/run/user/1000/ssh-agent.sock\" = { host = \"/x\", socket = true }";
    assert_eq!(merged(user, "", &["a"]), "taken already: /run/user/1000/ssh-agent.sock");
}

#[test]
fn word_of_the_flag_without_a_meaning_is_refused() {
    let refused = |word: &str| {
        let flags = Flags { bridge: vec![word.to_owned()], ..Flags::default() };
        let error = flags.layer().expect_err("refused");
        format!("{error} | {}", error.hint.as_deref().unwrap_or("-"))
    };
    for word in ["ssh-agent:", "ssh-agent:!"] {
        assert_eq!(refused(word), format!("empty value: --bridge {word} | -"));
    }
    assert!(refused("ssh").starts_with("unknown word: --bridge ssh | "), "{}", refused("ssh"));
    let all = Flags { bridge: vec!["ssh-agent".to_owned()], ..Flags::default() };
    let keys = all.layer().expect("good").ssh_agent.keys;
    assert_eq!(keys.iter().map(|key| key.value.as_str()).collect::<Vec<_>>(), ["*"]);
}
