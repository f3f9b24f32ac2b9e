//! `endow plan`.

use std::process::ExitCode;

use endow_policy::{MountClass, NetworkMode, OnConflict, Origin, Policy, SyncRules};

use crate::cli::args::PlanArgs;
use crate::cli::error::CommandError;
use crate::cli::output::Output;
use crate::cli::output::printable;
use crate::cli::stages::{self, Planned, Request};
use crate::plan::place::Placed;
use crate::plan::seccomp::Observe;

/// The most grants that the beginning names; all mounts follow.
const GRANTS_MAX: usize = 12;

/// Prints what a run would do; changes nothing.
pub(crate) fn run(args: &PlanArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let request =
        Request { argv: args.command.argv.clone(), observe: Observe::Calls, ..Request::default() };
    let planned = stages::plan(&args.policy, request)?;
    if output.is_json() {
        output.json(&planned.plan);
    } else {
        output.text(&text(&planned));
    }
    Ok(ExitCode::SUCCESS)
}

/// The level, what is asked first of a policy, and each step.
fn text(planned: &Planned) -> String {
    let plan = planned.plan.to_string();
    let (level, steps) = plan.split_once('\n').unwrap_or((&plan, ""));
    let first = [works(planned)].into_iter().chain(grants(planned)).chain(rules(planned));
    let first: String = first.map(|line| printable(&line) + "\n").collect();
    format!("{level}\n{first}\n{steps}")
}

fn works(planned: &Planned) -> String {
    let workspace = planned.found.policy.workspace.as_ref();
    let mounts = &planned.plan.placement.mounts;
    let placed = mounts.iter().find(|it| Some(&it.spec.at) == workspace);
    format!("works   {}", placed.map_or_else(|| "in no project".to_owned(), ToString::to_string))
}

/// What is shown beside what every sandbox shows.
fn grants(planned: &Planned) -> Vec<String> {
    let workspace = planned.found.policy.workspace.as_ref();
    let is_base = |origin: &Origin| match origin {
        Origin::Default => true,
        Origin::Profile { name } => &**name == "base",
        _ => false,
    };
    let is_grant = |it: &&Placed| {
        let spec = &it.spec;
        spec.class != MountClass::System && !is_base(&spec.origin) && Some(&spec.at) != workspace
    };
    let granted = planned.plan.placement.mounts.iter().filter(is_grant);
    let mut lines: Vec<String> = granted.map(|it| format!("grant   {it}")).collect();
    if let Some(more @ 1..) = lines.len().checked_sub(GRANTS_MAX) {
        lines.truncate(GRANTS_MAX);
        lines.push(format!("grant   and {more} more"));
    }
    lines
}

fn rules(planned: &Planned) -> [String; 4] {
    let policy = &planned.found.policy;
    [
        format!("reach   {}", reach(policy)),
        format!("changes {}", changes(&policy.sync)),
        format!("limits  {}", limits(policy)),
        format!("policy  {}", policy.sources.join(", ")),
    ]
}

fn reach(policy: &Policy) -> String {
    let rules: Vec<String> = policy.network.allow.iter().map(|it| it.value.to_string()).collect();
    match policy.network.mode {
        NetworkMode::Host => "the host's network".to_owned(),
        _ if rules.is_empty() => "nothing: loopback alone".to_owned(),
        _ => rules.join(", "),
    }
}

fn changes(sync: &SyncRules) -> String {
    let only: Vec<&str> = sync.only.iter().map(|rule| rule.pattern.as_str()).collect();
    let only = (!only.is_empty()).then(|| format!("only {}", only.join(" ")));
    let conflict = (sync.on_conflict != OnConflict::default())
        .then(|| format!("on conflict {}", sync.on_conflict.word()));
    let strict = sync.strict.then(|| "strict".to_owned());
    let more = [only, conflict, strict].into_iter().flatten();
    let all: Vec<String> = [sync.mode.word().to_owned()].into_iter().chain(more).collect();
    all.join(", ")
}

fn limits(policy: &Policy) -> String {
    let limits = &policy.limits;
    let numbers = [
        ("memory", limits.memory_bytes),
        ("pids", limits.pids),
        ("open files", limits.open_files),
        ("file size", limits.file_size_bytes),
    ];
    let times = [("timeout", limits.timeout), ("cpu time", limits.cpu_time)];
    let times = times.iter().filter_map(|(name, it)| Some(format!("{name} {:?}", (*it)?)));
    let numbers = numbers.iter().filter_map(|(name, it)| Some(format!("{name} {}", (*it)?)));
    let all: Vec<String> = times.chain(numbers).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

#[cfg(test)]
mod tests {
    use endow_policy::{PatternRule, SyncMode};

    use super::*;

    #[test]
    fn what_becomes_of_changes_is_all_said() {
        assert_eq!(changes(&SyncRules::default()), "apply");
        let rule = |pattern: &str| PatternRule { pattern: pattern.into(), origin: Origin::Default };
        let rules = SyncRules {
            mode: SyncMode::Review,
            on_conflict: OnConflict::Guest,
            only: vec![rule("dist/**"), rule("!dist/tmp")],
            strict: true,
        };
        assert_eq!(changes(&rules), "review, only dist/** !dist/tmp, on conflict guest, strict");
    }
}
