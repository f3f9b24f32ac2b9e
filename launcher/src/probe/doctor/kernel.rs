//! The kernel and its switches.

use std::path::Path;

use super::{Finding, Status};
use crate::plan::host::UsernsRefusal;
use crate::probe::kernel::{facts, is_filtered, read_word};
use crate::sys;

/// The oldest kernel on which endow is tested.
const OLDEST: (u32, u32) = (6, 1);

pub(super) fn findings() -> Vec<Finding> {
    let mut findings = vec![version()];
    findings.extend(switches());
    findings.extend([filter_in_front(), covered_proc(), overlay(), filters(), terminals()]);
    findings
}

fn version() -> Finding {
    let (major, minor) = facts(None).version;
    let detail = format!("Linux {major}.{minor}");
    if (major, minor) >= OLDEST {
        return Finding::ok("kernel", detail);
    }
    Finding::new("kernel", Status::Limited, format!("{detail}: not tested before 6.1"))
        .remedy("run Linux 6.1 or later")
}

/// The host's switches that turn user namespaces off for ordinary users; root is exempt from all
/// but the count.
fn switches() -> Vec<Finding> {
    let switches = [
        (
            "userns-sysctl",
            "/proc/sys/kernel/unprivileged_userns_clone",
            "0",
            UsernsRefusal::DebianSysctl,
        ),
        ("userns-count", "/proc/sys/user/max_user_namespaces", "0", UsernsRefusal::Count),
        (
            "apparmor",
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
            UsernsRefusal::AppArmor,
        ),
    ];
    let found = switches.into_iter().filter_map(|(name, path, bad, refusal)| {
        let value = read_word(path)?;
        if let Some(profile) = (name == "apparmor" && value == bad).then(profile).flatten() {
            let detail = format!("restricts user namespaces, but not of the profile {profile}");
            return Some(Finding::ok(name, detail));
        }
        Some(if value == bad {
            Finding::new(name, Status::Limited, refusal.words()).remedy(refusal.remedy())
        } else {
            Finding::ok(
                name,
                format!("{} = {value}", path.trim_start_matches("/proc/sys/").replace('/', ".")),
            )
        })
    });
    found.collect()
}

/// The profile that endow runs under: the restriction is for programs that have none.
fn profile() -> Option<String> {
    let label = read_word("/proc/self/attr/current")?;
    (label != "unconfined").then(|| label.trim_end_matches(" (unconfined)").to_owned())
}

/// A container engine's filter is seen by its number only; what it refuses, the trial shows.
fn filter_in_front() -> Finding {
    if is_filtered() {
        Finding::new(
            "outer-filter",
            Status::Note,
            "a system call filter is in front, as in containers",
        )
    } else {
        Finding::ok("outer-filter", "no system call filter in front")
    }
}

fn covered_proc() -> Finding {
    let mounts = sys::mountinfo::own().unwrap_or_default();
    let points = mounts.iter().map(|mount| mount.place.as_path());
    // On that directory, which is always empty, mounts are no cover.
    let bare = ["/proc", "/proc/sys/fs/binfmt_misc"].map(Path::new);
    let covers: Vec<&Path> =
        points.filter(|point| point.starts_with("/proc") && !bare.contains(point)).collect();
    match covers.first() {
        None => Finding::ok("proc", "uncovered: a process file system of its own can be mounted"),
        Some(first) => Finding::new(
            "proc",
            Status::Limited,
            format!("{} places of /proc are covered, {} among them", covers.len(), first.display()),
        )
        .remedy("docker run --security-opt systempaths=unconfined"),
    }
}

fn overlay() -> Finding {
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if known.lines().any(|line| line.trim_start_matches("nodev").trim() == "overlay") {
        return Finding::ok("overlay", "known to the kernel");
    }
    Finding::new("overlay", Status::Limited, "not loaded: hiding names needs it")
        .remedy("sudo modprobe overlay")
}

fn filters() -> Finding {
    let known = |action| sys::seccomp::knows_action(action);
    match (known(libc::SECCOMP_RET_ERRNO), known(libc::SECCOMP_RET_USER_NOTIF)) {
        (true, true) => Finding::ok("seccomp", "filters, with notification"),
        (true, false) => {
            Finding::new("seccomp", Status::Limited, "no notification: nothing can be observed")
                .remedy("run Linux 5.0 or later")
        }
        _ => Finding::new("seccomp", Status::Missing, "no system call filters")
            .remedy("run a kernel built with CONFIG_SECCOMP_FILTER"),
    }
}

/// The filter refuses the request whatever the switch says.
fn terminals() -> Finding {
    let refused = read_word("/proc/sys/dev/tty/legacy_tiocsti").is_some_and(|word| word == "0");
    if refused {
        Finding::ok("terminal", "the kernel refuses typed-ahead input (TIOCSTI)")
    } else {
        Finding::new(
            "terminal",
            Status::Note,
            "the kernel allows TIOCSTI; endow's filter refuses it",
        )
        .remedy("sudo sysctl dev.tty.legacy_tiocsti=0")
    }
}
