//! A session in which everything that the model is told comes from somebody hostile: what it has an
//! agent run is tried one by one, and none of it may succeed.

mod attempts;
mod scene;
mod told;

use std::collections::BTreeSet;

use attempts::all;
use scene::Scene;
use told::{TABLE, told};

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
    let told = last_result(&model.stop());
    assert_every_attempt_was_made(&told);
    assert_eq!(scene.succeeded(&told), BTreeSet::new());
}

/// The result of the last command, as the model was told it.
fn last_result(requests: &[Request]) -> String {
    let messages = &requests.last().expect("a request").body["messages"];
    let last = messages.as_array().and_then(|it| it.last()).expect("a message");
    last.to_string()
}

/// Who reads the report finds what became of each attempt.
#[test]
fn hostile_attempts_are_explained() {
    let Some(scene) = Scene::new() else { return };
    let file = scene.files().root().join("report.json");
    let (endow, report) = (endow().display().to_string(), format!("--report={}", file.display()));
    let words = [&*endow, "run", "--profile", "claude", "--explain", &report, "--", "sh"];
    let said = said(&mut scene.command(&[&words[..], &["hostile.sh"]].concat()));
    assert_every_attempt_was_made(&said.stdout);
    let report = std::fs::read_to_string(file).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let is_told =
        |name: &str| told(name).is_some_and(|it| it.is_in(&report, |it| scene.filled(it)));
    let untold: Vec<_> = everything().into_iter().filter(|name| !is_told(name)).collect();
    assert!(untold.is_empty(), "not explained: {untold:?}\nby {report:#}");
    assert_eq!(TABLE.len(), everything().len(), "only attempts are told");
}
