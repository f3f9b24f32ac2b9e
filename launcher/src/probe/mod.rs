//! `probe`: read-only questions to the host, answered once, as values.
//!
//! Nothing here fails: what can't be found out is a fact too.

mod cgroup;
mod contents;
pub(crate) mod doctor;
mod git_user;
mod hidden;
mod kernel;
mod object;
mod paths;
mod proc;
mod streams;
mod user;
mod userns;

pub(crate) use object::{HostObjects, protects_links};
pub(crate) use paths::Pins;
pub(crate) use userns::refusal as userns_refusal;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use endow_policy::{BackendSpec, GuestPath, HostPath, MountSpec, Policy, Vars};

use crate::plan::DEVICES;
use crate::plan::host::{HostFacts, PathFact};

pub(crate) use hidden::HiddenOptions;

/// What is asked about besides the policy's own paths.
#[derive(Debug)]
pub(crate) struct Questions<'a> {
    /// The policy whose sources are looked at.
    pub(crate) policy: &'a Policy,
    /// Who and where the user is.
    pub(crate) vars: &'a Vars,
    /// The directories of the caller's PATH.
    pub(crate) search: Vec<HostPath>,
    /// How names that deny patterns hide are looked for.
    pub(crate) hidden: HiddenOptions<'a>,
}

/// Answers everything that a plan asks about this host. The descriptors keep what was found from
/// being replaced by something of the same number.
pub(crate) fn host_facts(questions: &Questions<'_>) -> (HostFacts, Pins) {
    let (policy, vars) = (questions.policy, questions.vars);
    let terminal = streams::terminal();
    let mut pins = Pins::default();
    let mut wanted = sources(policy);
    wanted.extend(questions.search.iter().cloned());
    wanted.extend(devices(terminal.as_ref()));
    let mut paths = pins.look_at_all(wanted);
    let points = mount_points(&policy.mounts, &paths);
    paths.extend(pins.look_at_all(points));
    let hidden = hidden::find(policy, &paths, &questions.hidden);
    let facts = HostFacts {
        kernel: kernel::facts(),
        user: user::facts(vars),
        contents: contents::read(policy, vars),
        hidden,
        proc_entries: proc::entries(),
        terminal,
        streams: streams::facts(),
        cgroup: cgroup::facts(&policy.limits, Path::new("/")),
        outer_level: std::fs::read_to_string("/run/endow/level").ok(),
        paths,
    };
    (facts, pins)
}

fn sources(policy: &Policy) -> BTreeSet<HostPath> {
    let source = |spec: &MountSpec| match &spec.backend {
        BackendSpec::Physical { host } | BackendSpec::Copy { host } => Some(host.clone()),
        BackendSpec::Private { .. } => Some(spec.at.to_host()),
        _ => None,
    };
    policy.mounts.iter().filter_map(source).collect()
}

fn devices(terminal: Option<&HostPath>) -> Vec<HostPath> {
    let fixed = DEVICES.iter().filter_map(|name| HostPath::new(format!("/dev/{name}")).ok());
    fixed.chain(terminal.cloned()).collect()
}

/// Host paths of mount points that lie within other mounts: a plan must know whether they exist.
fn mount_points(
    mounts: &[MountSpec],
    paths: &BTreeMap<HostPath, PathFact>,
) -> BTreeSet<HostPath> {
    let resolved = |path: &HostPath| paths.get(path).map(|fact| fact.resolved.clone());
    let place = |spec: &MountSpec| match &spec.backend {
        BackendSpec::Physical { host } if host.as_path() == spec.at.as_path() => {
            resolved(host).map_or_else(|| spec.at.clone(), |path| path.to_guest())
        }
        _ => spec.at.clone(),
    };
    let kernel = ["/proc", "/dev", "/run"].iter().filter_map(|path| GuestPath::new(path).ok());
    let places: BTreeSet<GuestPath> = mounts.iter().map(place).chain(kernel).collect();
    let mut points = BTreeSet::new();
    for spec in mounts {
        let BackendSpec::Physical { host } = &spec.backend else { continue };
        let (at, Some(source)) = (place(spec), resolved(host)) else { continue };
        let below = places.iter().filter(|place| **place != at);
        let relative = below.filter_map(|place| place.below(&at));
        points.extend(relative.filter_map(|relative| source.join(relative).ok()));
    }
    points
}
