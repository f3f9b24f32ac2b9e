//! A session, or its write-back, that is killed: absent or whole, and the next command goes on.

use super::First;
use crate::harness::{soon, within};
use std::time::Duration;

#[test]
fn killed_session_keeps_what_it_made_for_the_user() {
    let first = First::new("mkdir ~/.claude; echo token >~/.claude/login; echo in; read go");
    let mut running = first.start(&[]);
    running.expect("in");
    running.signal(9);
    assert_eq!(running.end(), 137);
    assert_eq!(first.names(), [""; 0]);
    soon("the sandbox is gone", || first.endow(&["runs"]).ok().contains("interrupted"));
    within(Duration::from_secs(10), "applied", || first.endow(&["apply"]).code == 0);
    assert_eq!(first.text(".claude/login"), "token\n");
}
