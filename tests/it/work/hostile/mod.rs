//! A session in which everything that the model is told comes from somebody hostile: what it has an
//! agent run is tried one by one, and none of it may succeed.

mod attempts;
mod scene;

use std::collections::BTreeSet;

use attempts::all;
use scene::Scene;

use super::clis::CLAUDE;
use super::model::{Model, Request};
use super::script::PROMPT;
use super::wire;
use crate::harness::{endow, said};

/// The names of all attempts.
fn everything() -> BTreeSet<&'static str> {
    let names: BTreeSet<&str> = all().map(|it| it.name).collect();
    assert_eq!(names.len(), all().count(), "names are used once");
    assert!(names.len() >= 60, "{} attempts", names.len());
    names
}

/// Runs the script, as it is or inside, and returns what succeeded.
fn attacked(inside: &[&str]) -> Option<BTreeSet<&'static str>> {
    let scene = Scene::new()?;
    let mut words = inside.to_vec();
    words.extend(["sh", "hostile.sh"]);
    let said = said(&mut scene.command(&words));
    assert_every_attempt_was_made(&said.stdout);
    Some(scene.succeeded(&said.stdout))
}

fn assert_every_attempt_was_made(said: &str) {
    let not_made =
        |name: &&str| !["got", "missed"].iter().any(|it| said.contains(&format!("{name} {it}")));
    let left: Vec<&str> = everything().into_iter().filter(not_made).collect();
    assert!(left.is_empty(), "not made: {left:?}\nafter {said}");
}

#[test]
fn hostile_attempts_succeed_without_a_sandbox() {
    let Some(succeeded) = attacked(&[]) else { return };
    let missed: Vec<_> = everything().difference(&succeeded).copied().collect();
    assert!(missed.is_empty(), "no attacks: {missed:?}");
}

#[test]
fn hostile_attempts_fail_in_the_profile_of_an_agent() {
    let endow = endow().display().to_string();
    let inside = [&*endow, "run", "--profile", "claude", "--"];
    let Some(succeeded) = attacked(&inside) else { return };
    assert_eq!(succeeded, BTreeSet::new());
}

/// The model has the agent itself run the script with its tool for commands, and is told the results.
#[test]
fn hostile_attempts_fail_when_an_agent_makes_them() {
    let Some(scene) = Scene::new() else { return };
    let Some(()) = CLAUDE.install(scene.files()) else { return };
    let socket = scene.files().root().join("run/model");
    let model = Model::start_at(&socket, wire::hostile);
    let (_forward, port) = scene.forward(&socket);
    CLAUDE.settle(scene.files(), port);
    let net = format!("localhost:{port}");
    let endow = endow().display().to_string();
    let mut command = scene.command(&[&endow, "--net", &net, "--", "claude"]);
    CLAUDE.complete(&mut command, scene.files(), port);
    said(command.arg(PROMPT)).ok();
    let told = told(&model.stop());
    assert_every_attempt_was_made(&told);
    assert_eq!(scene.succeeded(&told), BTreeSet::new());
}

/// The result of the last command, as the model was told it.
fn told(requests: &[Request]) -> String {
    let messages = &requests.last().expect("a request").body["messages"];
    let last = messages.as_array().and_then(|it| it.last()).expect("a message");
    last.to_string()
}
