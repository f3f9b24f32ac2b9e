//! Kernel surface that no command needs, and calls by another door.

use super::prober::{in_own_namespaces, inside, outside};
use crate::harness::World;

const CALLS: &str = include_str!("probes/calls.py");
const NAMESPACES: &str = include_str!("probes/namespaces.py");
const DOORS: &str = include_str!("probes/doors.py");

#[test]
fn escape_calls_that_no_command_needs() {
    let world = World::new();
    // The rest acts on the whole machine: without privilege the kernel refuses it outside too.
    outside(&world, CALLS, &[]).succeed(&["keyctl", "add_key", "personality"]);
    inside(&world, &["--workspace", "rw"], CALLS, &[]).are(&[
        ("io_uring_setup", "ENOSYS"),
        ("io_uring_enter", "ENOSYS"),
        ("io_uring_register", "ENOSYS"),
        ("userfaultfd", "EPERM"),
        ("bpf", "EPERM"),
        ("perf_event_open", "EPERM"),
        ("keyctl", "ENOSYS"),
        ("add_key", "ENOSYS"),
        ("request_key", "ENOSYS"),
        ("personality", "EPERM"),
        ("personality-query", "ok"),
        ("acct", "EPERM"),
        ("swapon", "EPERM"),
        ("quotactl", "EPERM"),
        ("syslog", "EPERM"),
        ("kexec_load", "EPERM"),
        ("init_module", "EPERM"),
        ("delete_module", "EPERM"),
        ("reboot", "EPERM"),
        ("settimeofday", "EPERM"),
        ("clock_settime", "EPERM"),
        ("fanotify_init", "EPERM"),
        ("open_by_handle_at", "EPERM"),
        ("vhangup", "EPERM"),
        ("filter-listener", "EPERM"),
        ("unknown", "ENOSYS"),
    ]);
}

#[test]
fn escape_by_namespaces_mounts_and_roots() {
    let world = World::new();
    let control = in_own_namespaces(&world, NAMESPACES, &[]);
    control.succeed(&["unshare-user", "unshare-mount", "unshare-pid", "unshare-net", "clone-user"]);
    control.succeed(&["mount", "pivot_root", "chroot", "open_tree", "fsopen", "mount_setattr"]);
    let attempts = inside(&world, &["--workspace", "rw"], NAMESPACES, &[]);
    assert_eq!(attempts.get("clone3"), "ENOSYS");
    attempts.but("clone3").all("EPERM");
}

#[test]
fn escape_by_foreign_calls() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let world = World::new();
    // A kernel without these tables answers ENOSYS to the control; no process is killed for it.
    for name in ["int80", "x32", "socketcall"] {
        assert!(!outside(&world, DOORS, &[]).get(name).starts_with("signal"), "{name}");
    }
    inside(&world, &["--workspace", "rw"], DOORS, &[]).all("signal-31");
}
