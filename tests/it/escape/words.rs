//! Words that nobody inside should read: of the caller's environment, of endow's command line, of
//! the host's paths.

use super::prober::{Attempts, script};
use crate::harness::World;

const GREP: &str = include_str!("probes/grep.py");

fn hexadecimal(words: &[&str]) -> Vec<String> {
    let word = |word: &&str| word.bytes().map(|byte| format!("{byte:02x}")).collect();
    words.iter().map(word).collect()
}

#[test]
fn escape_of_words_through_proc() {
    let world = World::new();
    let words = ["canary-of-the-caller", "canary-of-the-flag", "canary-of-a-path"];
    let words = hexadecimal(&words);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    world.write("canary-of-a-path/file", "");
    let source = world.root().join("canary-of-a-path").display().to_string();
    let grant = format!("/granted={source}");
    let line = script(GREP, &words);

    let mut control = world.command("env");
    control.args(["FLAG=canary-of-the-flag", "OTHER=canary-of-the-caller"]).args(&line);
    let control = Attempts::of(&mut control);
    assert_eq!((control.get("environ-0"), control.get("environ-1")), ("found", "found"));

    let options = ["--workspace", "rw", "--env", "FLAG=canary-of-the-flag", "--ro", &grant, "--"];
    let mut command = world.endow(["run"]);
    command.args(options).args(line).env("OTHER", "canary-of-the-caller");
    // The variable is the command's own; the paths of binds can't be hidden (documented).
    Attempts::of(&mut command).are(&[
        ("enough", "ok"),
        ("environ-1", "found"),
        ("mountinfo-2", "found"),
    ]);
}

/// A variable that the command drops is in no other process's environment.
#[test]
fn escape_of_a_variable_that_the_command_dropped() {
    let world = World::new();
    let words = hexadecimal(&["canary-of-the-flag"]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command = world.endow(["run", "--workspace", "rw", "--env", "FLAG=canary-of-the-flag"]);
    command.args(["--", "env", "-u", "FLAG"]).args(script(GREP, &words));
    Attempts::of(&mut command).are(&[("enough", "ok")]);
}
