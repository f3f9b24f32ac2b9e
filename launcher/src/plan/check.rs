//! Invariants that hold for every plan; a finding is a bug of endow, never of its user.

use std::path::Path;

use endow_policy::{Access, HostPath};
use rustc_hash::{FxHashMap, FxHashSet};

use super::landlock::{LandlockPlan, Rights, Rule};
use super::place::Placed;
use super::step::{ConfineStep, InitStep, PayloadStep, PrepareStep, Source};
use super::{KERNEL_FILES, LAYERS_MAX, Plan};

/// One broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A mount is made after the old root is gone.
    MountAfterPivot(String),
    /// The root is never changed.
    NoPivot,
    /// Steps that give up power are missing or in the wrong order.
    ConfineOrder(&'static str),
    /// The seccomp filter is missing or not the last step before exec.
    SeccompNotLast,
    /// A host path is mounted that no grant names.
    SourceNotGranted(HostPath),
    /// A plan without namespaces mounts, or changes what only a namespace holds.
    StepWithoutNamespace(String),
    /// A Landlock rule is made on a host path that no grant names, or on anything that is there.
    LooseRule(String),
    /// Without namespaces, a layer is missing that must hold in their place.
    NotInPlace(&'static str),
    /// Stubs stand where they would not get their bytes, or another layer would get these.
    MisplacedStubs(String),
    /// An overlay has more layers than can be mounted.
    TooManyLayers(String),
    /// Landlock would allow changes where the mount is read-only.
    WritableRule(String),
    /// Landlock would refuse what the mount allows.
    MissingRule(String),
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::MountAfterPivot(step) => write!(f, "mount after the pivot: {step}"),
            Self::NoPivot => f.write_str("the root is never changed"),
            Self::ConfineOrder(step) => write!(f, "step missing or out of order: {step}"),
            Self::SeccompNotLast => f.write_str("seccomp is not the last step"),
            Self::SourceNotGranted(path) => write!(f, "source without a grant: {path}"),
            Self::StepWithoutNamespace(step) => write!(f, "step without a namespace: {step}"),
            Self::LooseRule(at) => write!(f, "rule without a grant or its file: {at}"),
            Self::NotInPlace(layer) => write!(f, "missing without namespaces: {layer}"),
            Self::MisplacedStubs(step) => write!(f, "stubs not at the bottom: {step}"),
            Self::TooManyLayers(at) => write!(f, "overlay of too many layers: {at}"),
            Self::WritableRule(at) => write!(f, "write rule on a read-only mount: {at}"),
            Self::MissingRule(at) => write!(f, "mount without its rule: {at}"),
        }
    }
}

/// Returns every invariant that `plan` breaks.
pub fn check(plan: &Plan) -> Vec<Finding> {
    let mut findings = Vec::new();
    if plan.opening.namespaces.is_some() {
        findings.extend(pivot(plan));
    } else {
        findings.extend(in_place(plan));
    }
    findings.extend(confine_order(plan));
    findings.extend(seccomp_last(plan));
    findings.extend(sources(plan));
    findings.extend(misplaced_stubs(plan));
    findings.extend(too_many_layers(plan));
    if let Some(landlock) = landlock(plan).filter(|landlock| landlock.handled.0 != 0) {
        findings.extend(rules(plan, landlock));
    }
    findings
}

/// Without namespaces nothing is mounted, each rule is tied to a file that was seen, and what pid 1
/// sends to all stays within the run.
fn in_place(plan: &Plan) -> Vec<Finding> {
    let step = |step: &InitStep| Finding::StepWithoutNamespace(format!("{step:?}"));
    let mut findings: Vec<Finding> = plan.init.iter().map(step).collect();
    match landlock(plan) {
        Some(landlock) if landlock.handled.0 != 0 && landlock.scope_signal => {
            findings.extend(loose_rules(plan, landlock));
        }
        _ => findings.push(Finding::NotInPlace("landlock")),
    }
    let of_pid_1 = [
        (ConfineStep::ProveScope, "prove-scope"),
        (ConfineStep::AdoptOrphans, "adopt-orphans"),
        (ConfineStep::EndWithSocket, "end-with-socket"),
    ];
    let missing = of_pid_1.iter().filter(|(step, _)| !plan.confine.contains(step));
    findings.extend(missing.map(|(_, name)| Finding::NotInPlace(name)));
    if !plan.payload.contains(&PayloadStep::OwnDomain) {
        findings.push(Finding::NotInPlace("own-domain"));
    }
    findings
}

/// The run's own directory is made later, and has no number yet.
fn loose_rules(plan: &Plan, landlock: &LandlockPlan) -> Vec<Finding> {
    let made = plan.prepare.iter().any(|step| matches!(step, PrepareStep::MakeDir { .. }));
    let unseen: Vec<_> = landlock.rules.iter().filter(|rule| rule.expect.is_none()).collect();
    let is_granted = |rule: &&Rule| {
        let at = rule.at.as_path();
        let is_kernels = KERNEL_FILES.iter().any(|file| at == Path::new(file));
        is_kernels || at.starts_with("/dev") || plan.placement.at(&rule.at).is_some()
    };
    let seen = landlock.rules.iter().filter(|rule| rule.expect.is_some());
    let foreign = seen.filter(|rule| !is_granted(rule));
    let loose = unseen.into_iter().skip(usize::from(made));
    loose.chain(foreign).map(|rule| Finding::LooseRule(rule.at.to_string())).collect()
}

fn pivot(plan: &Plan) -> Vec<Finding> {
    let Some(pivot) = plan.init.iter().position(|step| *step == InitStep::Pivot) else {
        return vec![Finding::NoPivot];
    };
    let later = plan.init.iter().skip(pivot + 1).filter(|step| is_mount(step));
    later.map(|step| Finding::MountAfterPivot(format!("{step:?}"))).collect()
}

fn is_mount(step: &InitStep) -> bool {
    !matches!(step, InitStep::Hostname { .. } | InitStep::NoNestedUserns)
}

fn confine_order(plan: &Plan) -> Option<Finding> {
    let place = |wanted: fn(&ConfineStep) -> bool| plan.confine.iter().position(wanted);
    let capabilities = place(|step| {
        matches!(step, ConfineStep::DropCapabilities | ConfineStep::ClearCapabilities)
    });
    let privileges = place(|step| *step == ConfineStep::NoNewPrivs);
    let landlock = place(|step| matches!(step, ConfineStep::Landlock(_)));
    let dumpable = place(|step| *step == ConfineStep::NotDumpable);
    let sent = place(|step| *step == ConfineStep::SendNamespaces);
    if capabilities.is_none() || privileges.is_none() || privileges < capabilities {
        return Some(Finding::ConfineOrder("no_new_privs after capabilities"));
    }
    if landlock.is_some() && landlock < privileges {
        return Some(Finding::ConfineOrder("landlock after no_new_privs"));
    }
    if landlock.is_none() && plan.enforcement.landlock_abi > 0 {
        return Some(Finding::ConfineOrder("landlock"));
    }
    (dumpable.is_none() || dumpable < sent).then_some(Finding::ConfineOrder("not dumpable"))
}

fn seccomp_last(plan: &Plan) -> Option<Finding> {
    let last = matches!(plan.payload.last(), Some(PayloadStep::Seccomp(_)));
    (!last).then_some(Finding::SeccompNotLast)
}

fn sources(plan: &Plan) -> Vec<Finding> {
    let granted: FxHashSet<&HostPath> = plan.placement.mounts.iter().flat_map(granted).collect();
    let is_device = |path: &HostPath| path.as_path().starts_with("/dev");
    let allowed = |path: &&HostPath| !granted.contains(path) && !is_device(path);
    bound(plan).filter(allowed).cloned().map(Finding::SourceNotGranted).collect()
}

fn granted(placed: &Placed) -> impl Iterator<Item = &HostPath> {
    let own = placed.source.iter().map(|source| &source.path);
    own.chain(placed.tree.iter().flat_map(|tree| tree.borrowed()))
}

fn bound(plan: &Plan) -> impl Iterator<Item = &HostPath> {
    plan.init.iter().flat_map(sources_of).filter_map(|source| match source {
        Source::Host { path, .. } => Some(path),
        Source::Run(_)
        | Source::Memory(_)
        | Source::Tree(_)
        | Source::Stubs { .. }
        | Source::Guest(_) => None,
    })
}

/// Only the lowest layer of an overlay may be one of stubs: its bytes come right below it.
fn misplaced_stubs(plan: &Plan) -> Vec<Finding> {
    let are_stubs = |source: &Source| matches!(source, Source::Stubs { .. });
    let misplaced = |step: &&InitStep| match step {
        InitStep::Overlay { lower, .. } => {
            lower.split_last().is_some_and(|(_, above)| above.iter().any(are_stubs))
        }
        step => sources_of(step).iter().any(are_stubs),
    };
    let steps = plan.init.iter().filter(misplaced);
    steps.map(|step| Finding::MisplacedStubs(format!("{step:?}"))).collect()
}

fn too_many_layers(plan: &Plan) -> Vec<Finding> {
    let found = plan.init.iter().filter_map(|step| match step {
        InitStep::Overlay { lower, at, .. } if lower.len() > LAYERS_MAX => Some(at),
        _ => None,
    });
    found.map(|at| Finding::TooManyLayers(at.to_string())).collect()
}

fn sources_of(step: &InitStep) -> &[Source] {
    match step {
        InitStep::Bind { source, .. } => std::slice::from_ref(source),
        InitStep::Overlay { lower, .. } => lower,
        _ => &[],
    }
}

fn landlock(plan: &Plan) -> Option<&LandlockPlan> {
    plan.confine.iter().find_map(|step| match step {
        ConfineStep::Landlock(landlock) => Some(landlock),
        _ => None,
    })
}

fn rules(plan: &Plan, landlock: &LandlockPlan) -> Vec<Finding> {
    let physical = plan.placement.mounts.iter().filter(|placed| placed.source.is_some());
    let by_place: FxHashMap<_, _> =
        landlock.rules.iter().map(|rule| (rule.at.as_bytes(), rule.rights)).collect();
    let mut findings = Vec::new();
    for placed in physical {
        let at = &placed.spec.at;
        let own = by_place.get(at.as_bytes()).copied().unwrap_or_default();
        let writes = |rights: Rights| rights.within(Rights::CHANGE).0 != 0;
        let mut reaching = at.way_up().filter_map(|path| by_place.get(path).copied());
        match placed.spec.access {
            Access::Ro if writes(own) => findings.push(Finding::WritableRule(at.to_string())),
            Access::Rw | Access::Cow if !reaching.any(writes) => {
                findings.push(Finding::MissingRule(at.to_string()));
            }
            _ => {}
        }
    }
    findings
}
