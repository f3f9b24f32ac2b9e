//! How much of the promise holds on this host, and what was accepted as lost.

use endow_policy::{
    Access, AllowWord, BackendSpec, LOSSES, Level, MountSpec, Origin, PatternRule, Policy,
};
use serde::Serialize;

use super::PlanError;
use super::host::{HostFacts, UsernsRefusal};
use super::landlock::ABI_WITH_SCOPES;
use super::step::{Cover, Renew};

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

/// Decides the level and refuses what can't be enforced and was not given up by name.
pub(super) fn decide(policy: &Policy, host: &HostFacts) -> Result<Enforcement, PlanError> {
    let mut accepted = policy.require.best_effort.iter();
    if let Some(word) = accepted.find(|word| !LOSSES.contains(&word.as_str())) {
        return Err(PlanError::UnknownLoss { word: word.clone(), known: LOSSES.join(", ") });
    }
    let level = reached(policy, host)?;
    let takes_part = level != Level::Namespaces || nested(policy);
    let landlock_abi = if takes_part { host.kernel.landlock_abi } else { 0 };
    let losses = limit_losses(policy, host, level);
    Ok(Enforcement { level, landlock_abi, degradations: accept_all(policy, losses)? })
}

fn nested(policy: &Policy) -> bool {
    policy.process.allow.contains(&AllowWord::Userns)
}

fn reached(policy: &Policy, host: &HostFacts) -> Result<Level, PlanError> {
    let wanted = policy.require.level;
    let refuse = |missing, remedy| Err(PlanError::Level { wanted, missing, remedy });
    if wanted == Level::Landlock {
        return in_place(host);
    }
    if host.outer_level.is_some() && host.kernel.userns_refused.is_some() {
        // The outer view holds; whoever asks for more by name is not put off with less.
        return match policy.require.origin {
            None => in_place(host),
            Some(_) => refuse(
                "user namespaces: this runs inside endow already",
                "ask for no level, or for `landlock`: it narrows the outer view; or start the outer endow with `--allow userns`",
            ),
        };
    }
    // What is left open then, permissions keep closed, but not to the user that owns the kernel's settings.
    if nested(policy) && host.user.uid == 0 {
        return Err(PlanError::NestedAsRoot);
    }
    if let Some(refusal) = host.kernel.userns_refused {
        return refuse(refusal.words(), refusal.remedy());
    }
    if !host.kernel.seccomp {
        return refuse("seccomp filters", "run a kernel built with CONFIG_SECCOMP_FILTER");
    }
    if !host.kernel.proc_mountable && !nested(policy) {
        return refuse(COVERED_PROC, UNCOVER_PROC);
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

/// Level `landlock`: without its scope of signals, any process of the user could be ended.
fn in_place(host: &HostFacts) -> Result<Level, PlanError> {
    let refuse =
        |missing, remedy| Err(PlanError::Level { wanted: Level::Landlock, missing, remedy });
    match host.kernel.landlock_abi {
        0 => refuse("Landlock", "boot with `landlock` in the kernel's lsm= list"),
        abi if abi < ABI_WITH_SCOPES => {
            refuse("Landlock's scope of signals (ABI 6)", "run Linux 6.12 or later")
        }
        _ if !host.kernel.seccomp => {
            refuse("seccomp filters", "run a kernel built with CONFIG_SECCOMP_FILTER")
        }
        _ => Ok(Level::Landlock),
    }
}

/// What is missing where a container covers parts of `/proc`.
pub(crate) const COVERED_PROC: &str =
    "a process file system of its own: parts of /proc are covered here";
/// The remedy.
pub(crate) const UNCOVER_PROC: &str =
    "start the container with an uncovered /proc (docker: --security-opt systempaths=unconfined)";

impl UsernsRefusal {
    /// Returns what is missing, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::DebianSysctl => "user namespaces: kernel.unprivileged_userns_clone is 0",
            Self::Count => "user namespaces: user.max_user_namespaces is 0 or used up",
            Self::AppArmor => {
                "user namespaces: AppArmor keeps them, or their capabilities, from programs without a profile that allows them"
            }
            Self::Seccomp => "user namespaces: a seccomp filter of the container refuses them",
            Self::Unmapped => "user namespaces: this user has no number in the one it is in",
            Self::Chroot => "user namespaces: the kernel makes none in a chroot",
            Self::Absent => "user namespaces: the kernel has none",
        }
    }

    /// Returns the one command that enables them.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::DebianSysctl => "sudo sysctl kernel.unprivileged_userns_clone=1",
            Self::Count => "sudo sysctl user.max_user_namespaces=10000",
            Self::AppArmor => {
                "install endow's AppArmor profile, see docs/guide/user-namespaces.md; or, for all programs: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
            }
            Self::Seccomp => {
                "start the container with --security-opt seccomp=unconfined --security-opt systempaths=unconfined"
            }
            Self::Unmapped => "start what endow runs in with a map (unshare --map-current-user)",
            Self::Chroot => {
                "start endow outside, or enter the directory as a mount's root, as bwrap and systemd-nspawn do"
            }
            Self::Absent => "run a kernel built with CONFIG_USER_NS",
        }
    }
}

fn limit_losses(policy: &Policy, host: &HostFacts, level: Level) -> Vec<Degradation> {
    let has = |controller: &str| host.cgroup.controllers.iter().any(|it| it == controller);
    let reason = |controller| format!("no `{controller}` controller: {}", host.cgroup.reason);
    let mut losses = Vec::new();
    if policy.limits.memory_bytes.is_some() && !has("memory") {
        losses.push(Degradation { word: "memory", reason: reason("memory") });
    }
    if policy.limits.pids.is_some() && !has("pids") && !counts_by_rlimit(host, level) {
        losses.push(Degradation { word: "pids", reason: reason("pids") });
    }
    losses.extend((level == Level::Landlock).then(|| protect_loss(policy)).flatten());
    losses
}

/// Without a view nothing stands over a name. That the built-in list does not hold then is said; a
/// name that somebody asked to be protected must not be taken for protected.
fn protect_loss(policy: &Policy) -> Option<Degradation> {
    let by_user = |rule: &&PatternRule| {
        !matches!(rule.origin, Origin::Profile { .. }) && !rule.pattern.starts_with('!')
    };
    // What would be buffered in a view is live here.
    let is_live = |spec: &MountSpec| {
        spec.access != Access::Ro && matches!(spec.backend, BackendSpec::Physical { .. })
    };
    if !policy.mounts.iter().any(is_live) {
        return None;
    }
    let rule = policy.protect.iter().find(by_user)?;
    let (pattern, origin) = (&rule.pattern, &rule.origin);
    let reason = format!(
        "without namespaces no name of a live mount can be protected: {pattern} of {origin}"
    );
    Some(Degradation { word: "protect", reason })
}

/// What the host puts in the place of a covered name is covered in the run's own namespace, and in none that the
/// command makes: those have mounts of their own.
pub(super) fn accept_nested(
    policy: &Policy,
    renewed: &[Renew],
) -> Result<Vec<Degradation>, PlanError> {
    let words = [("deny", Cover::Hidden), ("protect", Cover::Itself)];
    let lost = words.into_iter().filter(|_| nested(policy)).filter_map(|(word, cover)| {
        let name = renewed.iter().find(|it| it.cover == cover)?;
        let at = name.at.join(&name.path).unwrap_or_else(|_| name.at.clone());
        let reason = format!(
            "once the host replaces it, nothing covers it in namespaces of the command's: {at}"
        );
        Some(Degradation { word, reason })
    });
    let refused = |error| match error {
        PlanError::Unenforceable { word, reason } => PlanError::NestedLive { word, reason },
        other => other,
    };
    lost.map(|loss| accept(policy, loss).map_err(refused)).collect()
}

/// Since Linux 5.14 RLIMIT_NPROC counts within the user namespace, which is the run; the host's
/// root is exempt from it. Without a namespace all processes of the user count.
pub(super) fn counts_by_rlimit(host: &HostFacts, level: Level) -> bool {
    level != Level::Landlock && host.kernel.version >= (5, 14) && host.user.uid != 0
}

/// Takes the losses that were accepted by name; the first other one is an error.
pub(super) fn accept_all(
    policy: &Policy,
    losses: Vec<Degradation>,
) -> Result<Vec<Degradation>, PlanError> {
    losses.into_iter().map(|loss| accept(policy, loss)).collect()
}

fn accept(policy: &Policy, loss: Degradation) -> Result<Degradation, PlanError> {
    if policy.require.best_effort.contains(loss.word) {
        Ok(loss)
    } else {
        Err(PlanError::Unenforceable { word: loss.word, reason: loss.reason })
    }
}
