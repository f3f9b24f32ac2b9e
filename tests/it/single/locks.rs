//! Programs that lock their settings, read them, change them and replace them, on both sides.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use super::Settings;
use crate::harness::{said, soon};

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

/// Adds entries one after the other, as the programs do whose locks these are.
const ADDS: &str = r"
import json, os, sys, time
for number in range(int(sys.argv[2])):
    while True:
        try:
            os.mkdir('.tool.json.lock')
            break
        except FileExistsError:
            time.sleep(0.001)
    known = json.load(open('.tool.json'))
    time.sleep(0.001)
    known[sys.argv[1] + str(number)] = number
    with open('new.' + sys.argv[1], 'w') as file:
        json.dump(known, file)
    os.rename('new.' + sys.argv[1], '.tool.json')
    os.rmdir('.tool.json.lock')
    time.sleep(0.003)
";
/// How many each side adds.
const MANY: usize = 400;

/// Whoever locks the file on the host may have read it before something is published, written it away after,
/// and be gone when the lock is looked for.
#[test]
fn entries_that_both_sides_add_all_the_time_are_all_there() {
    let settings = Settings::new("{}\n");
    settings.world.write("home/project/adds.py", ADDS);
    let inside = format!("cd; echo in; python3 project/adds.py in {MANY}; echo done; read go");
    let mut running = settings.start(&[], &inside);
    // A file that is replaced while the sandbox starts is refused.
    running.expect("in");
    let (home, many) = (settings.world.home(), MANY.to_string());
    let mut outside = Command::new("python3");
    said(outside.args(["project/adds.py", "out", &many]).current_dir(home)).ok();
    running.expect("done");
    running.say("\n");
    assert_eq!(running.end(), 0);
    let found: serde_json::Value = serde_json::from_str(&settings.text()).expect("settings");
    let lost = |side: &str| {
        let names = (0..MANY).map(|number| format!("{side}{number}"));
        names.filter(|name| found.get(name).is_none()).collect::<Vec<_>>()
    };
    assert_eq!((lost("in"), lost("out")), (Vec::new(), Vec::new()));
}
