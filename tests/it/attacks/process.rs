//! Attacks on one process: a table that more than one target has.

/// Makes the table of the attacks on a process, of what a group says and what may come of each.
macro_rules! attacks_on_a_process {
    ($group:expr, $refused:expr) => {
        attacks! {
            $group;
            mem_read: "reading its memory by /proc", Succeeds, $refused;
            mem_write: "writing its memory by /proc", Succeeds, $refused;
            environ: "reading its environment", Succeeds, $refused;
            maps: "reading where its memory is", Succeeds, $refused;
            auxv: "reading its auxiliary vector", Succeeds, $refused;
            stack: "reading which call it waits in", Succeeds, $refused;
            root: "walking to its root directory", Succeeds, $refused;
            cwd: "walking to its working directory", Succeeds, $refused;
            exe: "looking at its program", Succeeds, $refused;
            exe_write: "opening its program to change it", AsRoot, $refused;
            ns_user: "looking at its user namespace", Succeeds, $refused;
            ns_mnt: "looking at its mount namespace", Succeeds, $refused;
            ns_net: "looking at its network namespace", Succeeds, $refused;
            ns_pid: "looking at its pid namespace", Succeeds, $refused;
            fd: "walking through its descriptors", Succeeds, $refused;
            fdinfo: "listing its descriptors", Succeeds, $refused;
            map_files: "listing the files that it has mapped", Succeeds, $refused;
            pidfd_getfd: "taking a descriptor of it", Succeeds, $refused;
            kcmp: "comparing its descriptors with own ones", Succeeds, $refused;
            process_vm_readv: "reading its memory with process_vm_readv", Succeeds, $refused;
            process_vm_writev: "writing its memory with process_vm_writev", Succeeds, $refused;
            process_madvise: "advising the kernel about its memory", AsRoot, $refused;
            ptrace_seize: "tracing it with PTRACE_SEIZE", Succeeds, $refused;
            ptrace_attach: "tracing it with PTRACE_ATTACH", Succeeds, $refused;
        }
    };
}
