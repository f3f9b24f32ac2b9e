//! System calls that no command needs: kernel surface, and calls by the tables of other architectures.

use super::attack::{Control::*, Group, PLAIN};

const NONE: &[&str] = &["ENOSYS"];
const REFUSED: &[&str] = &["EPERM"];
/// Other file systems know no such request, and btrfs refuses an empty name.
const NO_SUBVOLUME: super::attack::Control = WhereThere("ENOTTY EINVAL EPERM EEXIST ENOENT");
/// Other file systems know no such request, and those that do refuse what is asked for here.
const NO_REQUEST: super::attack::Control =
    WhereThere("ENOTTY EINVAL EOPNOTSUPP ENOTSUP EBADF EPERM EACCES ENOPKG");

attacks! {
    Group { probe: include_str!("../escape/probes/calls.py"), ..PLAIN };
    io_uring_setup: "io_uring", WhereThere("ENOSYS EPERM"), NONE;
    io_uring_enter: "io_uring_enter", WhereThere("ENOSYS EPERM EBADF"), NONE;
    io_uring_register: "io_uring_register", WhereThere("ENOSYS EPERM EBADF EINVAL"), NONE;
    userfaultfd: "userfaultfd", WhereThere("ENOSYS EPERM"), REFUSED;
    bpf: "bpf", WhereThere("EPERM EINVAL"), REFUSED;
    perf_event_open: "perf_event_open", WhereThere("EPERM EACCES ENOENT EINVAL E2BIG"), REFUSED;
    keyctl: "keyctl", Succeeds, NONE;
    add_key: "add_key", Succeeds, NONE;
    request_key: "request_key", WhereThere("ENOKEY"), NONE;
    personality: "a personality: memory that can be read runs (READ_IMPLIES_EXEC)", Succeeds, REFUSED;
    acct: "accounting of processes", AsRoot, REFUSED;
    swapon: "swap space", Not("it would act on the whole machine"), REFUSED;
    quotactl: "quotas", WhereThere("ENOSYS EPERM ENODEV ENOENT EINVAL"), REFUSED;
    syslog: "the kernel's log", WhereThere("EPERM"), REFUSED;
    kexec_load: "another kernel", Not("it would act on the whole machine"), REFUSED;
    init_module: "a module", Not("it would act on the whole machine"), REFUSED;
    delete_module: "removing a module", Not("it would act on the whole machine"), REFUSED;
    reboot: "reboot", Not("it would act on the whole machine"), REFUSED;
    settimeofday: "the clock", Not("it would act on the whole machine"), REFUSED;
    clock_settime: "the clock, by clock_settime", Not("it would act on the whole machine"), REFUSED;
    fanotify_init: "spying on files with fanotify", WhereThere("EPERM ENOSYS"), REFUSED;
    open_by_handle_at: "opening a file by its handle, past all directories", WhereThere("EPERM EOVERFLOW EINVAL ESTALE"), REFUSED;
    vhangup: "hanging up the terminal", Not("it would hang up the terminal of the tests"), REFUSED;
    filter_listener: "a listener of its own for system calls", WhereThere("EINVAL EFAULT EACCES"), REFUSED;
    unknown: "a call that no kernel has yet", WhereThere("ENOSYS"), NONE;
    modify_ldt: "segments of memory", WhereThere("ENOSYS EPERM EINVAL"), &["EPERM", "ENOSYS"];
    lookup_dcookie: "lookup_dcookie", WhereThere("ENOSYS EPERM EINVAL"), &["EPERM", "ENOSYS"];
    key_of_files: "a key by which names of files are encoded (fscrypt)", NO_REQUEST, REFUSED;
    encrypted: "encrypting a directory, of which only it has the key", NO_REQUEST, REFUSED;
    moved_blocks: "content of a file that changes without its times, on ext4", NO_REQUEST, REFUSED;
    swapped_content: "the same on XFS", NO_REQUEST, REFUSED;
    lease: "a lease, by which everybody waits who opens the file", Succeeds, REFUSED;
    subvolume: "making a subvolume of btrfs, which no mask reaches", NO_SUBVOLUME, REFUSED;
    subvolume_flags: "the same, by the later request", NO_SUBVOLUME, REFUSED;
    snapshot: "a snapshot of btrfs, which has what the view hides", NO_SUBVOLUME, REFUSED;
    snapshot_flags: "the same, by the later request", NO_SUBVOLUME, REFUSED;
    snapshot_high: "the same with bit 32 of the request set", NO_SUBVOLUME, REFUSED;
    subvolume_removed: "removing a subvolume with all that it hides", NO_SUBVOLUME, REFUSED;
    iopl: "ports of the machine", WhereThere("ENOSYS EPERM"), &["EPERM", "ENOSYS"];
}
