//! What pid 1 and the command give up, and the Landlock rules from the same mounts as the view.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use endow_policy::{
    Access, AllowWord, BackendSpec, GuestPath, Level, MountSpec, NetworkMode, Policy,
};
use rustc_hash::FxHashMap;

use super::PlanError;
use super::host::{HostFacts, StreamFact};
use super::landlock::{ABI_WITH_SCOPES, LandlockPlan, Rights, Rule, StreamRule};
use super::level::{self, Enforcement};
use super::network;
use super::place::{Placed, Placement};
use super::seccomp::{self, Arch, Foreground, Observe, SeccompInput, Shared};
use super::skeleton::DEVICES;
use super::step::{ConfineStep, PayloadStep, Rlimit};

/// Plans the steps of pid 1 that the command inherits, in the order that findings require.
pub(super) fn plan(
    policy: &Policy,
    placement: &Placement,
    host: &HostFacts,
    enforcement: &Enforcement,
    captured: bool,
) -> Vec<ConfineStep> {
    let mut steps = vec![
        ConfineStep::SendNamespaces,
        new_session_keyring(policy),
        ConfineStep::DropCapabilities,
        ConfineStep::NoNewPrivs,
    ];
    if enforcement.landlock_abi > 0 {
        steps.push(ConfineStep::Landlock(landlock(policy, placement, host, enforcement, captured)));
    }
    steps.extend([ConfineStep::NotDumpable, ConfineStep::WipeArguments]);
    steps
}

/// Plans the keyring that the command has in the place of its caller's.
pub(super) fn new_session_keyring(policy: &Policy) -> ConfineStep {
    let usable = policy.process.allow.contains(&AllowWord::Keyring);
    if usable { ConfineStep::UsableSessionKeyring } else { ConfineStep::NewSessionKeyring }
}

/// Decides what is observed. An outer endow's filter lets nobody listen, and at level `landlock` it is
/// left at that.
pub(super) fn observed(
    (policy, host): (&Policy, &HostFacts),
    level: Level,
    wish: Observe,
) -> Observe {
    let is_possible = host.outer_level.is_none() && level != Level::Landlock;
    if is_possible && !holds_readers(policy) { wish } else { Observe::Nothing }
}

/// Whether a command may have whoever reads its memory wait for good, in the kernel (userfaultfd(2)): what
/// the supervisor can do without is not read then.
fn holds_readers(policy: &Policy) -> bool {
    policy.process.allow.contains(&AllowWord::Userfaultfd)
}

/// Plans the last steps before the command is executed.
pub(super) fn payload(
    policy: &Policy,
    placement: &Placement,
    host: &HostFacts,
    enforcement: &Enforcement,
    observe: Observe,
) -> Result<Vec<PayloadStep>, PlanError> {
    if !placement.may_have(&policy.chdir, host.user.uid) {
        return Err(PlanError::NoStart(policy.chdir.clone()));
    }
    let arch = Arch::named(&host.kernel.arch).ok_or(PlanError::Unenforceable {
        word: "seccomp",
        reason: format!("unknown architecture {}", host.kernel.arch),
    })?;
    let mut steps = Vec::new();
    if policy.process.new_session {
        steps.push(PayloadStep::NewSession);
    }
    if enforcement.level == Level::Landlock {
        steps.extend([PayloadStep::DieWithReaper, PayloadStep::OwnDomain]);
    }
    steps.extend(rlimits(policy, host, enforcement.level));
    steps.push(PayloadStep::RestoreSignals);
    steps.push(PayloadStep::ChangeDir { to: policy.chdir.clone() });
    let shared = shared(policy, enforcement.level);
    steps.push(PayloadStep::Seccomp(seccomp::plan(&SeccompInput {
        arch,
        allow: &policy.process.allow,
        signal_scoped: enforcement.landlock_abi >= ABI_WITH_SCOPES,
        tcp_ports_ruled: shared == Shared::NoNetwork,
        observe,
        on_demand: enforcement.level != Level::Landlock && network::is_on_demand(&policy.network),
        // An outer endow's filter lets nobody listen.
        buffered: host.outer_level.is_none() && placement.mounts.iter().any(is_layered),
        foreground: foreground(policy, host, enforcement.level),
        shared,
    })));
    Ok(steps)
}

/// Only in a pid namespace has the caller's process group no number.
fn foreground(policy: &Policy, host: &HostFacts, level: Level) -> Foreground {
    let is_apart = level != Level::Landlock && !policy.process.new_session;
    let is_apart = is_apart && !holds_readers(policy);
    if host.pipeline {
        Foreground::Refused
    } else if is_apart && host.terminal.is_some() && host.outer_level.is_none() {
        Foreground::Announced
    } else {
        Foreground::Free
    }
}

fn is_layered(placed: &Placed) -> bool {
    let is_mounted = placed.is_physical() || placed.tree.is_some();
    placed.spec.access == Access::Cow && is_mounted && placed.is_directory()
}

fn shared(policy: &Policy, level: Level) -> Shared {
    match (level, policy.network.mode) {
        (Level::Landlock, NetworkMode::None | NetworkMode::Allow) => Shared::NoNetwork,
        (Level::Landlock, NetworkMode::Host) => Shared::Network,
        _ => Shared::Nothing,
    }
}

fn rlimits(policy: &Policy, host: &HostFacts, level: Level) -> Vec<PayloadStep> {
    let limits = &policy.limits;
    let no_group = !host.cgroup.controllers.iter().any(|controller| controller == "pids");
    let processes = limits.pids.filter(|_| no_group && level::counts_by_rlimit(host, level));
    let most = host.user.most;
    let wanted = [
        // Less than a file of one takes, and what keeps dumps from a program of core_pattern's.
        (Rlimit::Core, Some(1), most.core),
        (Rlimit::Cpu, limits.cpu_time.map(|time| time.as_secs().max(1)), most.cpu_time),
        (Rlimit::Fsize, limits.file_size_bytes, most.file_size),
        (Rlimit::Nofile, limits.open_files, most.open_files),
        // pid 1 counts too.
        (Rlimit::Nproc, processes.map(|processes| processes.saturating_add(1)), most.processes),
    ];
    // One above the caller's own holds anyway, and nobody may set it.
    let step = |(resource, limit, most): (Rlimit, Option<u64>, u64)| {
        let limit = limit?.min(most);
        Some(PayloadStep::Rlimit { resource, soft: limit, hard: limit })
    };
    wanted.into_iter().filter_map(step).collect()
}

fn landlock(
    policy: &Policy,
    placement: &Placement,
    host: &HostFacts,
    enforcement: &Enforcement,
    captured: bool,
) -> LandlockPlan {
    let abi = enforcement.landlock_abi;
    let nested = policy.process.allow.contains(&AllowWord::Userns);
    let handled = if nested { Rights::default() } else { Rights::of_abi(abi) };
    LandlockPlan {
        abi,
        handled,
        rules: if nested { Vec::new() } else { rules(placement, handled) },
        streams: if nested { Vec::new() } else { stream_rules(host, captured, handled) },
        refuse_tcp: false,
        scope_signal: abi >= ABI_WITH_SCOPES,
        scope_abstract: abi >= ABI_WITH_SCOPES,
    }
}

/// The standard streams can be opened again as they are.
pub(super) fn stream_rules(host: &HostFacts, captured: bool, handled: Rights) -> Vec<StreamRule> {
    let given = |stream: &&StreamFact| stream.number == 0 || !captured;
    let streams = host.streams.iter().filter(given).map(stream_rule);
    streams.map(|rule| StreamRule { rights: rule.rights.within(handled), ..rule }).collect()
}

fn stream_rule(stream: &StreamFact) -> StreamRule {
    let mut rights = Rights::default();
    if stream.read {
        rights = rights.and(Rights::READ_FILE);
    }
    if stream.write {
        rights = rights.and(Rights::WRITE_FILE).and(Rights::TRUNCATE);
    }
    if stream.device {
        rights = rights.and(Rights::IOCTL_DEV);
    }
    StreamRule { number: stream.number, rights }
}

fn rules(placement: &Placement, handled: Rights) -> Vec<Rule> {
    let mut rules: BTreeMap<GuestPath, Rights> = BTreeMap::new();
    let mut allow = |at: GuestPath, rights: Rights| {
        let known = rules.entry(at).or_default();
        *known = known.and(rights.within(handled));
    };
    for (at, rights) in kernel_rules() {
        allow(at, rights);
    }
    for placed in &placement.mounts {
        let (at, rights) = mount_rule(placed);
        allow(at, rights);
    }
    for (at, rights) in shared_rules(placement) {
        allow(at, rights);
    }
    let by_place: FxHashMap<&[u8], Rights> =
        rules.iter().map(|(at, rights)| (at.as_bytes(), *rights)).collect();
    let allowed = |(at, rights): (&GuestPath, &Rights)| {
        let is_new = !above(&by_place, at).contains(*rights);
        is_new.then(|| Rule { at: at.clone(), rights: *rights, expect: None })
    };
    rules.iter().filter_map(allowed).collect()
}

/// Returns what all mounts in a directory of endow's own making have in common: one rule there in the
/// place of many. What else stands in it is endow's, read-only and nothing to execute.
fn shared_rules(placement: &Placement) -> Vec<(GuestPath, Rights)> {
    let mut within: FxHashMap<&[u8], (u32, Rights)> = FxHashMap::default();
    for placed in placement.mounts.iter().filter(|it| !is_small_file(&it.spec)) {
        let rights = granted(&placed.spec).within(Rights::READ_EXECUTE);
        let needs_rule =
            placed.spec.access == Access::Ro && placement.above(&placed.spec.at).is_none();
        for above in placed.spec.at.way_up().skip(1) {
            let (count, common) = within.entry(above).or_insert((0, rights));
            (*count, *common) = (*count + u32::from(needs_rule), common.within(rights));
        }
    }
    let shared = within.iter().filter(|(_, (count, _))| *count > 1);
    let places = shared.filter_map(|(at, (_, rights))| {
        let at = GuestPath::new(OsStr::from_bytes(at)).ok()?;
        let is_own = !at.is_root() && placement.covering(&at).is_none();
        is_own.then_some((at, *rights))
    });
    places.collect()
}

/// What the rules on the way to a path allow there: the kernel adds them up.
fn above(rules: &FxHashMap<&[u8], Rights>, at: &GuestPath) -> Rights {
    let rights = at.way_up().skip(1).filter_map(|path| rules.get(path));
    rights.fold(Rights::default(), |all, rights| all.and(*rights))
}

/// `/` can be listed; `/proc` is written to by the C library (thread names) and kept by its own
/// covers and permissions; devices and terminals take their requests.
fn kernel_rules() -> Vec<(GuestPath, Rights)> {
    let fixed = |path: &str| GuestPath::new(path).unwrap_or_else(|_| GuestPath::root());
    let device = Rights::READ_WRITE_FILE.and(Rights::IOCTL_DEV);
    let mut rules = vec![
        (GuestPath::root(), Rights::READ_DIR),
        (fixed("/proc"), Rights::READ_WRITE_FILE.and(Rights::READ_DIR)),
        (fixed("/dev/pts"), device.and(Rights::READ_DIR)),
    ];
    rules.extend(DEVICES.iter().map(|name| (fixed(&format!("/dev/{name}")), device)));
    rules
}

/// Returns the rule for one mount.
pub(super) fn mount_rule(placed: &Placed) -> (GuestPath, Rights) {
    let spec = &placed.spec;
    if is_small_file(spec) {
        let directory = spec.at.parent().unwrap_or_else(GuestPath::root);
        return (directory, Rights::READ_FILE);
    }
    let mut rights = granted(spec);
    if !placed.is_directory() {
        rights = rights.without(Rights::DIRECTORY);
    }
    (spec.at.clone(), rights.without(Rights::MAKE_DEVICE))
}

/// Returns what a mount's access says, whether it is a directory or not.
pub(super) fn granted(spec: &MountSpec) -> Rights {
    let rights = match spec.access {
        Access::Ro => Rights::READ_EXECUTE,
        Access::Rw | Access::Cow => Rights::READ_EXECUTE.and(Rights::CHANGE),
    };
    if spec.options.noexec { rights.without(Rights::EXECUTE) } else { rights }
}

fn is_small_file(spec: &MountSpec) -> bool {
    matches!(spec.backend, BackendSpec::Copy { .. } | BackendSpec::Made { .. })
}
