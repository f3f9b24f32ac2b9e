//! A process outside, by the number that it has there.

use super::attack::{Control::*, Group, PLAIN};

const REFUSED: &[&str] = &["ENOENT", "ESRCH"];

attacks! {
    Group {
        probe: include_str!("../escape/probes/process.py"),
        about: |scene, _| vec![scene.fact("pid")],
        ..PLAIN
    };
    mem_read: "reading its memory by /proc", Succeeds, REFUSED;
    mem_write: "writing its memory by /proc", Succeeds, REFUSED;
    environ: "reading its environment", Succeeds, REFUSED;
    maps: "reading where its memory is", Succeeds, REFUSED;
    auxv: "reading its auxiliary vector", Succeeds, REFUSED;
    stack: "reading which call it waits in", Succeeds, REFUSED;
    root: "walking to its root directory", Succeeds, REFUSED;
    cwd: "walking to its working directory", Succeeds, REFUSED;
    exe: "looking at its program", Succeeds, REFUSED;
    exe_write: "opening its program to change it", AsRoot, REFUSED;
    ns_user: "looking at its user namespace", Succeeds, REFUSED;
    ns_mnt: "looking at its mount namespace", Succeeds, REFUSED;
    ns_net: "looking at its network namespace", Succeeds, REFUSED;
    ns_pid: "looking at its pid namespace", Succeeds, REFUSED;
    fd: "walking through its descriptors", Succeeds, REFUSED;
    fdinfo: "listing its descriptors", Succeeds, REFUSED;
    map_files: "listing the files that it has mapped", Succeeds, REFUSED;
    pidfd_getfd: "taking a descriptor of it", Succeeds, REFUSED;
    kcmp: "comparing its descriptors with own ones", Succeeds, REFUSED;
    process_vm_readv: "reading its memory with process_vm_readv", Succeeds, REFUSED;
    process_vm_writev: "writing its memory with process_vm_writev", Succeeds, REFUSED;
    process_madvise: "advising the kernel about its memory", AsRoot, REFUSED;
    ptrace_seize: "tracing it with PTRACE_SEIZE", Succeeds, REFUSED;
    ptrace_attach: "tracing it with PTRACE_ATTACH", Succeeds, REFUSED;
}
