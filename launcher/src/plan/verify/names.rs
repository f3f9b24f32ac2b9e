//! Names: those that are hidden can't be read, and protected ones not be changed.

use std::collections::BTreeMap;

use endow_policy::{GuestPath, Level, PatternRule, Verdict};

use super::{Check, Known, Trial, Tried};
use crate::plan::host::{HiddenName, RepositoryFacts};
use crate::plan::place::Placed;
use crate::plan::why::Operation;

/// How many names are tried for one rule.
const NAMES_MAX: usize = 100;

/// Deny patterns, sockets of the host, and endow's own directories.
pub(super) fn hidden(known: &Known<'_>) -> Vec<Check> {
    let mut by_rule: BTreeMap<String, Vec<GuestPath>> = BTreeMap::new();
    for placed in &known.plan.placement.mounts {
        let names = placed.source.as_ref().and_then(|it| known.host.hidden.get(&it.path));
        let names = names.iter().flat_map(|it| &it.names);
        for name in names.filter(|name| is_hidden(known, placed, name)) {
            let at = placed.spec.at.join(&name.path).ok();
            if let Some(at) = at.filter(|at| stands_in(known, placed, at)) {
                by_rule.entry(hiding(known, name)).or_default().push(at);
            }
        }
    }
    let idle = idle(known, &by_rule);
    let tried = by_rule.into_iter().map(|(rule, names)| check(rule, &names, Operation::Read));
    tried.chain(idle).collect()
}

/// Whether a name that the walk found is hidden in this mount.
fn is_hidden(known: &Known<'_>, placed: &Placed, name: &HiddenName) -> bool {
    // Without namespaces the filter keeps sockets away, and not the view.
    let is_reachable = name.socket && known.plan.enforcement.level == Level::Landlock;
    !is_reachable && name.is_for(&placed.spec)
}

fn hiding(known: &Known<'_>, name: &HiddenName) -> String {
    match name.rule.and_then(|rule| known.policy.deny.get(rule)) {
        Some(rule) => denies(rule),
        None if name.socket => "sockets of the host".to_owned(),
        None => "endow's own directories".to_owned(),
    }
}

/// Patterns that hide nothing here.
fn idle(known: &Known<'_>, tried: &BTreeMap<String, Vec<GuestPath>>) -> Vec<Check> {
    let hiding = known.policy.deny.iter().filter(|rule| !rule.pattern.starts_with('!'));
    let idle = hiding.map(denies).filter(|rule| !tried.contains_key(rule));
    idle.map(|rule| Check::untried(rule, "nothing has such a name")).collect()
}

fn denies(rule: &PatternRule) -> String {
    format!("deny {} ({})", rule.pattern, rule.origin)
}

/// Names of live mounts that somebody else runs later.
pub(super) fn protected(known: &Known<'_>) -> Vec<Check> {
    if known.plan.enforcement.level == Level::Landlock {
        return vec![Check::untried("protect", "built-in names can be written at this level")];
    }
    let mut lost = known.plan.enforcement.degradations.iter();
    if let Some(lost) = lost.find(|lost| lost.word == "protect") {
        return vec![Check::untried("protect", format!("given up: {}", lost.reason))];
    }
    let mut by_rule: BTreeMap<String, Vec<GuestPath>> = BTreeMap::new();
    for placed in known.plan.placement.mounts.iter().filter(|placed| placed.is_live()) {
        for at in held(known, placed) {
            let rule = known.questions.protecting_rule(&at);
            if let Some(rule) = rule.filter(|_| stands_in(known, placed, &at)) {
                by_rule.entry(rule).or_default().push(at);
            }
        }
    }
    by_rule.into_iter().map(|(rule, names)| check(rule, &names, Operation::Write)).collect()
}

/// The names of a live mount that are held as they are, and are no links: what a link leads to is a
/// name of its own. Of settings of repositories the command has copies.
fn held(known: &Known<'_>, placed: &Placed) -> Vec<GuestPath> {
    let Some(source) = &placed.source else { return Vec::new() };
    let repository = known.host.repositories.get(&source.path);
    let copied = repository.map(RepositoryFacts::copied).unwrap_or_default();
    let names = known.host.live_names.get(&source.path).into_iter();
    let names = names.flat_map(|names| names.there.iter().chain(&names.below));
    let places = names
        .filter(|path| !copied.contains(path.as_path()))
        .filter_map(|path| placed.spec.at.join(path).ok());
    let is_link =
        |at: &GuestPath| known.questions.path(at.as_path(), Operation::Write).leads_to.is_some();
    places.filter(|at| !is_link(at)).collect()
}

/// Whether no deeper mount has the name: that is a grant of its own.
fn stands_in(known: &Known<'_>, placed: &Placed, at: &GuestPath) -> bool {
    known.plan.placement.covering(at).is_some_and(|it| it.spec.at == placed.spec.at)
}

fn check(rule: String, names: &[GuestPath], operation: Operation) -> Check {
    let trials = names
        .iter()
        .take(NAMES_MAX)
        .map(|at| Trial { tried: Tried::Path(at.clone(), operation), shall: Verdict::Denied });
    let left = names.len().saturating_sub(NAMES_MAX);
    let untried = (left > 0).then(|| format!("{left} more names: {NAMES_MAX} of a rule are tried"));
    Check { untried, ..Check::new(rule, trials.collect()) }
}
