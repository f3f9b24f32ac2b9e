//! Calls: seccomp, capabilities, the count of user namespaces, Landlock's ban on mounts.

use super::alone::Attack;
use crate::escape::prober::Attempts;
use crate::harness::World;

const NAMESPACES: &str = include_str!("../escape/probes/namespaces.py");
const CALLS: &str = include_str!("../escape/probes/calls.py");
const SOCKETS: &str = include_str!("../escape/probes/sockets.py");
const CONTROL: &str = include_str!("../escape/probes/control.py");
const RW: &[&str] = &["--workspace", "rw"];

#[track_caller]
fn check(probe: &str, attempt: &str, works: &str, layers: &[&str], open: &[&str]) {
    let attack = Attack { options: RW, probe, about: &[], attempt, works };
    attack.is_refused_by_each(&World::new(), layers, open);
}

#[test]
fn seccomp_and_the_count_alone_keep_user_namespaces_out() {
    for attempt in ["unshare-user", "clone-user"] {
        check(NAMESPACES, attempt, "ok", &["seccomp", "userns-count"], &[]);
    }
}

#[test]
fn seccomp_capabilities_and_landlock_alone_keep_mounts_as_they_are() {
    for attempt in ["mount", "umount2", "pivot_root"] {
        check(NAMESPACES, attempt, "ok", &["seccomp", "capabilities", "landlock"], &[]);
    }
}

/// Landlock has no say in these: seccomp and the empty capability sets.
#[test]
fn seccomp_and_capabilities_alone_keep_roots_and_names_as_they_are() {
    for attempt in ["chroot", "open_tree", "fsopen", "sethostname", "unshare-mount"] {
        check(NAMESPACES, attempt, "ok", &["seccomp", "capabilities"], &[]);
    }
}

/// What an ordinary process may call on any kernel: only the filter stands before these.
#[test]
fn seccomp_alone_keeps_kernel_services_out() {
    for attempt in ["keyctl", "add_key", "personality"] {
        check(CALLS, attempt, "ok", &["seccomp"], &["landlock", "capabilities", "keyring"]);
        check(CALLS, attempt, "ok", &["seccomp"], &[]);
    }
}

/// These are in no namespace, or in one that holds only part of what they reach.
#[test]
fn seccomp_alone_keeps_socket_families_out() {
    for attempt in ["netlink-generic", "netlink-sock-diag", "netlink-kobject-uevent", "oob"] {
        check(SOCKETS, attempt, "ok", &["seccomp"], &[]);
    }
}

/// As an ordinary user the modes of the files are a second layer; as root there is none.
#[test]
fn proc_covers_alone_keep_control_files_from_root() {
    use std::os::unix::fs::MetadataExt;
    let is_root = std::fs::metadata("/proc/self").expect("a process").uid() == 0;
    let open = ["landlock", "seccomp", "capabilities"];
    if is_root {
        check(CONTROL, "sys/kernel/core_pattern", "ok", &["proc-covers"], &open);
        check(CONTROL, "read-slabinfo", "ok", &["proc-covers"], &open);
    }
    let world = World::new();
    let mut command = world.endow(["run", "--workspace", "rw", "--test-without", "proc-covers"]);
    command.arg("--").args(crate::escape::prober::script(CONTROL, &[]));
    let word = Attempts::of(&mut command).get("sys/kernel/core_pattern").to_owned();
    assert_eq!(word, if is_root { "ok" } else { "EACCES" });
}
