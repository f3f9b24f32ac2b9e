//! What was asked for, judged by the policy in force and by what the host has now.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use endow_policy::learn::{Need, PathNeed, Usage, What};
use endow_policy::{
    AllowWord, BackendSpec, GuestPath, HostPath, HostPattern, HostRule, Nearby, NetworkMode, Ports,
    WordFault,
};

use super::Missed;
use crate::cli::stages::Planned;
use crate::plan::why::{self, Answer, Layer, Operation, Questions, Verdict};
use crate::probe::{HostObjects, protects_links};

/// What is still to be had, and what no line of a policy gives.
#[derive(Debug, Default)]
pub(super) struct Judged {
    /// What a line could give.
    pub(super) needs: Vec<Need>,
    /// What none could: a file that its owner keeps from the user, for example.
    pub(super) beyond: usize,
}

/// What came of one thing that was asked for.
enum Judgement {
    Needed(Need),
    /// It is given by now, or is nothing that the host has.
    Settled,
    Beyond,
}

/// Judges all that was asked for.
pub(super) fn judge<'a>(planned: &Planned, missed: impl Iterator<Item = &'a Missed>) -> Judged {
    let (plan, policy) = (&planned.plan, &planned.found.policy);
    let tree = HostObjects::new();
    let questions = Questions::new(plan, policy, &planned.host, &tree, protects_links());
    let mut judged = Judged::default();
    for missed in missed {
        let found = match missed {
            Missed::Path(path, operation) => of_path(planned, &questions, (path, *operation)),
            Missed::Host(word) => of_host(planned, word),
            Missed::Call(name) => of_call(planned, name),
        };
        match found {
            Judgement::Needed(need) => judged.needs.push(need),
            Judgement::Settled => {}
            Judgement::Beyond => judged.beyond += 1,
        }
    }
    judged
}

fn of_call(planned: &Planned, name: &str) -> Judgement {
    let Some(answer) = why::call(&planned.plan, name) else { return Judgement::Beyond };
    if answer.answer == Verdict::Allowed {
        return Judgement::Settled;
    }
    let word = answer.remedy.as_deref().and_then(|it| it.strip_prefix("--allow "));
    let word = word.and_then(|word| word.parse::<AllowWord>().ok());
    word.map_or(Judgement::Beyond, |word| Judgement::Needed(Need::Call(word)))
}

fn of_host(planned: &Planned, word: &str) -> Judgement {
    let Some(rule) = rule(word) else { return Judgement::Beyond };
    let Some(port) = single_port(&rule) else { return Judgement::Beyond };
    let host = match &rule.host {
        HostPattern::Name(name) => name.to_string(),
        HostPattern::Range(range) => range.first().to_string(),
        HostPattern::Loopback => return of_loopback(planned, rule, port),
        HostPattern::Below(_) | HostPattern::Registry(_) => return Judgement::Beyond,
    };
    let udp = if word.starts_with("udp:") { "udp:" } else { "" };
    let policy = &planned.found.policy;
    let answer =
        why::connection(&planned.plan, policy, (&format!("{udp}{host}"), port), &Nearby::default());
    let is_allowed = answer.answer == Verdict::Allowed;
    if is_allowed { Judgement::Settled } else { Judgement::Needed(Need::Host(rule)) }
}

/// The host's loopback has one word, whichever of its addresses was asked for.
fn rule(word: &str) -> Option<HostRule> {
    match HostRule::parse(word) {
        Err(error) if error.fault == WordFault::LoopbackAddress => {
            let udp = if word.starts_with("udp:") { "udp:" } else { "" };
            let (_, port) = word.rsplit_once(':')?;
            HostRule::parse(&format!("{udp}localhost:{port}")).ok()
        }
        rule => rule.ok(),
    }
}

/// One is always there, the sandbox's own: it was asked for where the host's has what listens.
fn of_loopback(planned: &Planned, rule: HostRule, port: u16) -> Judgement {
    let network = &planned.found.policy.network;
    let is_hosts = why::hosts_loopback(network, rule.protocol, port).is_some();
    let is_given = is_hosts || network.mode == NetworkMode::Host;
    if is_given { Judgement::Settled } else { Judgement::Needed(Need::Host(rule)) }
}

fn single_port(rule: &HostRule) -> Option<u16> {
    match &rule.ports {
        Ports::Some(ports) if ports.len() == 1 => ports.first().copied(),
        Ports::Some(_) | Ports::Any => None,
    }
}

fn of_path(
    planned: &Planned,
    questions: &Questions<'_>,
    (path, operation): (&Path, Operation),
) -> Judgement {
    let mut answer = questions.path(path, operation);
    // One could be made there, and the host's was to be changed.
    if answer.answer == Verdict::Allowed && operation == Operation::Write {
        let there = questions.path(path, Operation::Read);
        if there.answer == Verdict::Absent && fs::symlink_metadata(path).is_ok() {
            answer = there;
        }
    }
    match answer.answer {
        Verdict::Absent | Verdict::Denied | Verdict::ReadOnly => {}
        Verdict::Allowed | Verdict::Impossible => return Judgement::Settled,
        Verdict::Unknown => return Judgement::Beyond,
    }
    let (Ok(at), false) = (GuestPath::new(path), is_kept_outside(planned, &answer)) else {
        return Judgement::Beyond;
    };
    match there(&at, operation) {
        Some(there) => shown(planned, questions, there, &answer),
        None => Judgement::Settled,
    }
}

/// Permission bits hold outside as well, but for root, which has no capability inside.
fn is_kept_outside(planned: &Planned, answer: &Answer) -> bool {
    let is_root = planned.surroundings.vars.uid == 0;
    !is_root && answer.layers.contains(&Layer::Permissions)
}

/// Returns what the host has at a path; to make a file is to change its directory.
fn there(at: &GuestPath, operation: Operation) -> Option<PathNeed> {
    let usage = match operation {
        Operation::Read | Operation::Execute => Usage::Read,
        Operation::Write => Usage::Write,
        Operation::Connect => Usage::Connect,
    };
    let found = fs::metadata(at.as_path()).ok();
    let (at, found) = match (found, usage) {
        (None, Usage::Write) => {
            let above = at.parent()?;
            let found = fs::metadata(above.as_path()).ok().filter(fs::Metadata::is_dir)?;
            (above, found)
        }
        (found, _) => (at.clone(), found?),
    };
    let what = what(&found);
    // What is no socket can't be connected to, inside or outside.
    if (usage == Usage::Connect) != (what == What::Socket) {
        return None;
    }
    let leads_to = fs::canonicalize(at.as_path()).ok().and_then(|it| GuestPath::new(it).ok());
    let leads_to = leads_to.filter(|to| *to != at);
    Some(PathNeed { at, usage, what, leads_to, hidden: false })
}

fn what(found: &fs::Metadata) -> What {
    let kind = found.file_type();
    match kind {
        _ if kind.is_dir() => What::Directory,
        _ if kind.is_file() => What::File,
        _ if kind.is_socket() => What::Socket,
        _ => What::Special,
    }
}

/// A path in a mount means another file when the mount shows another place, or a link leads out of it.
fn shown(
    planned: &Planned,
    questions: &Questions<'_>,
    mut need: PathNeed,
    answer: &Answer,
) -> Judgement {
    let own = &planned.surroundings.dirs;
    let own = [&own.state, &own.cache, &own.config];
    let places = || std::iter::once(&need.at).chain(&need.leads_to);
    if places().any(|at| own.iter().any(|own| at.as_path().starts_with(own))) {
        return Judgement::Beyond;
    }
    need.hidden = answer.layers.contains(&Layer::Deny);
    let Some(placed) = planned.plan.placement.covering(&need.at) else {
        return Judgement::Needed(Need::Path(need));
    };
    let BackendSpec::Physical { host } = &placed.spec.backend else {
        return Judgement::Needed(Need::Path(need));
    };
    if host.to_guest() != placed.spec.at {
        return Judgement::Beyond;
    }
    let leads_out = |to: &GuestPath| source(placed).is_some_and(|it| !to.is_within(&it.to_guest()));
    if let Some(to) = need.leads_to.take_if(|to| leads_out(to)) {
        need.at = named(questions, &need.at).filter(leads_out).unwrap_or_else(|| to.clone());
        need.leads_to = Some(to).filter(|to| *to != need.at);
    }
    Judgement::Needed(Need::Path(need))
}

/// Links that the view has lead to the place where something is to be shown. What further ones lead to,
/// once it is shown, is the host's to say.
fn named(questions: &Questions<'_>, at: &GuestPath) -> Option<GuestPath> {
    let named = questions.leads_to(at.as_path())?;
    fs::metadata(named.as_path()).is_ok().then_some(named)
}

fn source(placed: &crate::plan::place::Placed) -> Option<&HostPath> {
    placed.source.as_ref().map(|source| &source.path)
}
