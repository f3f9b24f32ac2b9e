//! Needs to lines.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::danger::{Dangers, is_needless};
use super::gather::{Place, gather};
use super::hosts;
use super::need::{Need, PathNeed, Usage, What};
use super::profiles::{Toolchain, fewest};
use super::suggestion::{How, Suggested, Suggestion};
use super::written::written;
use crate::{AllowWord, GuestPath, HostRule, Policy, Registry, Vars};

/// The most lines of a proposal: nobody reads more.
const LINES_MAX: usize = 200;
/// The most lines about one dangerous place before it is named as a whole.
const SINGLE_MAX: usize = 4;

/// What a proposal depends on besides needs.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// The user and the place.
    pub vars: &'a Vars,
    /// The policy in force, which gives none of the needs.
    pub policy: &'a Policy,
    /// The hosts of the user's registries, as far as they are known.
    pub registries: &'a [(Registry, Vec<HostRule>)],
}

/// What would give what was needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// The lines: grants first, then what is no grant.
    pub lines: Vec<Suggestion>,
    /// How many lines there was no room for.
    pub left_out: usize,
    /// Paths that no policy file can name, since they are not UTF-8.
    pub unwritable: usize,
}

/// Returns the fewest lines that give what is needed; those that would be dangerous say why.
pub fn propose(needs: &[Need], around: &Around<'_>) -> Proposal {
    let paths: Vec<&PathNeed> = needs.iter().filter_map(path).collect();
    let paths: Vec<&PathNeed> = paths.into_iter().filter(|need| !is_needless(&need.at)).collect();
    let hosts: Vec<&HostRule> = needs.iter().filter_map(host).collect();
    let words: BTreeSet<AllowWord> = needs.iter().filter_map(call).collect();
    let mut lines = of_paths(&paths, around);
    lines.extend(hosts::suggest(&hosts, around.registries));
    lines.extend(words.into_iter().map(lifted));
    lines.sort_by(|a, b| (a.danger.is_some(), &a.gives).cmp(&(b.danger.is_some(), &b.gives)));
    let left_out = lines.len().saturating_sub(LINES_MAX);
    lines.truncate(LINES_MAX);
    let unwritable = paths.iter().filter(|it| written(&it.at, around.vars).is_none()).count();
    Proposal { lines, left_out, unwritable }
}

fn of_paths(needs: &[&PathNeed], around: &Around<'_>) -> Vec<Suggestion> {
    let (inside, outside): (Vec<&PathNeed>, Vec<_>) =
        needs.iter().partition(|need| is_workspace_change(need, around.policy));
    let dangers = Dangers::new(around.vars, around.policy);
    let (safe, dangerous): (Vec<&PathNeed>, Vec<_>) =
        outside.into_iter().partition(|need| danger(need, &dangers).is_none());
    let named: BTreeSet<GuestPath> = needs.iter().map(|need| need.at.clone()).collect();
    let dangerous: Vec<_> =
        dangerous.into_iter().filter(|need| !only_leads(&need.at, &named)).collect();
    let mut lines: Vec<Suggestion> = workspace(&inside).into_iter().collect();
    lines.extend(of_safe(safe, &dangers, around.vars));
    lines.extend(refused(&dangerous, &dangers, around.vars));
    lines
}

/// Profiles first, and mounts for what they don't show.
fn of_safe(needs: Vec<&PathNeed>, dangers: &Dangers, vars: &Vars) -> Vec<Suggestion> {
    let toolchains = Toolchain::all(vars);
    let profiles = fewest(&toolchains, &needs);
    let mut lines: Vec<Suggestion> = profiles.iter().map(|it| profile(it, &needs)).collect();
    let given = |need: &PathNeed| profiles.iter().any(|it| it.gives(need));
    let rest: Vec<&PathNeed> = needs.into_iter().filter(|need| !given(need)).collect();
    lines.extend(gather(&rest, dangers).iter().filter_map(|place| mount(place, vars)));
    lines
}

fn path(need: &Need) -> Option<&PathNeed> {
    match need {
        Need::Path(path) => Some(path),
        Need::Host(_) | Need::Call(_) => None,
    }
}

fn host(need: &Need) -> Option<&HostRule> {
    match need {
        Need::Host(rule) => Some(rule),
        Need::Path(_) | Need::Call(_) => None,
    }
}

fn call(need: &Need) -> Option<AllowWord> {
    match need {
        Need::Call(word) => Some(*word),
        Need::Path(_) | Need::Host(_) => None,
    }
}

/// A workspace that is shown read-only, and no name in it that is guarded.
fn is_workspace_change(need: &PathNeed, policy: &Policy) -> bool {
    let within = |at: &GuestPath| need.at.is_within(at);
    need.usage == Usage::Write && !need.hidden && policy.workspace.as_ref().is_some_and(within)
}

fn workspace(needs: &[&PathNeed]) -> Option<Suggestion> {
    let first = needs.first()?;
    let reason = format!("{} was to be changed", first.at);
    Some(Suggestion { gives: Suggested::Workspace, reason, danger: None })
}

fn danger(need: &PathNeed, dangers: &Dangers) -> Option<String> {
    let hidden = || need.hidden.then(|| "a name that is denied".to_owned());
    let special = || (need.what == What::Special).then(|| "a device or a pipe".to_owned());
    let mut places = std::iter::once(&need.at).chain(&need.leads_to);
    places.find_map(|at| dangers.of(at, need.usage)).or_else(hidden).or_else(special)
}

fn profile(toolchain: &Toolchain, needs: &[&PathNeed]) -> Suggestion {
    let given: Vec<&&PathNeed> = needs.iter().filter(|need| toolchain.gives(need)).collect();
    let first = given.first().map(|need| need.at.to_string()).unwrap_or_default();
    let more = given.len().saturating_sub(1);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let gives = Suggested::Profile(toolchain.name);
    Suggestion { gives, reason: format!("shows {first}{more}"), danger: None }
}

fn mount(place: &Place, vars: &Vars) -> Option<Suggestion> {
    let at = written(&place.at, vars)?;
    let how = how(&place.at, place.usage, vars);
    let reason = reason(place);
    Some(Suggestion { gives: Suggested::Mount { at, how }, reason, danger: None })
}

/// What is written to a cache can be made again: nothing of it reaches the host.
fn how(at: &GuestPath, usage: Usage, vars: &Vars) -> How {
    let caches = vars.home.as_ref().and_then(|home| home.to_guest().join(".cache").ok());
    match usage {
        Usage::Read => How::Ro,
        Usage::Connect => How::Socket,
        Usage::Write if caches.is_some_and(|caches| at.is_within(&caches)) => How::Discard,
        Usage::Write => How::Cow,
    }
}

fn reason(place: &Place) -> String {
    let verb = verb(place.usage);
    match place.needs {
        0 | 1 => verb.to_owned(),
        needs => format!("{verb}, at {needs} names"),
    }
}

const fn verb(usage: Usage) -> &'static str {
    match usage {
        Usage::Read => "read",
        Usage::Write => "changed",
        Usage::Connect => "connected to",
    }
}

/// What a command tried that nobody should give it by a key press.
fn refused(needs: &[&PathNeed], dangers: &Dangers, vars: &Vars) -> Vec<Suggestion> {
    let mut all: Vec<(GuestPath, Usage, String)> = Vec::new();
    for need in needs {
        let at = whole(need, needs, dangers);
        let why = danger(need, dangers).unwrap_or_default();
        match all.iter_mut().find(|(known, ..)| *known == at) {
            Some((_, usage, _)) => *usage = (*usage).max(need.usage),
            None => all.push((at, need.usage, why)),
        }
    }
    all.into_iter().filter_map(|(at, usage, why)| flagged(&at, (usage, why), vars)).collect()
}

/// Many names of one dangerous place are that place.
fn whole(need: &PathNeed, needs: &[&PathNeed], dangers: &Dangers) -> GuestPath {
    let Some(place) = dangers.place(&need.at) else { return need.at.clone() };
    let names = needs.iter().filter(|it| it.at.is_within(place)).count();
    if names > SINGLE_MAX { place.clone() } else { need.at.clone() }
}

/// A directory that was looked at on the way to what is asked for exists as soon as that does. Paths in
/// order have a directory right before what is below it.
fn only_leads(at: &GuestPath, all: &BTreeSet<GuestPath>) -> bool {
    let next = all.range::<GuestPath, _>((Bound::Excluded(at), Bound::Unbounded)).next();
    next.is_some_and(|next| next.is_within(at))
}

fn flagged(at: &GuestPath, (usage, why): (Usage, String), vars: &Vars) -> Option<Suggestion> {
    let (at, how) = (written(at, vars)?, how(at, usage, vars));
    let reason = verb(usage).to_owned();
    Some(Suggestion { gives: Suggested::Mount { at, how }, reason, danger: Some(why) })
}

fn lifted(word: AllowWord) -> Suggestion {
    let (reason, danger) = ("called".to_owned(), Some(format!("opens {}", word.help())));
    Suggestion { gives: Suggested::Call(word), reason, danger }
}
