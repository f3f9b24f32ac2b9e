//! What a project file may say before it is trusted.

use endow_policy::{FileKind, Sources, compose, judge};
use insta::assert_snapshot;

use crate::harness::*;

/// Judges a project file above a user file; `+` gives more, `-` narrows.
fn verdicts(user: &str, project: &str) -> String {
    let sources = Sources { user: Some(text(FileKind::User, user)), ..Sources::default() };
    let weaker = compose(&sources, &vars()).expect("composes");
    let file = text(FileKind::Project, project);
    let judgement = judge(&file, &weaker, &vars());
    assert_eq!(judgement.accept(&file).is_err(), !judgement.grants.is_empty());
    let line = |mark, list: &[endow_policy::Grant]| {
        list.iter().map(|g| format!("{mark} {} {}", g.origin, g.what)).collect::<Vec<_>>()
    };
    let mut lines = line('-', &judgement.narrowing);
    lines.extend(line('+', &judgement.grants));
    lines.join("\n")
}

#[test]
fn narrowing_entries() {
    let project = r#"
[workspace]
access = "ro"
root = "cwd"
[mounts]
"/opt" = false
"/scratch" = { memory = true }
"/ref" = { git = ".", rev = "HEAD" }
"/data" = "ro"
[deny]
patterns = ["*.secret"]
defaults = true
[protect]
names = ["Makefile"]
[env]
drop = ["X"]
pass = ["!TERM"]
[network]
mode = "none"
[limits]
timeout = 10
pids = 5
[process]
allow = ["!perf", "userns"]
new_session = true
[require]
level = "full"
[[expect]]
read = "/x"
is = "absent"
[[action]]
name = "x"
"#;
    let user =
        "[mounts]\n\"/data\" = \"rw\"\n[limits]\ntimeout = 20\n[process]\nallow = [\"userns\"]";
    let verdicts = verdicts(user, project);
    assert!(!verdicts.contains('+'), "{verdicts}");
    assert_snapshot!(verdicts, @"");
}

#[test]
fn granting_entries() {
    let project = r#"
extends = ["x"]
[workspace]
root = "~"
[mounts]
"/data" = "rw"
"/new" = "ro"
"./vendor" = "ro"
"/other" = { git = "/elsewhere", rev = "HEAD" }
"~" = { private = true, seed = ["~/.ssh/id_rsa"] }
"~/hidden" = false
"/usr/secret" = false
[deny]
patterns = ["!*.pem"]
defaults = false
[protect]
names = ["!Makefile"]
defaults = false
[env]
pass = ["AWS_SECRET_ACCESS_KEY"]
set = { LD_PRELOAD = "x" }
drop = ["!*_TOKEN"]
[network]
mode = "host"
allow = ["example.com"]
[limits]
timeout = 30
[process]
allow = ["userns"]
hostname = "x"
[require]
level = "landlock"
best_effort = ["memory"]
[secrets]
A = { from = "env:A" }
"#;
    let user = "[mounts]\n\"/data\" = \"ro\"\n\"/usr/secret\" = { memory = true }\n\"~/hidden\" = \"ro\"\n[limits]\ntimeout = 20";
    assert_snapshot!(verdicts(user, project), @"");
}

#[test]
fn the_workspace_itself_may_be_lowered() {
    assert_snapshot!(verdicts("", "[mounts]\n\".\" = \"ro\""), @"");
    assert_snapshot!(verdicts("[workspace]\naccess = \"ro\"", "[mounts]\n\".\" = \"rw\""), @"");
    assert_snapshot!(verdicts("[workspace]\naccess = \"ro\"", "[workspace]\naccess = \"rw\""), @"");
    assert_snapshot!(verdicts("", "[mounts]\n\".\" = { access = \"ro\", nodeny = true }"), @"");
}

#[test]
fn options_may_not_loosen() {
    let user = "[mounts]\n\"/data\" = { access = \"rw\", noexec = true }";
    assert_snapshot!(verdicts(user, "[mounts]\n\"/data\" = \"ro\""), @"");
    assert_snapshot!(verdicts(user, "[mounts]\n\"/data\" = { noexec = true }"), @"");
    assert_snapshot!(verdicts(user, "[mounts]\n\"/data\" = { host = \"/etc\", noexec = true }"), @"");
}

#[test]
fn removal_under_the_workspace_uncovers() {
    let user = "[mounts]\n\"./keys\" = { memory = true }\n\"~/src/app/keys\" = { memory = true }";
    let user = user.lines().filter(|line| !line.starts_with("\"./")).collect::<Vec<_>>().join("\n");
    assert_snapshot!(verdicts(&user, "[mounts]\n\"./keys\" = false"), @"");
}
