//! Taking a layer away from a finished plan. The plan was checked whole before.

use std::path::{Path, PathBuf};

use endow_policy::GuestPath;

use super::Layer;
use crate::plan::landlock::Rights;
use crate::plan::repository::COPIES;
use crate::plan::step::{
    ConfineStep, InitStep, MountFlags, PayloadStep, PrepareStep, RunPath, Source,
};
use crate::plan::{HIDDEN_DIRECTORY, HIDDEN_FILE, Plan};

/// Returns the plan without one layer, all else as it was.
pub fn remove(mut plan: Plan, layer: Layer) -> Plan {
    match layer {
        Layer::MountFlags => mount_flags(&mut plan),
        Layer::Mounts => mounts(&mut plan),
        Layer::Hidden => hidden(&mut plan),
        Layer::ProcCovers => plan.init.retain(|step| !is_proc_cover(step)),
        Layer::UsernsCount => plan.init.retain(|step| *step != InitStep::NoNestedUserns),
        Layer::NetworkNamespace => {
            if let Some(namespaces) = &mut plan.opening.namespaces {
                namespaces.network = false;
            }
            plan.opening.steps.retain(|step| *step != InitStep::LoopbackUp);
        }
        Layer::IpcNamespace => {
            if let Some(namespaces) = &mut plan.opening.namespaces {
                namespaces.shared_ipc = true;
            }
        }
        Layer::Keyring => {
            confine_without(&mut plan, &ConfineStep::NewSessionKeyring);
            confine_without(&mut plan, &ConfineStep::UsableSessionKeyring);
        }
        Layer::Capabilities => {
            for step in plan.confine.iter_mut().filter(|it| **it == ConfineStep::DropCapabilities) {
                *step = ConfineStep::KeepCapabilities;
            }
        }
        Layer::NoNewPrivs => confine_without(&mut plan, &ConfineStep::NoNewPrivs),
        Layer::Landlock => landlock(&mut plan),
        Layer::NotDumpable => confine_without(&mut plan, &ConfineStep::NotDumpable),
        Layer::Seccomp => plan.payload.retain(|step| !matches!(step, PayloadStep::Seccomp(_))),
    }
    plan
}

fn confine_without(plan: &mut Plan, unwanted: &ConfineStep) {
    plan.confine.retain(|step| step != unwanted);
}

/// Without namespaces the scope of signals stays: pid 1 ends a run by a signal to all that it
/// reaches.
fn landlock(plan: &mut Plan) {
    if plan.opening.namespaces.is_some() {
        plan.confine.retain(|step| !matches!(step, ConfineStep::Landlock(_)));
    }
    for step in &mut plan.confine {
        if let ConfineStep::Landlock(landlock) = step {
            landlock.handled = Rights::default();
            landlock.rules.clear();
            landlock.streams.clear();
            landlock.refuse_tcp = false;
        }
    }
}

fn mount_flags(plan: &mut Plan) {
    plan.init.retain(|step| !matches!(step, InitStep::Seal { .. }));
    for step in &mut plan.init {
        if let InitStep::Bind { flags, .. }
        | InitStep::Tmpfs { flags, .. }
        | InitStep::Overlay { flags, .. } = step
        {
            *flags = MountFlags { recursive: flags.recursive, ..OPEN };
        }
    }
}

const OPEN: MountFlags =
    MountFlags { readonly: false, noexec: false, devices: true, recursive: true };

/// The host's root at `/host`, writable, with all that is mounted below it.
fn mounts(plan: &mut Plan) {
    let at = GuestPath::new("/host").expect("a fixed path is absolute and normal");
    let view = plan.init.iter().rposition(|step| matches!(step, InitStep::Bind { .. }));
    let place = view.map_or(plan.init.len(), |last| last + 1);
    let mut steps = vec![InitStep::Mkdir { at: at.clone(), mode: 0o755 }];
    if plan.init[..place].contains(&InitStep::AttachRoot) {
        // The new root is mounted over the host's by now, and a copy of that has it on top as well.
        steps.extend(TOP.into_iter().flat_map(|name| {
            let at = at.join(name).expect("a plain name can be below a directory");
            let mkdir = InitStep::Mkdir { at: at.clone(), mode: 0o755 };
            [mkdir, open_bind(Path::new("/").join(name), at)]
        }));
    } else {
        steps.push(open_bind(PathBuf::from("/"), at));
    }
    plan.init.splice(place..place, steps);
}

/// What every Debian has in its root and a test may look at.
const TOP: [&str; 8] = ["etc", "home", "proc", "root", "run", "tmp", "usr", "var"];

/// An absolute path replaces the run's directory when the two are joined.
fn open_bind(host: PathBuf, at: GuestPath) -> InitStep {
    InitStep::Bind { source: Source::Run(RunPath(host)), at, flags: OPEN }
}

/// A masked mount shows what it masks; what covers a name of a live mount is left out.
fn hidden(plan: &mut Plan) {
    plan.prepare.retain(|step| !matches!(step, PrepareStep::Mask { .. }));
    plan.supervise.renew.clear();
    plan.supervise.guards.clear();
    plan.init.retain(|step| !is_hiding(step) && !is_protecting(step));
    for step in &mut plan.init {
        let InitStep::Overlay { lower, upper, at, flags } = step else { continue };
        let Some(source) = lower.pop() else { continue };
        if upper.is_some() || matches!(source, Source::Stubs { .. }) {
            *lower = vec![source];
        } else {
            let flags = MountFlags { recursive: true, ..*flags };
            *step = InitStep::Bind { source, at: at.clone(), flags };
        }
    }
}

fn is_hiding(step: &InitStep) -> bool {
    let covers = [HIDDEN_FILE, HIDDEN_DIRECTORY].map(|name| Source::Run(RunPath(name.into())));
    matches!(step, InitStep::Bind { source, .. } if covers.contains(source))
}

/// What covers protected names, and the settings of a repository.
fn is_protecting(step: &InitStep) -> bool {
    let InitStep::Bind { source: Source::Guest(source), at, flags } = step else { return false };
    let is_copy = source.as_path().starts_with(COPIES);
    is_copy || source == at && flags.readonly && flags.recursive
}

fn is_proc_cover(step: &InitStep) -> bool {
    let below = |at: &GuestPath| at.as_path().starts_with("/proc");
    matches!(step, InitStep::Bind { at, .. } | InitStep::Tmpfs { at, .. } if below(at))
}
