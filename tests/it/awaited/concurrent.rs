//! Two first sessions at once, or one and its user: nobody loses anything.

use super::First;
use crate::harness::said;

#[test]
fn two_first_sessions_both_survive() {
    // What is open is neither published nor replaced.
    let script = "mkdir -p ~/.claude/projects/$1; echo $1 >~/.claude/projects/$1/log; echo same >~/.claude/same
        exec 3>>~/.claude.json; echo in; read go; echo \"{\\\"projects\\\":{\\\"$1\\\":1}}\" >&3; exec 3>&-";
    let first = First::new(&format!("set -- $N\n{script}"));
    let mut both = ["a", "b"].map(|name| {
        let assigned = format!("N={name}");
        first.start(&["--env", &assigned])
    });
    for running in &mut both {
        running.expect("in");
    }
    for running in &mut both {
        running.say("\n");
        assert_eq!(running.end(), 0);
    }
    let merged: serde_json::Value =
        serde_json::from_str(&first.text(".claude.json")).expect("json");
    assert_eq!(merged, serde_json::json!({"projects": {"a": 1, "b": 1}}));
    assert_eq!(first.text(".claude/projects/a/log"), "a\n");
    assert_eq!(first.text(".claude/projects/b/log"), "b\n");
}

#[test]
fn what_both_made_differently_stays_and_waits() {
    let first = First::new(
        "mkdir ~/.claude; echo mine >~/.claude/history; echo own >~/.claude/own; echo made; read go",
    );
    let mut running = first.start(&[]);
    running.expect("made");
    first.world.write("home/.claude/history", "theirs\n");
    running.say("\n");
    assert_eq!(running.end(), 121);
    assert_eq!(first.text(".claude/history"), "theirs\n");
    assert_eq!(first.text(".claude/own"), "own\n");
    assert_eq!(first.world.states(), ["waiting"]);
    let history = first.home(".claude/history").display().to_string();
    let mut apply = first.world.endow(["apply", "--on-conflict", "guest", &history]);
    said(&mut apply).ok();
    assert_eq!(first.text(".claude/history"), "mine\n");
}
