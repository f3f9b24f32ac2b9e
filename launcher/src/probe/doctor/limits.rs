//! Quotas, limits and control groups.

use std::path::Path;

use endow_policy::Limits;
use rustix::process::{Resource, geteuid, getrlimit};

use super::{Finding, Status};
use crate::probe::cgroup;

/// Fewer free keyrings than this, and a few runs at once use them up.
const KEYS_FREE_MIN: u64 = 20;
/// Fewer open files than this limit what a command can do.
const FILES_MIN: u64 = 4096;

pub(super) fn findings() -> Vec<Finding> {
    vec![cgroup(), keyrings(), files(), core_dumps()]
}

/// Asks what a run would ask, so that both say the same.
fn cgroup() -> Finding {
    let any = Limits { pids: Some(1), ..Limits::default() };
    let fact = cgroup::facts(&any, Path::new("/"));
    if fact.parent.is_some() && !fact.controllers.is_empty() {
        return Finding::ok("cgroup", format!("delegated, with: {}", fact.controllers.join(" ")));
    }
    let detail = format!("{}: memory can't be limited", fact.reason);
    Finding::new("cgroup", Status::Limited, detail)
        .remedy("systemd-run --user --scope -p Delegate=yes -- endow ...")
}

/// Each run joins a session keyring of its own; where none is left, the filter's refusal of the
/// calls is what remains.
fn keyrings() -> Finding {
    let text = std::fs::read_to_string("/proc/key-users").unwrap_or_default();
    let free = text.lines().find_map(|line| free_keys(line, geteuid().as_raw()));
    match free {
        Some(free) if free < KEYS_FREE_MIN => Finding::new(
            "keyrings",
            Status::Note,
            format!("{free} left: further runs rely on the filter alone"),
        )
        .remedy("sudo sysctl kernel.keys.maxkeys=2000"),
        Some(free) => Finding::ok("keyrings", format!("{free} left")),
        None => Finding::ok("keyrings", "none in use"),
    }
}

/// Reads `1002:    20 20/20 20/200 608/20000`.
fn free_keys(line: &str, uid: u32) -> Option<u64> {
    let (user, rest) = line.split_once(':')?;
    if user.trim().parse() != Ok(uid) {
        return None;
    }
    let (used, most) = rest.split_ascii_whitespace().nth(2)?.split_once('/')?;
    most.parse::<u64>().ok()?.checked_sub(used.parse().ok()?)
}

fn files() -> Finding {
    let most = getrlimit(Resource::Nofile).maximum;
    match most {
        Some(most) if most < FILES_MIN => {
            Finding::new("open-files", Status::Note, format!("at most {most} open files"))
                .remedy("raise `nofile` in /etc/security/limits.conf")
        }
        most => {
            Finding::ok("open-files", most.map_or("unlimited".to_owned(), |most| most.to_string()))
        }
    }
}

/// A run's limit keeps dumps from files and from programs, and not from a socket (fs/coredump.c).
fn core_dumps() -> Finding {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if !names_a_socket(&pattern) {
        return Finding::ok("core-dumps", "no run leaves any");
    }
    let detail = "core_pattern names a socket, which gets those of runs too";
    let finding = Finding::new("core-dumps", Status::Note, detail.to_owned());
    finding.remedy("sudo sysctl kernel.core_pattern=core")
}

/// Linux 6.16 and later take `@PATH`, and `@@PATH` for a server that is asked first; to others it is a file's name.
fn names_a_socket(pattern: &str) -> bool {
    pattern.starts_with('@')
}

#[cfg(test)]
mod tests {
    use super::{free_keys, names_a_socket};

    #[test]
    fn socket_of_core_dumps_is_told_from_files_and_programs() {
        for (pattern, expect) in [
            ("@/run/coredump.socket", true),
            ("@@/run/coredump.socket", true),
            ("core.%p", false),
            ("|/usr/lib/systemd/systemd-coredump %P", false),
            ("", false),
        ] {
            assert_eq!(names_a_socket(pattern), expect, "{pattern}");
        }
    }

    #[test]
    fn keys_of_the_user_alone_count() {
        let line = " 1002:    20 20/20 20/200 608/20000";
        assert_eq!(free_keys(line, 1002), Some(180));
        assert_eq!(free_keys(line, 0), None);
        assert_eq!(free_keys("", 0), None);
    }
}
