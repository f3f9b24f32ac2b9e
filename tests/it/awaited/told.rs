//! What plan, `why`, the report and errors say of a place that does not exist yet.

use serde_json::Value;

use super::First;
use crate::harness::said;

#[test]
fn plan_why_and_report_tell_it() {
    let first = First::new("mkdir ~/.claude; echo x >~/.claude/f");
    let home = first.world.home().canonicalize().expect("a path").display().to_string();
    let ask = |words: &[&str]| {
        let mut endow = first.world.endow(words);
        endow.env("PATH", format!("{}/programs:/usr/bin:/bin", first.world.root().display()));
        said(&mut endow)
    };
    let plan = ask(&["plan", "--", "claude"]).ok().to_owned();
    for (name, kind) in [(".claude", "directory"), (".claude.json", "file")] {
        let line = format!("awaited {home}/{name} {kind} (profile claude)");
        assert!(plan.contains(&line), "{line}: {plan}");
    }
    let why = ask(&["why", &format!("{home}/.claude"), "--to", "read", "--", "claude"]);
    assert!(why.stdout.contains("brought to it at the end"), "{why:?}");
    assert!(why.stdout.contains("profile claude"), "{why:?}");
    let report = first.world.root().join("report.json");
    let path = report.display().to_string();
    first.run(&["--report", &path]).ok();
    let report: Value =
        serde_json::from_slice(&std::fs::read(report).expect("a report")).expect("json");
    let mounts = report["mounts"].as_array().expect("a list");
    let found =
        mounts.iter().find(|it| it["kind"] == "awaited" && it["at"] == format!("{home}/.claude"));
    assert_eq!(found.expect("listed")["source"], format!("{home}/.claude"));
    let created = report["changes"]["created"].to_string();
    assert!(created.contains(&format!("{home}/.claude/f")), "{created}");
}

#[test]
fn place_where_nothing_can_be_made_is_an_error() {
    let first = First::new(":");
    let there = first.world.project().join("state").display().to_string();
    let words = ["--rw", &format!("{there},create=directory")];
    let said = first.run(&words);
    assert!(said.fails(125).contains("private directory"), "{said:?}");
    let optional = format!("{there},create=directory,optional");
    first.run(&["--rw", &optional]).ok();
    for words in [
        ["--ro", "/x,create=file"],
        ["--rw", "/x,create=link"],
        ["--cow", "/x,create=file,sync=discard"],
    ] {
        first.run(&words).fails(125);
    }
}
