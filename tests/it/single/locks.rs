//! Programs that lock their settings, read them, change them and replace them, on both sides.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use super::Settings;
use crate::harness::soon;

/// What both sides begin with, what a program outside makes of it, and what both make of it.
const BEFORE: &str = "{\"a\":0}\n";
const OUTSIDE: &str = "{\"a\":0,\"h\":1}\n";
const BOTH: &str = "{\"a\":1,\"h\":1}\n";
const INSIDE: &str = "echo '{\"a\":1}' >t; mv t .tool.json";

/// Long enough for a write-back or a take-in, were there one.
fn a_while() {
    sleep(Duration::from_millis(400));
}

/// What a program outside does that has locked its file and read it.
fn goes_on(settings: &Settings) {
    a_while();
    settings.replace(OUTSIDE);
    fs::remove_dir(settings.world.home().join(".tool.json.lock")).expect("a lock");
}

fn locked() -> Settings {
    let settings = Settings::new(BEFORE);
    fs::create_dir(settings.world.home().join(".tool.json.lock")).expect("a lock");
    settings
}

#[test]
fn nothing_is_published_under_a_program_that_has_the_file_locked() {
    let settings = locked();
    let mut running = settings.start(&[], &format!("cd; {INSIDE}; echo out; read go"));
    running.expect("out");
    goes_on(&settings);
    soon("published", || settings.text() == BOTH);
    running.say("\n");
    assert_eq!(running.end(), 0);
}

#[test]
fn end_waits_for_a_program_that_has_the_file_locked() {
    let settings = locked();
    let mut running = settings.start(&["--sync", "apply-ok"], &format!("cd; {INSIDE}; echo out"));
    running.expect("out");
    goes_on(&settings);
    assert_eq!(running.end(), 0);
    assert_eq!(settings.text(), BOTH);
}

#[test]
fn nothing_comes_in_under_a_command_that_has_the_file_locked() {
    let settings = Settings::new(BEFORE);
    let script = format!(
        "cd; mkdir .tool.json.lock; echo in; read go; {INSIDE}; rmdir .tool.json.lock; read go"
    );
    let mut running = settings.start(&[], &script);
    running.expect("in");
    settings.replace(OUTSIDE);
    a_while();
    running.say("\n");
    soon("published", || settings.text() == BOTH);
    running.say("\n");
    assert_eq!(running.end(), 0);
}
