//! How much of the promise holds on this host, and what was accepted as lost.

use endow_policy::{AllowWord, Level, Origin, PatternRule, Policy};
use serde::Serialize;

use super::PlanError;
use super::host::{HostFacts, UsernsRefusal};

/// How much holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Enforcement {
    /// The level that is reached.
    pub level: Level,
    /// The Landlock ABI in use; 0 when Landlock takes no part.
    pub landlock_abi: u32,
    /// What was asked for and does not hold, each accepted by name.
    pub degradations: Vec<Degradation>,
}

/// One loss that the user accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Degradation {
    /// The word by which it was accepted.
    pub word: &'static str,
    /// What does not hold, and why.
    pub reason: String,
}

/// The losses that can be accepted by name.
const LOSSES: [&str; 3] = ["memory", "pids", "protect"];

/// Decides the level and refuses what can't be enforced and was not given up by name.
pub(super) fn decide(policy: &Policy, host: &HostFacts) -> Result<Enforcement, PlanError> {
    let mut accepted = policy.require.best_effort.iter();
    if let Some(word) = accepted.find(|word| !LOSSES.contains(&word.as_str())) {
        return Err(PlanError::UnknownLoss { word: word.clone(), known: LOSSES.join(", ") });
    }
    let level = reached(policy, host)?;
    let landlock_abi = if level == Level::Full { host.kernel.landlock_abi } else { 0 };
    let landlock_abi = if nested(policy) { host.kernel.landlock_abi } else { landlock_abi };
    let losses = limit_losses(policy, host);
    let degradations = losses.into_iter().map(|loss| accept(policy, loss));
    Ok(Enforcement { level, landlock_abi, degradations: degradations.collect::<Result<_, _>>()? })
}

fn nested(policy: &Policy) -> bool {
    policy.process.allow.contains(&AllowWord::Userns)
}

fn reached(policy: &Policy, host: &HostFacts) -> Result<Level, PlanError> {
    let wanted = policy.require.level;
    let refuse = |missing, remedy| Err(PlanError::Level { wanted, missing, remedy });
    if host.outer_level.as_deref().map(str::trim) == Some(Level::Full.word()) {
        return refuse(
            "user namespaces: this runs inside endow already",
            "start the outer endow with `--allow userns`",
        );
    }
    if let Some(refusal) = host.kernel.userns_refused {
        return refuse(refusal.words(), refusal.remedy());
    }
    if !host.kernel.seccomp {
        return refuse("seccomp filters", "run a kernel built with CONFIG_SECCOMP_FILTER");
    }
    if !host.kernel.proc_mountable && !nested(policy) {
        return refuse(
            "a process file system of its own: parts of /proc are covered here",
            "start the container with an uncovered /proc (docker: --security-opt systempaths=unconfined)",
        );
    }
    match (host.kernel.landlock_abi, wanted) {
        _ if nested(policy) => Ok(Level::Namespaces),
        (0, Level::Full) => refuse(
            "Landlock",
            "boot with `landlock` in the kernel's lsm= list, or accept `--require namespaces`",
        ),
        (0, _) => Ok(Level::Namespaces),
        _ => Ok(Level::Full),
    }
}

impl UsernsRefusal {
    /// Returns what is missing, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::DebianSysctl => "user namespaces: kernel.unprivileged_userns_clone is 0",
            Self::Count => "user namespaces: user.max_user_namespaces is 0 or used up",
            Self::AppArmor => "user namespaces: AppArmor takes their capabilities away",
            Self::Seccomp => "user namespaces: a seccomp filter of the container refuses them",
            Self::Absent => "user namespaces: the kernel has none",
        }
    }

    /// Returns the one command that enables them.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::DebianSysctl => "sudo sysctl kernel.unprivileged_userns_clone=1",
            Self::Count => "sudo sysctl user.max_user_namespaces=10000",
            Self::AppArmor => "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0",
            Self::Seccomp => {
                "start the container with --security-opt seccomp=unconfined --security-opt systempaths=unconfined"
            }
            Self::Absent => "run a kernel built with CONFIG_USER_NS",
        }
    }
}

fn limit_losses(policy: &Policy, host: &HostFacts) -> Vec<Degradation> {
    let has = |controller: &str| host.cgroup.controllers.iter().any(|it| it == controller);
    let reason = |controller| format!("no `{controller}` controller: {}", host.cgroup.reason);
    let mut losses = Vec::new();
    if policy.limits.memory_bytes.is_some() && !has("memory") {
        losses.push(Degradation { word: "memory", reason: reason("memory") });
    }
    if policy.limits.pids.is_some() && !has("pids") && !counts_by_rlimit(host) {
        losses.push(Degradation { word: "pids", reason: reason("pids") });
    }
    losses.extend(protect_loss(policy));
    losses
}

/// The built-in list is kept for the version that holds changes; a name that somebody asked to be
/// protected must not be taken for protected before.
fn protect_loss(policy: &Policy) -> Option<Degradation> {
    let by_user = |rule: &&PatternRule| {
        !matches!(rule.origin, Origin::Profile { .. }) && !rule.pattern.starts_with('!')
    };
    let rule = policy.protect.iter().find(by_user)?;
    let (pattern, origin) = (&rule.pattern, &rule.origin);
    let reason = format!("this version holds no changes to protected names: {pattern} of {origin}");
    Some(Degradation { word: "protect", reason })
}

/// Since Linux 5.14 RLIMIT_NPROC counts within the user namespace, which is the run; the host's
/// root is exempt from it.
pub(super) fn counts_by_rlimit(host: &HostFacts) -> bool {
    host.kernel.version >= (5, 14) && host.user.uid != 0
}

fn accept(policy: &Policy, loss: Degradation) -> Result<Degradation, PlanError> {
    if policy.require.best_effort.contains(loss.word) {
        Ok(loss)
    } else {
        Err(PlanError::Unenforceable { word: loss.word, reason: loss.reason })
    }
}
