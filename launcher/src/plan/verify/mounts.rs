//! Mounts: each can be read, and written to only where that was granted.

use endow_policy::{Access, BackendSpec, Verdict, explain};

use super::{Check, Known, Trial, Tried, answered};
use crate::plan::host::Found;
use crate::plan::place::Placed;
use crate::plan::why::Operation;

pub(super) fn checks(known: &Known<'_>) -> Vec<Check> {
    let placement = &known.plan.placement;
    let mounts = placement.mounts.iter().map(|placed| check(known, placed));
    let absent = placement.absent.iter().map(|at| {
        Check::untried(format!("mount {at}"), "optional, and the host has nothing there")
    });
    let awaited = placement.awaited.iter().map(|awaited| {
        let spec = &awaited.spec;
        Check::untried(
            format!("mount {} ({})", spec.at, spec.origin),
            "the host has nothing there yet: what the command makes is brought to it",
        )
    });
    mounts.chain(absent).chain(awaited).collect()
}

fn check(known: &Known<'_>, placed: &Placed) -> Check {
    let spec = &placed.spec;
    let chain = explain(known.policy, &spec.at).map(|cover| cover.chain());
    let who = chain.unwrap_or_else(|| spec.origin.to_string());
    let rule = format!("mount {} {} ({who})", spec.at, word(placed));
    if is_special(known, placed) {
        return Check::untried(rule, "a socket, pipe or device");
    }
    let trials = [Operation::Read, Operation::Write].into_iter().filter_map(|operation| {
        Some(Trial {
            shall: shall(known, placed, operation)?,
            tried: Tried::Path(spec.at.clone(), operation),
        })
    });
    let trials: Vec<_> = trials.collect();
    if is_made(placed) && trials.iter().any(|trial| trial.shall == Verdict::Absent) {
        return Check::untried(rule, "endow has nothing to put there");
    }
    Check::new(rule, trials)
}

fn shall(known: &Known<'_>, placed: &Placed, operation: Operation) -> Option<Verdict> {
    let answer = known.questions.path(placed.spec.at.as_path(), operation);
    let is_readonly = placed.spec.access == Access::Ro && !is_made(placed);
    match answered(&answer)? {
        _ if operation == Operation::Write && is_readonly => Some(Verdict::Denied),
        shall => Some(shall),
    }
}

/// Whether opening it would be noticed by who has its other end.
fn is_special(known: &Known<'_>, placed: &Placed) -> bool {
    let facts = placed.source.as_ref().and_then(|source| known.host.paths.get(&source.path));
    facts.is_some_and(|fact| matches!(fact.found, Found::Special(_) | Found::Socket(_)))
}

/// Whether it is a file of the view's own, which is as its directory is.
const fn is_made(placed: &Placed) -> bool {
    matches!(
        placed.spec.backend,
        BackendSpec::Made { .. } | BackendSpec::Copy { .. } | BackendSpec::Cgroup
    )
}

const fn word(placed: &Placed) -> &'static str {
    match placed.spec.access {
        _ if is_made(placed) => "made",
        Access::Ro => "ro",
        Access::Cow => "cow",
        Access::Rw => "rw",
    }
}
