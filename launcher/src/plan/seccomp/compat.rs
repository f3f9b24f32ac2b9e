//! Calls of 32-bit programs that the kernel's own architecture runs, as far as they are restricted.
//!
//! Only restricted calls have a row: with `--allow foreign-arch` all others pass, for the table of
//! two more architectures would be as long as the two we have. Arguments are in the same places.

use super::arch::Arch;
use super::group::Group;
use super::table::CALLS;

/// One call of 32-bit programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CompatCall {
    pub(super) name: &'static str,
    i386: Option<u32>,
    arm: Option<u32>,
    pub(super) group: Group,
}

impl CompatCall {
    /// Returns the number in 32-bit programs on `arch`.
    pub(super) const fn number(&self, arch: Arch) -> Option<u32> {
        match arch {
            Arch::X86_64 => self.i386,
            Arch::Aarch64 => self.arm,
        }
    }
}

/// From this number on, all architectures number their calls alike.
const COMMON: u32 = 424;
/// Calls that only 32-bit ARM has: cache, thread pointer, and the like.
const ARM_PRIVATE: std::ops::RangeInclusive<u32> = 0x000f_0000..=0x000f_0005;

/// Returns the numbers that pass unless they are restricted. Those that later kernels add don't.
pub(super) fn passing() -> impl Iterator<Item = u32> {
    (0..COMMON).chain(ARM_PRIVATE)
}

/// Returns the groups of restricted calls, by their number in 32-bit programs on `arch`.
pub(super) fn restricted(arch: Arch) -> impl Iterator<Item = (u32, Group)> {
    let own = COMPAT_CALLS.iter().filter_map(move |call| Some((call.number(arch)?, call.group)));
    let common = CALLS.iter().filter_map(move |call| Some((call.number(arch)?, call.group)));
    own.chain(common.filter(|(number, _)| *number >= COMMON))
}

macro_rules! number {
    (-) => {
        None
    };
    ($number:literal) => {
        Some($number)
    };
}

macro_rules! calls {
    ($($name:ident $i386:tt $arm:tt $group:ident,)*) => {
        pub(super) const COMPAT_CALLS: &[CompatCall] = &[$(CompatCall {
            name: stringify!($name),
            i386: number!($i386),
            arm: number!($arm),
            group: Group::$group,
        },)*];
    };
}

// Name, number on i386, number on 32-bit ARM, group. i386's socketcall has its arguments in memory
// and is what its C library uses, so it can't be ruled and has no row.
calls! {
    ioctl 54 54 DeviceControl,
    fcntl 55 55 Descriptors,
    fcntl64 221 221 Descriptors,
    socket 359 281 Socket,
    connect 362 283 Connect,
    sendto 369 290 SendTo,
    sendmsg 370 296 SendMessage,
    socketpair 360 288 SocketPair,
    setsockopt 366 294 SocketOption,
    clone 120 120 Clone,
    execve 11 11 Observed,
    kill 37 37 Kill,
    syslog 103 103 HostControl,
    personality 136 136 Personality,
    setpriority 97 97 Priority,
    vhangup 111 111 HostControl,
    modify_ldt 123 - Segments,
    pivot_root 217 218 Mounts,
    chroot 61 61 Mounts,
    acct 51 51 HostControl,
    settimeofday 79 79 HostControl,
    mount 21 21 Mounts,
    umount2 52 52 Mounts,
    swapon 87 87 HostControl,
    swapoff 115 115 HostControl,
    reboot 88 88 HostControl,
    sethostname 74 74 Mounts,
    setdomainname 121 121 Mounts,
    iopl 110 - HostControl,
    ioperm 101 - HostControl,
    init_module 128 128 HostControl,
    delete_module 129 129 HostControl,
    quotactl 131 131 HostControl,
    clock_settime 264 262 HostControl,
    kexec_load 283 347 HostControl,
    add_key 286 309 Keyring,
    request_key 287 310 Keyring,
    keyctl 288 311 Keyring,
    ioprio_set 289 314 IoPriority,
    unshare 310 337 Unshare,
    perf_event_open 336 364 Perf,
    fanotify_init 338 367 HostControl,
    fanotify_mark 339 368 HostControl,
    open_by_handle_at 342 371 HostControl,
    clock_adjtime 343 372 Clock,
    sendmmsg 345 374 SendTo,
    setns 346 375 Mounts,
    finit_module 350 379 HostControl,
    seccomp 354 383 Filter,
    kexec_file_load - 401 HostControl,
    bpf 357 386 Bpf,
    execveat 358 387 Observed,
    userfaultfd 374 388 Userfaultfd,
    umount 22 - Mounts,
    stime 25 - HostControl,
    clock_settime64 404 404 HostControl,
    clock_adjtime64 405 405 Clock,
    send - 289 SendTo,
    shmget 395 307 SharedMemory,
    shmat 397 305 SharedMemory,
    shmctl 396 308 SharedMemory,
    semget 393 299 SharedMemory,
    semop - 298 SharedMemory,
    semctl 394 300 SharedMemory,
    semtimedop - 312 SharedMemory,
    semtimedop_time64 420 420 SharedMemory,
    msgget 399 303 SharedMemory,
    msgsnd 400 301 SharedMemory,
    msgrcv 401 302 SharedMemory,
    msgctl 402 304 SharedMemory,
    mq_open 277 274 SharedMemory,
    mq_unlink 278 275 SharedMemory,
    setrlimit 75 75 CoreLimit,
    prlimit64 340 369 Limits,
    sched_setparam 154 154 Scheduling,
    sched_setscheduler 156 156 Scheduling,
    sched_setaffinity 241 241 Scheduling,
    sched_setattr 351 380 Scheduling,
}
