//! The first process of the sandbox: whoever can read or trace it has what the command was denied. The
//! control attacks a process of the same user in the same way.

use super::attack::{Control::*, Group, PLAIN, Where};

const REFUSED: &[&str] = &["EPERM", "EACCES"];

attacks! {
    Group {
        probe: include_str!("../escape/probes/process.py"),
        about: |scene, at| match at {
            Where::Control | Where::OwnNamespaces => vec![scene.fact("pid")],
            Where::Inside(_) => vec!["1".to_owned()],
        },
        ..PLAIN
    };
    mem_read: "reading its memory by /proc/1/mem", Succeeds, REFUSED;
    mem_write: "writing its memory by /proc/1/mem", Succeeds, REFUSED;
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
