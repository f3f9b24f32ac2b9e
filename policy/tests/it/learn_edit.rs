//! Proposals in the text of a file, the rest of which stays.

use endow_policy::learn::Need;
use endow_policy::{AllowWord, NetworkMode};

use crate::harness::vars;
use crate::learn::{changed, host, read, write};
use crate::learn_world::{gives, policy};

#[test]
fn rest_of_a_file_stays_as_it_was_written() {
    let text = "# Ours.\nversion = 1   # the first\nextends = ['git'] # theirs\n\n[mounts] # here\n# data\n\"/srv/a\" \
                = \"ro\" # kept\n\n  # and\n[limits]\npids = 9\n";
    let needs =
        [write("/srv/a"), read("/srv/b/c"), read("/home/u/.ssh/x"), read("/home/u/.cache/uv/y")];
    let expected = "# Ours.\nversion = 1   # the first\nextends = ['git', \"python\"] # theirs\n\n[mounts] # here\n# data\n\
                    \"/srv/a\" = \"cow\" # kept\n\"/srv/b/c\" = \"ro\"  # read\n#\"~/.ssh/x\" = \"ro\"  # read: logins to \
                    other machines\n\n  # and\n[limits]\npids = 9\n";
    assert_eq!(changed(Some(text), &needs), expected);
    assert_eq!(changed(Some(expected), &needs[2..3]), expected);
}

#[test]
fn ends_of_lines_and_marks_stay() {
    let needs = [read("/srv/a")];
    let text = "\u{feff}version = 1\r\n# mine\r\n[env]\r\npass = [\"A\"]\r\n";
    let new = format!("{text}\r\n[mounts]\r\n\"/srv/a\" = \"ro\"  # read\r\n");
    assert_eq!(changed(Some(text), &needs), new);
}

#[test]
fn comments_of_a_table_in_braces_stay() {
    let text = "mounts = { \"/tmp/z\" = { memory = true } } # keep me\nversion = 1\n\n# about env\n[env]\npass = [\"A\"]\n";
    let new = changed(Some(text), &[read("/srv/a")]);
    assert!(new.contains("[mounts] # keep me\n"), "{new}");
    assert!(new.contains("\n# about env\n[env]\n"), "{new}");
    let text = "version = 1\n# ours\nmounts = { \"/tmp/z\" = { memory = true } }\n";
    let new = changed(Some(text), &[read("/srv/a")]);
    assert!(new.contains("\n# ours\n[mounts]\n"), "{new}");
}

#[test]
fn reason_of_a_line_is_that_of_what_it_says_now() {
    let with = |reason: &str| format!("version = 1\n[mounts]\n\"/srv/a\" = \"ro\"{reason}\n");
    for (before, after) in [
        ("  # read", "  # changed"),
        ("  # read, at 5 names", "  # changed"),
        ("  # read by all", "  # read by all"),
        ("", ""),
    ] {
        let new = changed(Some(&with(before)), &[write("/srv/a")]);
        assert_eq!(new, with(after).replace("\"ro\"", "\"cow\""));
    }
}

/// What is no grant opens nothing, and what opens more than it names says so.
#[test]
fn mode_of_the_network_goes_for_a_grant_alone() {
    let inner = host("10.0.0.1:80");
    for text in [
        "version = 1\n[network]\nmode = \"none\" # none\n",
        "version = 1\nnetwork.mode = \"none\"\n",
        "version = 1\nnetwork = { mode = \"none\" }\n",
    ] {
        let new = changed(Some(text), std::slice::from_ref(&inner));
        assert!(new.contains("\"none\"") && new.contains("#\"10.0.0.1:80\""), "{new}");
        assert_eq!(policy(Some(&new), &vars()).network.mode, NetworkMode::None, "{new}");
        let new = changed(Some(text), &[inner.clone(), host("b.example.com")]);
        assert_eq!(policy(Some(&new), &vars()).network.mode, NetworkMode::Allow, "{new}");
        assert_eq!(new.matches("# no `mode = \"none\"` any more").count(), 1, "{new}");
    }
    let text = "version = 1\n[network]\nmode = \"allow\"\n";
    let new = changed(Some(text), &[host("b.example.com")]);
    assert_eq!(new, "version = 1\n[network]\nallow = [\"b.example.com\"]\n");
}

/// Each way of writing a table and a list is a policy afterwards.
#[test]
fn any_spelling_of_a_file_takes_lines() {
    let texts = [
        "version = 1\nmounts = { \"/srv/a\" = { access = \"ro\", noexec = true } }\n",
        "version = 1\nmounts.\"/srv/a\" = \"ro\"\nnetwork.allow = [\"x.example.com\"]\n",
        "version = 1\n[mounts]\n\"/srv/a/\" = false\n[network]\nmode = \"none\"\n",
        "version = 1\n[network]\nallow = [\n  # first\n  \"x.example.com\", # one\n  \"!b.example.com\"\n]\n",
        "version = 1\n[network]\nallow = [ \"x.example.com\" ]\n[process]\nallow = []\n[mounts]\n",
        "version = 1\r\n[workspace]\r\naccess = \"ro\"\r\n",
    ];
    let needs = [
        write("/srv/a"),
        read("/srv/b"),
        read("/home/u/.ssh/x"),
        host("b.example.com"),
        host("10.0.0.1:80"),
        Need::Call(AllowWord::Userns),
        write("/home/u/src/app/made"),
    ];
    for text in texts {
        let wanted: Vec<&Need> =
            needs.iter().filter(|need| !gives(&policy(Some(text), &vars()), need)).collect();
        let wanted: Vec<Need> = wanted.into_iter().cloned().collect();
        let new = changed(Some(text), &wanted);
        let then = policy(Some(&new), &vars());
        for need in &needs {
            let dangerous = matches!(need, Need::Call(_)) || *need == needs[2] || *need == needs[4];
            assert_eq!(gives(&then, need), !dangerous, "{need:?}\n{new}");
        }
        assert_eq!(changed(Some(&new), &wanted[..]), new);
    }
}
