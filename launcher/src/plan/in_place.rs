//! A run at level `landlock`: no namespaces, no view, the same rules where the host's files are.

use endow_policy::{AllowWord, GuestPath, HostPath, NetworkMode, Policy};

use super::confine::{mount_rule, new_session_keyring, stream_rules};
use super::host::{ExecRequest, HostFacts};
use super::landlock::{LandlockPlan, Rights, Rule};
use super::level::Enforcement;
use super::place::Placement;
use super::skeleton::{DEVICES, fixed};
use super::step::{ConfineStep, PrepareStep, RunPath};

/// Files and directories of the kernel that tell nothing of other processes, and the word by which
/// an endow inside knows of an outer one: they can be read.
pub const KERNEL_FILES: [&str; 9] = [
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys",
    "/proc/uptime",
    "/proc/version",
    "/run/endow/level",
];

/// Where the run keeps its temporary files: of a name that a sweep takes away.
const SCRATCH: &str = "layers/000/p000";

/// Returns the directory for temporary files: the one thing of a run's own without a view.
pub(super) fn scratch(request: &ExecRequest) -> Option<HostPath> {
    request.directory.as_ref()?.join(SCRATCH).ok()
}

/// Plans the work before any process exists.
pub(super) fn prepare(request: &ExecRequest) -> Vec<PrepareStep> {
    let made =
        scratch(request).map(|_| PrepareStep::MakeDir { at: RunPath(SCRATCH.into()), mode: 0o700 });
    made.into_iter().collect()
}

/// Plans the steps of pid 1, which is no pid 1 here: it adopts what loses its parent, and ends the
/// run by a signal to all processes that it reaches, which are those of its Landlock domain.
pub(super) fn confine(
    policy: &Policy,
    placement: &Placement,
    host: &HostFacts,
    enforcement: &Enforcement,
    request: &ExecRequest,
) -> Vec<ConfineStep> {
    let mut steps = vec![ConfineStep::AdoptOrphans];
    if !has_outer_keyring(policy, host) {
        steps.push(new_session_keyring(policy));
    }
    steps.extend([
        ConfineStep::ClearCapabilities,
        ConfineStep::NoNewPrivs,
        ConfineStep::Landlock(landlock(policy, placement, host, enforcement, request)),
        ConfineStep::ProveScope,
        ConfineStep::NotDumpable,
        ConfineStep::WipeArguments,
        ConfineStep::EndWithSocket,
    ]);
    steps
}

/// The outer endow has made a keyring, and its filter lets nobody make another.
fn has_outer_keyring(policy: &Policy, host: &HostFacts) -> bool {
    host.outer_level.is_some() && !policy.process.allow.contains(&AllowWord::Keyring)
}

fn landlock(
    policy: &Policy,
    placement: &Placement,
    host: &HostFacts,
    enforcement: &Enforcement,
    request: &ExecRequest,
) -> LandlockPlan {
    let abi = enforcement.landlock_abi;
    let handled = Rights::of_abi(abi);
    let mut rules = kernel_rules(host);
    rules.extend(scratch(request).map(|path| Rule {
        at: path.to_guest(),
        rights: Rights::READ_EXECUTE.and(Rights::CHANGE).without(Rights::MAKE_DEVICE),
        expect: None,
    }));
    rules.extend(placement.mounts.iter().map(|placed| {
        let (at, rights) = mount_rule(placed);
        Rule { at, rights, expect: placed.source.as_ref().map(|source| source.id) }
    }));
    let within = |rule: Rule| Rule { rights: rule.rights.within(handled), ..rule };
    LandlockPlan {
        abi,
        handled,
        rules: rules.into_iter().map(within).collect(),
        streams: stream_rules(host, request.captured, handled),
        refuse_tcp: policy.network.mode != NetworkMode::Host,
        scope_signal: true,
        scope_abstract: true,
    }
}

/// Devices that every command may use, and what of `/proc` is nobody's: the rest tells of all
/// processes of the host. `/` is not among them: a rule there would list every directory.
fn kernel_rules(host: &HostFacts) -> Vec<Rule> {
    let device = Rights::READ_WRITE_FILE.and(Rights::IOCTL_DEV);
    let devices = DEVICES.iter().map(|name| (fixed(&format!("/dev/{name}")), device));
    let files = KERNEL_FILES.iter().map(|path| (fixed(path), Rights::READ));
    devices.chain(files).filter_map(|(at, rights)| kernel_rule(at, rights, host)).collect()
}

fn kernel_rule(at: GuestPath, rights: Rights, host: &HostFacts) -> Option<Rule> {
    let fact = host.paths.get(&at.to_host()).filter(|fact| fact.links.is_empty())?;
    let expect = Some(fact.found.id()?);
    let directory = fact.found.is_directory() == Some(true);
    let rights = if directory { rights } else { rights.without(Rights::DIRECTORY) };
    Some(Rule { at, rights, expect })
}
