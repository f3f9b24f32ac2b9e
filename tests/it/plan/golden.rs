//! Golden plans: the whole plan on a full host, and what differs on every other.

use std::collections::BTreeSet;

use endow::plan::PlanError;

use super::made::{Made, made};

fn text(made: &Made) -> String {
    match &made.plan {
        Ok(plan) => plan.to_string(),
        Err(error) => format!("refused {error}\n{}", entries(error)),
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

fn render(on_hosts: &[Made]) -> String {
    let (full, others) = on_hosts.split_first().expect("hosts");
    let (host, full) = (full.host.name, text(full));
    let others = others.iter().map(|made| {
        let differences = differences(&full, &text(made));
        let text = if differences.is_empty() { "as full\n".to_owned() } else { differences };
        format!("\n== {}\n{text}", made.host.name)
    });
    std::iter::once(format!("== {host}\n{full}")).chain(others).collect()
}

#[test]
fn every_grant_on_every_host() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../golden/plan");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for on_hosts in made().chunk_by(|one, other| one.case.name == other.case.name) {
        settings.bind(|| insta::assert_snapshot!(on_hosts[0].case.name, render(on_hosts)));
    }
}
