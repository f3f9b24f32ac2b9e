//! What compiled programs answer to calls that matter.

use std::collections::BTreeSet;

use endow_policy::AllowWord;

use super::super::interpret::SeccompData;
use super::super::{
    Action, Arch, CALLS, Call, Errno, Foreground, Group, Observe, ReaperPlan, SeccompInput, Shared,
    compile, compile_reaper, plan,
};
use super::harness::{
    EAFNOSUPPORT, ENOSYS, EOPNOTSUPP, EPERM, EPROTONOSUPPORT, HIGH, action_of, ask,
    assert_as_declared, assert_loadable, check, check_with, data, planned, run, strict,
};

#[test]
fn default_refuses_what_reaches_the_kernel_or_the_host() {
    for name in ["mount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr"] {
        check(name, &[], EPERM);
    }
    for name in ["move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"] {
        check(name, &[], EPERM);
    }
    for name in ["setns", "sethostname", "bpf", "perf_event_open", "userfaultfd", "syslog"] {
        check(name, &[], EPERM);
    }
    for name in ["quotactl", "reboot", "init_module", "kexec_load", "open_by_handle_at"] {
        check(name, &[], EPERM);
    }
    for name in ["clone3", "io_uring_setup", "io_uring_enter", "keyctl", "add_key"] {
        check(name, &[], ENOSYS);
    }
    check("request_key", &[], ENOSYS);
    check("fanotify_init", &[], EPERM);
}

#[test]
fn default_allows_what_programs_need() {
    for name in ["read", "write", "openat", "futex", "mmap", "execve", "connect", "ptrace"] {
        check(name, &[], Action::Allow);
    }
    for name in ["process_vm_readv", "kcmp", "pidfd_getfd", "landlock_create_ruleset", "prctl"] {
        check(name, &[], Action::Allow);
    }
    for name in ["mknodat", "name_to_handle_at", "memfd_secret", "memfd_create", "adjtimex"] {
        check(name, &[], Action::Allow);
    }
}

#[test]
fn clone_makes_processes_and_no_namespaces() {
    for flags in [17, 0x3d_0f00, 0x4111, 0x0100_0011] {
        check("clone", &[flags], Action::Allow);
        check("clone", &[flags | HIGH], Action::Allow);
    }
    for bit in [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000] {
        check("clone", &[bit | 0x11], EPERM);
        check("unshare", &[bit], EPERM);
        check_with(&[AllowWord::Userns], "clone", &[bit | 0x11], Action::Allow);
        check_with(&[AllowWord::Userns], "unshare", &[bit], Action::Allow);
    }
    check("clone", &[0x4000_0000], EPERM);
    check("unshare", &[0x4000_0000], EPERM);
    check("unshare", &[0x80], EPERM);
    check("unshare", &[0x600], Action::Allow);
    check("unshare", &[0x600 | HIGH], EPERM);
    check_with(&[AllowWord::Userns], "clone3", &[], Action::Allow);
}

#[test]
fn socket_families_are_a_list() {
    let tcp = [(2, 1, 0), (2, 1, 6), (10, 1, 0), (2, 0x80801, 6)];
    let udp = [(2, 2, 0), (10, 2, 17), (2, 2, 1), (10, 2, 58)];
    let unix = [(1, 1, 0), (1, 2, 0), (1, 5, 0), (1, 0x80001, 0)];
    let netlink = [(16, 3, 0), (16, 2, 0), (16, 0x80003, 0)];
    for (family, kind, protocol) in [tcp, udp, unix].concat().into_iter().chain(netlink) {
        check("socket", &[family, kind, protocol], Action::Allow);
        check("socket", &[family | HIGH, kind | HIGH, protocol | HIGH], Action::Allow);
    }
    for family in (0..64).filter(|family| ![1, 2, 10, 16].contains(family)) {
        check("socket", &[family, 1, 0], EAFNOSUPPORT);
        check("socket", &[family | HIGH, 3, 0], EAFNOSUPPORT);
    }
    for protocol in (1..32).chain([0xffff_ffff]) {
        check("socket", &[16, 3, protocol], EPROTONOSUPPORT);
    }
}

#[test]
fn socket_refuses_what_passes_the_rules_on_ports() {
    for family in [2, 10] {
        for (kind, protocol) in [(1, 262), (1, 132), (5, 132), (2, 136), (6, 33), (1, 256)] {
            check("socket", &[family, kind, protocol], EPROTONOSUPPORT);
            let raw = [AllowWord::RawSockets];
            check_with(&raw, "socket", &[family, kind, protocol], EPROTONOSUPPORT);
        }
        for kind in [3, 10, 0x80003] {
            check("socket", &[family, kind, 1], EPERM);
        }
    }
    check("sendto", &[3, 0, 0, 0x2000_0000], EOPNOTSUPP);
    check("sendmmsg", &[3, 0, 1, 0x2000_4000 | HIGH], EOPNOTSUPP);
    check("sendmsg", &[3, 0, 0x2000_0000], EOPNOTSUPP);
    check("sendmsg", &[3, 0, 0x4000], Action::Allow);
    check("sendmsg", &[3, 0, 0x4001], EOPNOTSUPP);
    check("sendmmsg", &[3, 0, 1, 1 | HIGH], EOPNOTSUPP);
    check("setsockopt", &[3, 6, 31], Action::Errno(Errno::ENOENT));
    check("setsockopt", &[3, 6, 1], Action::Allow);
}

#[test]
fn raw_sockets_lifts_packet_raw_and_netlink() {
    let raw = [AllowWord::RawSockets];
    for (family, kind, protocol) in [(17, 3, 0x300), (2, 3, 1), (2, 10, 3), (16, 3, 4), (16, 3, 15)]
    {
        check_with(&raw, "socket", &[family, kind, protocol], Action::Allow);
    }
    for family in [15, 21, 30, 38, 40, 43, 44] {
        check_with(&raw, "socket", &[family, 1, 0], EAFNOSUPPORT);
    }
}

#[test]
fn socketpair_is_unix() {
    check("socketpair", &[1, 1, 0], Action::Allow);
    check("socketpair", &[30, 1, 0], EAFNOSUPPORT);
    check("socketpair", &[2, 1, 0], EAFNOSUPPORT);
}

#[test]
fn ioctl_high_bits_do_not_hide_tiocsti() {
    for request in [0x5412, 0x541c, 0x5423, 0x540c] {
        for high in [0, HIGH, 0xffff_ffff << 32, 1 << 63] {
            check("ioctl", &[0, request | high, 0], EPERM);
        }
    }
    for request in [0x5401, 0x5402, 0x5413, 0x4008_6602] {
        check("ioctl", &[0, request, 0], Action::Allow);
    }
}

#[test]
fn subvolumes_are_left_alone_and_files_share_blocks() {
    for request in [0x5000_9401, 0x5000_940e, 0x5000_940f, 0x5000_9417, 0x5000_9418, 0x5000_943f] {
        check("ioctl", &[0, request, 0], EPERM);
        check("ioctl", &[0, request | HIGH, 0], EPERM);
    }
    // The same of bcachefs, also as it was extended.
    for request in [0x4020_bc10, 0x4020_bc11, 0x4030_bc1d, 0x4030_bc1e] {
        check("ioctl", &[0, request, 0], EPERM);
    }
    // FICLONE, FICLONERANGE, FIDEDUPERANGE, and what asks a file system for its label.
    for request in [0x4004_9409, 0x4020_940d, 0xc018_9436, 0x8100_9431] {
        check("ioctl", &[0, request, 0], Action::Allow);
    }
}

#[test]
fn terminal_and_console_stay_as_they_are_for_others() {
    // TCXONC stops and lets go on; a console is asked for its mode and not given one.
    check("ioctl", &[0, 0x540a, 0], EPERM);
    check("ioctl", &[0, 0x540a, HIGH], EPERM);
    check("ioctl", &[0, 0x540a, 1], Action::Allow);
    for request in [0x4b3a, 0x4b45, 0x4b72, 0x5602, 0x5606, 0x560b] {
        check("ioctl", &[0, request, 0], EPERM);
        check("ioctl", &[0, request | HIGH, 0], EPERM);
    }
    // Of other drivers, by the same letter: a camera's (`V`), and reads of a console.
    for request in [0x4b3b, 0x4b44, 0x5601, 0x5603, 0x8068_5600, 0xc0d0_5605] {
        check("ioctl", &[0, request, 0], Action::Allow);
    }
}

#[test]
fn no_signal_comes_of_a_terminal_and_no_lease_of_a_file() {
    check("ioctl", &[0, 0x5452, 0], Action::Done);
    for flags in [0x2000, 0x2802, 0x2000 | HIGH] {
        check("fcntl", &[0, 4, flags], EPERM);
    }
    for command in [1024, 1040, 1024 | HIGH] {
        check("fcntl", &[0, command, 1], EPERM);
    }
    for (command, argument) in [(4, 0x802), (3, 0x2000), (2, 1), (1030, 0), (38, 0), (1033, 15)] {
        check("fcntl", &[0, command, argument], Action::Allow);
    }
}

#[test]
fn content_and_names_change_where_times_tell() {
    let keys = [0xc050_6617, 0xc040_6618, 0xc040_6619, 0x800c_6613];
    // Structures of 32-bit programs are smaller.
    for request in [0xc0a4_586d, 0xc01c_f509, 0xc020_f509] {
        check("ioctl", &[0, request, 0], EPERM);
    }
    for request in keys.into_iter().chain([0xc028_660f, 0xc0c0_586d, 0x4028_5881, 0x4058_5883]) {
        check("ioctl", &[0, request, 0], EPERM);
    }
}

#[test]
fn terminal_is_given_to_another_group_where_there_is_no_pipeline() {
    let none = BTreeSet::new();
    for arch in Arch::ALL {
        let with = |foreground| plan(&SeccompInput { foreground, ..strict(*arch, &none) });
        let (alone, announced) = (with(Foreground::Free), with(Foreground::Announced));
        assert_eq!(run(&alone, "ioctl", &[0, 0x5410, 0]), Action::Allow);
        assert_eq!(run(&announced, "ioctl", &[0, 0x5410 | HIGH, 0]), Action::Notify);
        assert!(announced.notifies() && !announced.unobserved().notifies());
        assert_eq!(run(&announced.unobserved(), "ioctl", &[0, 0x5410, 0]), Action::Allow);
        for one in [&alone, &announced, &announced.unobserved()] {
            assert_eq!(run(one, "ioctl", &[0, 0x5412, 0]), EPERM);
        }
    }
    check("ioctl", &[0, 0x5410, 0], EPERM);
    check("ioctl", &[0, 0x5410 | HIGH, 0], EPERM);
}

#[test]
fn kill_of_the_own_group_is_job_control_only() {
    for signal in [9, 15, 2, 1, 3, 17, 23] {
        check("kill", &[0, signal], EPERM);
        check("kill", &[HIGH, signal | HIGH], EPERM);
        check("kill", &[5, signal], Action::Allow);
        check("kill", &[u64::MAX, signal], Action::Allow);
    }
    for signal in [0, 18, 19, 20, 21, 22] {
        check("kill", &[0, signal], Action::Allow);
    }
    check("setpriority", &[1, 0, 19], EPERM);
    check("setpriority", &[0, 0, 19], Action::Allow);
    check("setpriority", &[1, 7, 19], Action::Allow);
    check("ioprio_set", &[2, 0, 0], EPERM);
    check("ioprio_set", &[1, 0, 0], Action::Allow);
}

#[test]
fn facts_of_the_run_lift_their_checks() {
    let none = BTreeSet::new();
    for arch in Arch::ALL {
        let open =
            SeccompInput { signal_scoped: true, tcp_ports_ruled: false, ..strict(*arch, &none) };
        let open = plan(&open);
        assert_eq!(run(&open, "kill", &[0, 9]), Action::Allow);
        assert_eq!(run(&open, "sendto", &[3, 0, 0, 0x2000_0000]), Action::Allow);
        assert_eq!(run(&open, "sendto", &[3, 0, 0, 0x2000_0001]), EOPNOTSUPP);
        assert_eq!(run(&open, "setsockopt", &[3, 6, 31]), Action::Allow);
        assert!(!open.notifies());
    }
}

/// What namespaces keep apart otherwise.
#[test]
fn a_run_without_namespaces_reaches_nothing_shared() {
    let words = AllowWord::ALL.iter().copied().collect();
    for (arch, shared) in Arch::ALL
        .iter()
        .flat_map(|arch| [Shared::NoNetwork, Shared::Network].map(|shared| (*arch, shared)))
    {
        let filter = plan(&SeccompInput { shared, ..strict(arch, &words) });
        let refuses = |name: &str, args: &[u64], action| {
            assert_eq!(run(&filter, name, args), action, "{name} {args:?} {shared:?}");
        };
        for name in ["shmget", "shmat", "semget", "semop", "msgget", "msgrcv", "mq_open"] {
            refuses(name, &[], ENOSYS);
        }
        let none = Action::Errno(Errno::EAFNOSUPPORT);
        let internet = if shared == Shared::Network { Action::Allow } else { none };
        refuses("socket", &[1, 1, 0], none);
        refuses("socket", &[2, 1, 0], internet);
        refuses("socket", &[10, 2, 17], internet);
        refuses("socket", &[16, 3, 0], internet);
        refuses("socket", &[40, 1, 0], none);
        refuses("socketpair", &[1, 1 | 0o2_000_000, 0], Action::Allow);
        refuses("socketpair", &[1, 2, 0], none);
        refuses("socketpair", &[1, 3, 0], none);
        refuses("socketpair", &[1, 5, 0], Action::Allow);
        refuses("prlimit64", &[0, 7], Action::Allow);
        refuses("prlimit64", &[17, 7], EPERM);
        refuses("prlimit64", &[17, 4], EPERM);
        refuses("prlimit64", &[0, 4, 0], Action::Allow);
        refuses("prlimit64", &[0, 4, 1 << 32], Action::Done);
        refuses("sched_setaffinity", &[17], EPERM);
        refuses("setpriority", &[0, 0, 19], Action::Allow);
        refuses("setpriority", &[0, 17, 19], EPERM);
        refuses("setpriority", &[1, 0, 19], EPERM);
        refuses("setpriority", &[2, 0, 19], EPERM);
        refuses("ioprio_set", &[1, 0, 0], Action::Allow);
        refuses("ioprio_set", &[2, 0, 0], EPERM);
    }
}

/// The limit of core dumps stays, and nobody fails for that.
#[test]
fn limit_of_core_dumps_stays() {
    let high = 1 << 32;
    check("setrlimit", &[7, 1], Action::Allow);
    check("setrlimit", &[4, 1], Action::Done);
    check("setrlimit", &[4 | high, 1], Action::Done);
    check("prlimit64", &[0, 7, 1], Action::Allow);
    check("prlimit64", &[17, 4, 0, 1], Action::Allow);
    check("prlimit64", &[17, 4, 1], Action::Done);
    check("prlimit64", &[0, 4 | high, high], Action::Done);
}

#[test]
fn personality_default_and_query_pass() {
    check("personality", &[0], Action::Allow);
    check("personality", &[0xffff_ffff], Action::Allow);
    check("personality", &[0x004_0000], EPERM);
    check("personality", &[0x040_0000], EPERM);
    check_with(&[AllowWord::Personality], "personality", &[0x004_0000], Action::Allow);
    check("clock_adjtime", &[0], Action::Allow);
    check("clock_adjtime", &[0xffff_fffb], EPERM);
}

#[test]
fn seccomp_narrows_without_a_listener() {
    check("seccomp", &[0, 0], Action::Allow);
    check("seccomp", &[1, 0], Action::Allow);
    check("seccomp", &[1, 1], Action::Allow);
    check("seccomp", &[1, 8], EPERM);
    check("seccomp", &[1, 0x1b | HIGH], EPERM);
    check("seccomp", &[3, 8], Action::Allow);
}

#[test]
fn observed_calls_notify() {
    let none = BTreeSet::new();
    for arch in Arch::ALL {
        let observed = |observe| plan(&SeccompInput { observe, ..strict(*arch, &none) });
        let [calls, paths, all] = [Observe::Calls, Observe::Paths, Observe::All].map(observed);
        assert!(calls.notifies() && paths.notifies());
        for name in ["execve", "execveat", "connect", "mount", "io_uring_setup", "bpf"] {
            assert_eq!(run(&calls, name, &[]), Action::Notify);
            assert_eq!(run(&paths, name, &[]), Action::Notify);
        }
        for name in ["openat", "newfstatat", "unlinkat", "renameat2"] {
            assert_eq!(run(&calls, name, &[]), Action::Allow);
            assert_eq!(run(&paths, name, &[]), Action::Notify);
        }
        for name in ["clone3", "nfsservctl"] {
            assert_eq!(run(&paths, name, &[]), ENOSYS);
        }
        let links = [("readlink", [0, 0, 1023]), ("readlinkat", [0, 0, 0])];
        for (name, realpath) in links.map(|(name, args)| (name, [&args[..], &[1023]].concat())) {
            let is_there = Call::named(name).is_some_and(|call| call.number(*arch).is_some());
            let of = |plan: &_, args: &[u64]| is_there.then(|| run(plan, name, args));
            let when = |action| is_there.then_some(action);
            assert_eq!(of(&calls, &[]), when(Action::Allow), "{name}");
            assert_eq!(of(&paths, &[0, 0, 1024, 1024]), when(Action::Notify), "{name}");
            assert_eq!(of(&paths, &realpath), when(Action::Allow), "{name}");
            assert_eq!(of(&all, &realpath), when(Action::Notify), "{name}");
        }
        assert_eq!(run(&paths, "clone", &[17]), Action::Allow);
        assert_eq!(run(&paths, "clone", &[0x1000_0011]), Action::Notify);
        assert!(!paths.unobserved().notifies());
        [&calls, &paths, &all].into_iter().for_each(assert_as_declared);
    }
}

#[test]
fn connecting_is_announced_where_addresses_are_served_on_demand() {
    let none = BTreeSet::new();
    for arch in Arch::ALL {
        let connecting = plan(&SeccompInput { on_demand: true, ..strict(*arch, &none) });
        assert!(connecting.notifies());
        assert_eq!(run(&connecting, "connect", &[]), Action::Notify);
        assert_eq!(run(&connecting, "execve", &[]), Action::Allow);
        assert_as_declared(&connecting);
    }
}

/// The numbers of 32-bit programs are others, and other calls have those of the machine's own.
#[test]
fn connecting_is_told_by_the_numbers_of_its_architecture() {
    let allow = BTreeSet::from([AllowWord::ForeignArch]);
    for (arch, number, other) in [(Arch::X86_64, 362, 42), (Arch::Aarch64, 283, 203)] {
        let plan = plan(&SeccompInput { on_demand: true, ..strict(arch, &allow) });
        let compat = arch.audit_32bit();
        assert_eq!(plan.decide(compat, number, [0; 6]), Action::Notify);
        assert_eq!(plan.group_of(compat, number), Some(Group::Connect));
        assert_eq!(plan.group_of(arch.audit(), other), Some(Group::Connect));
        assert_ne!(plan.group_of(compat, other), Some(Group::Connect));
        assert_ne!(plan.group_of(arch.audit(), number), Some(Group::Connect));
    }
}

#[test]
fn renaming_is_announced_where_changes_are_buffered() {
    let none = BTreeSet::new();
    for arch in Arch::ALL {
        let buffered = plan(&SeccompInput { buffered: true, ..strict(*arch, &none) });
        assert!(buffered.notifies());
        assert_eq!(run(&buffered, "renameat2", &[]), Action::Notify);
        assert_eq!(run(&buffered, "execve", &[]), Action::Allow);
        assert_eq!(run(&planned(*arch, &[]), "renameat2", &[]), Action::Allow);
        assert_as_declared(&buffered);
    }
}

#[test]
fn foreign_calls_and_x32_are_killed() {
    for words in [vec![], vec![AllowWord::ForeignArch], AllowWord::ALL.to_vec()] {
        let plan = planned(Arch::X86_64, &words);
        let program = compile(&plan);
        for number in (0..600).map(|number| number | 0x4000_0000) {
            let verdict = ask(&program, data(Arch::X86_64, number, &[]));
            assert_eq!(action_of(verdict.code), Action::Kill, "{number:x}");
        }
        let skipped = ask(&program, data(Arch::X86_64, u32::MAX, &[]));
        assert_eq!(action_of(skipped.code), ENOSYS);
        let i386 = ask(&program, SeccompData { number: 4, arch: 0x4000_0003, args: [0; 6] });
        let expect = if words.is_empty() { Action::Kill } else { Action::Allow };
        assert_eq!(action_of(i386.code), expect);
    }
}

#[test]
fn compat_calls_are_ruled_alike() {
    let plan = planned(Arch::X86_64, &[AllowWord::ForeignArch]);
    let program = compile(&plan);
    let i386 = |number, args: &[u64]| {
        let data = SeccompData { arch: 0x4000_0003, ..data(Arch::X86_64, number, args) };
        action_of(ask(&program, data).code)
    };
    let [ioctl, mount, io_uring_setup, unshare, bpf] = [54, 21, 425, 310, 357];
    assert_eq!(i386(ioctl, &[0, 0x5412]), EPERM);
    assert_eq!(i386(221, &[0, 4, 0x2000]), EPERM);
    assert_eq!(i386(ioctl, &[0, 0x5401]), Action::Allow);
    assert_eq!(i386(mount, &[]), EPERM);
    assert_eq!(i386(io_uring_setup, &[]), ENOSYS);
    assert_eq!(i386(unshare, &[0x1000_0000]), EPERM);
    assert_eq!(i386(bpf, &[]), EPERM);
    assert_eq!(i386(600, &[]), ENOSYS);
    let [read, set_thread_area, socketcall, clock_gettime64] = [3, 243, 102, 403];
    for number in [read, set_thread_area, socketcall, clock_gettime64] {
        assert_eq!(i386(number, &[]), Action::Allow);
    }
}

#[test]
fn reaper_may_wait_signal_and_report() {
    for arch in Arch::ALL {
        let program = compile_reaper(&ReaperPlan { arch: *arch });
        assert_loadable(&program);
        for call in CALLS.iter().filter(|call| call.number(*arch).is_some()) {
            let number = call.number(*arch).expect("filtered");
            let allowed = ReaperPlan::CALLS.contains(&call.name);
            let expect = if allowed { Action::Allow } else { ENOSYS };
            let verdict = ask(&program, data(*arch, number, &[]));
            assert_eq!(action_of(verdict.code), expect, "{}", call.name);
        }
        let foreign = SeccompData { number: 1, arch: arch.audit_32bit(), args: [0; 6] };
        assert_eq!(action_of(ask(&program, foreign).code), Action::Kill);
    }
    assert!(ReaperPlan::CALLS.iter().all(|name| Call::named(name).is_some()));
}
