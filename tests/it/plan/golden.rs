//! Golden plans: the whole plan on a full host, and what differs on every other.

use std::collections::BTreeSet;

use endow::plan::PlanError;

use super::cases::{CASES, Case, request};
use super::hosts::{HOSTS, Host};

fn plan(case: &Case, host: &Host) -> String {
    let policy = case.policy();
    match endow::plan::plan(&policy, &host.facts(&policy), &request()) {
        Ok(plan) => plan.to_string(),
        Err(error) => format!("refused {error}\n{}", entries(&error)),
    }
}

/// Returns what of the policy a level does not have.
fn entries(error: &PlanError) -> String {
    let PlanError::Beyond { keys, .. } = error else { return String::new() };
    keys.iter().map(|key| format!("  {key}\n")).collect()
}

/// Returns the lines that are gone and those that are new.
fn differences(full: &str, other: &str) -> String {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let (before, after) = (lines(full), lines(other));
    let gone = full.lines().filter(|line| !after.contains(*line)).map(|line| format!("- {line}\n"));
    let new =
        other.lines().filter(|line| !before.contains(*line)).map(|line| format!("+ {line}\n"));
    if other.starts_with("refused") { other.to_owned() } else { gone.chain(new).collect() }
}

fn render(case: &Case) -> String {
    let full = plan(case, &HOSTS[0]);
    let others = HOSTS.iter().skip(1).map(|host| {
        let differences = differences(&full, &plan(case, host));
        let text = if differences.is_empty() { "as full\n".to_owned() } else { differences };
        format!("\n== {}\n{text}", host.name)
    });
    std::iter::once(format!("== {}\n{full}", HOSTS[0].name)).chain(others).collect()
}

#[test]
fn every_grant_on_every_host() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../golden/plan");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for case in CASES {
        settings.bind(|| insta::assert_snapshot!(case.name, render(case)));
    }
}
