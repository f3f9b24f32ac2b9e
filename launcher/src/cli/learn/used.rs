//! Which grants a run used.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use endow_policy::learn::Lesson;
use endow_policy::{BackendSpec, GuestPath, HostRule, Origin, Policy};

use crate::cli::report::Finished;
use crate::cli::stages::Planned;
use crate::network::{Decision, Entry, Log};
use crate::plan::why::Questions;
use crate::probe::{HostObjects, protects_links};
use crate::supervise::{Asked, Observed};

/// Returns the grants of a policy that a run can be seen to use, each with who wrote it: mounts of the
/// host by their place, and hosts.
pub(crate) fn grants(policy: &Policy) -> Vec<(String, Origin)> {
    let physical =
        policy.mounts.iter().filter(|it| matches!(it.backend, BackendSpec::Physical { .. }));
    let mounts = physical.map(|it| (it.at.to_string(), it.origin.clone()));
    let hosts = policy.network.allow.iter().map(|it| (it.value.to_string(), it.origin.clone()));
    mounts.chain(hosts).collect()
}

/// Returns what a run had and used.
pub(super) fn lesson(run: &Finished, observed: &Observed) -> Lesson {
    let policy = &run.planned.found.policy;
    let paths = paths(run, observed);
    let entries = || run.ran.connections.iter().flat_map(Log::entries);
    let mut grants: BTreeMap<String, bool> = BTreeMap::new();
    for mount in &policy.mounts {
        if matches!(mount.backend, BackendSpec::Physical { .. }) {
            grants.insert(mount.at.to_string(), paths.contains(&mount.at));
        }
    }
    for rule in &policy.network.allow {
        let used = entries().any(|entry| allowed(entry, &rule.value));
        grants.insert(rule.value.to_string(), used);
    }
    Lesson { grants }
}

/// The mounts that names were found in: those of a path as it is written, and those of where it leads.
fn paths(run: &Finished, observed: &Observed) -> BTreeSet<GuestPath> {
    let Planned { plan, host, found, .. } = &run.planned;
    let tree = HostObjects::new();
    let questions = Questions::new(plan, &found.policy, host, &tree, protects_links());
    let names = observed.used.iter().filter_map(|asked| match asked {
        Asked::Path(_, path) => Some(Path::new(path)),
        Asked::Address(_) | Asked::Abstract(_) => None,
    });
    let places = names.flat_map(|path| {
        [GuestPath::new(path).ok(), questions.leads_to(path)].into_iter().flatten()
    });
    places.filter_map(|at| Some(plan.placement.covering(&at)?.spec.at.clone())).collect()
}

/// Returns whether a connection was allowed by a rule. A word such as `registry:npm` is named by the origin of what
/// it stands for.
fn allowed(entry: &Entry, rule: &HostRule) -> bool {
    let word = rule.to_string();
    let by = |(rule, origin): &(String, String)| {
        *rule == word || origin.starts_with(&format!("{word}, "))
    };
    matches!(entry.decision, Decision::Connected(_)) && entry.rule.as_ref().is_some_and(by)
}
