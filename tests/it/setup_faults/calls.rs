//! With which errors each call is failed, and which calls are left alone.

use nix::libc::{
    E2BIG, EACCES, EAGAIN, EBUSY, EDQUOT, EINTR, EINVAL, EIO, EMFILE, ENODEV, ENOMEM, ENOSPC,
    ENOSYS, EOPNOTSUPP, EPERM, EPIPE,
};

/// Calls that are never failed, each for a reason.
const LEFT_ALONE: &[(&str, &[&str])] = &[
    ("does not return", &["exit", "exit_group", "rt_sigreturn"]),
    (
        "cannot fail",
        &["getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid", "umask"],
    ),
    (
        "memory, locks and the start of a program: the runtime's, which ends the process",
        &[
            "brk",
            "mmap",
            "munmap",
            "mprotect",
            "madvise",
            "mremap",
            "futex",
            "arch_prctl",
            "rseq",
            "set_tid_address",
            "set_robust_list",
            "sigaltstack",
            "sched_getaffinity",
            "getrandom",
            "sched_yield",
        ],
    ),
    (
        "fails for a bad address or number only",
        &["rt_sigaction", "rt_sigprocmask", "clock_gettime", "uname", "gettimeofday"],
    ),
    ("closed whatever it returns", &["close"]),
    ("waits, and is asked again", &["rt_sigsuspend", "clock_nanosleep", "nanosleep"]),
];

/// Errors of a call, by what it does.
const ERRORS: &[(&[&str], &[i32])] = &[
    (&["open", "openat", "openat2"], &[EMFILE, EACCES, ENOMEM, EINTR, EIO, EPERM]),
    (&["statx", "newfstatat", "fstat", "fstatfs", "statfs"], &[EACCES, ENOMEM, EIO]),
    (&["readlink", "readlinkat", "getcwd", "access", "faccessat2"], &[EACCES, ENOMEM, EIO]),
    (&["getdents64"], &[EIO, ENOMEM]),
    (&["read", "pread64", "lseek"], &[EIO, EINTR]),
    (&["write", "pwrite64", "writev", "ftruncate"], &[ENOSPC, EIO, EPERM, EINTR]),
    (&["mkdirat", "mkdir", "mknodat", "symlinkat", "linkat"], &[ENOSPC, EACCES, EIO]),
    (&["renameat", "renameat2", "unlinkat", "fchmod", "fchmodat", "utimensat"], &[EIO, EPERM]),
    (&["open_tree", "move_mount", "mount_setattr"], &[EPERM, ENOMEM, EINVAL, ENOSPC, ENOSYS]),
    (&["fsopen", "fsconfig", "fsmount"], &[EPERM, ENOMEM, EINVAL, EMFILE, ENODEV]),
    (&["pivot_root", "umount2", "chdir", "fchdir", "sethostname"], &[EPERM, EINVAL, ENOMEM]),
    (&["clone", "clone3", "fork", "vfork"], &[EAGAIN, EPERM, ENOSPC, ENOMEM, ENOSYS]),
    (&["unshare", "setns"], &[EPERM, ENOSPC, ENOMEM, EINVAL]),
    (&["prctl"], &[EPERM, EINVAL]),
    (&["capset", "capget", "setsid", "prlimit64", "setrlimit"], &[EPERM, EINVAL]),
    (&["seccomp"], &[EPERM, EINVAL, ENOMEM, EBUSY, ENOSYS]),
    (&["landlock_create_ruleset"], &[ENOSYS, EOPNOTSUPP, EINVAL, ENOMEM]),
    (&["landlock_add_rule", "landlock_restrict_self"], &[EPERM, EINVAL, ENOMEM]),
    (&["keyctl"], &[EDQUOT, EPERM, ENOMEM, ENOSYS]),
    (&["execve", "execveat"], &[EACCES, ENOMEM, E2BIG, EPERM]),
    (&["socket", "socketpair", "pipe2", "memfd_create", "eventfd2"], &[EMFILE, ENOMEM, EPERM]),
    (&["epoll_create1", "signalfd4", "pidfd_open", "inotify_init1"], &[EMFILE, ENOMEM, EINVAL]),
    (&["sendmsg", "sendto"], &[ENOMEM, EINTR, EPIPE]),
    (&["recvmsg", "recvfrom"], &[ENOMEM, EINTR]),
    (&["poll", "ppoll", "epoll_wait", "epoll_pwait"], &[EINTR, ENOMEM]),
    (&["wait4", "waitid"], &[EINTR]),
    (&["fcntl"], &[EMFILE]),
    (&["ioctl", "flock"], &[EINVAL, EAGAIN]),
];

/// Errors of every other call.
const OTHERS: &[i32] = &[EPERM, ENOMEM, EINVAL];

/// Returns the errors with which a call can fail.
pub(super) fn errors(name: &str) -> &'static [i32] {
    if LEFT_ALONE.iter().any(|(_, names)| names.contains(&name)) {
        return &[];
    }
    let known = ERRORS.iter().find(|(names, _)| names.contains(&name));
    known.map_or(OTHERS, |(_, errors)| errors)
}
