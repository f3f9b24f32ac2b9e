//! Tests over the tables, and of compiled programs against the plan.

use std::collections::{BTreeMap, BTreeSet};

use endow_policy::AllowWord;
use proptest::prelude::*;

use super::action::{Action, Errno};
use super::arch::Arch;
use super::check::{Check, Half};
use super::compat::COMPAT_CALLS;
use super::compile::{compile, compile_reaper};
use super::group::Group;
use super::insn::Insn;
use super::interpret::{SeccompData, Verdict, interpret};
use super::leaf::Leaf;
use super::plan::{SeccompInput, SeccompPlan, plan};
use super::reaper::ReaperPlan;
use super::table::{CALLS, Call};

const EPERM: Action = Action::Errno(Errno::EPERM);
const ENOSYS: Action = Action::Errno(Errno::ENOSYS);
const EPROTONOSUPPORT: Action = Action::Errno(Errno::EPROTONOSUPPORT);
const EAFNOSUPPORT: Action = Action::Errno(Errno::EAFNOSUPPORT);
const EOPNOTSUPP: Action = Action::Errno(Errno::EOPNOTSUPP);
const HIGH: u64 = 1 << 32;

/// The strictest run, and what a test changes about it.
fn strict(arch: Arch, allow: &BTreeSet<AllowWord>) -> SeccompInput<'_> {
    SeccompInput { arch, allow, signal_scoped: false, tcp_ports_ruled: true, observe: false }
}

fn planned(arch: Arch, words: &[AllowWord]) -> SeccompPlan {
    plan(&strict(arch, &words.iter().copied().collect()))
}

fn run(plan: &SeccompPlan, name: &str, args: &[u64]) -> Action {
    let number = Call::named(name).and_then(|call| call.number(plan.arch)).expect(name);
    let verdict = ask(&compile(plan), data(plan.arch, number, args));
    action_of(verdict.code)
}

fn ask(program: &[Insn], data: SeccompData) -> Verdict {
    interpret(program, &data)
}

fn data(arch: Arch, number: u32, args: &[u64]) -> SeccompData {
    let mut all = [0; 6];
    all[..args.len()].copy_from_slice(args);
    SeccompData { number, arch: arch.audit(), args: all }
}

fn action_of(code: u32) -> Action {
    let errnos = [1, 2, 38, 93, 95, 97].into_iter().zip([
        Errno::EPERM,
        Errno::ENOENT,
        Errno::ENOSYS,
        Errno::EPROTONOSUPPORT,
        Errno::EOPNOTSUPP,
        Errno::EAFNOSUPPORT,
    ]);
    let errno: BTreeMap<u32, Errno> = errnos.collect();
    match code {
        0x7fff_0000 => Action::Allow,
        0x7fc0_0000 => Action::Notify,
        0x8000_0000 => Action::Kill,
        _ => Action::Errno(errno[&(code ^ 0x0005_0000)]),
    }
}

/// The strictest plan's answer on both architectures.
#[track_caller]
fn check(name: &str, args: &[u64], expect: Action) {
    check_with(&[], name, args, expect);
}

#[track_caller]
fn check_with(words: &[AllowWord], name: &str, args: &[u64], expect: Action) {
    for arch in Arch::ALL {
        assert_eq!(run(&planned(*arch, words), name, args), expect, "{name} {args:x?} {arch:?}");
    }
}

/// The arguments a check looks at, each with the values around its own, in both halves.
fn key_arguments(plan: &SeccompPlan, number: u32) -> Vec<[u64; 6]> {
    let compat = plan.compat_leaves().and_then(|leaves| leaves.get(&number).copied());
    let leaves = [Some(plan.leaf(number)), compat];
    let mut all = vec![[0; 6], [u64::MAX; 6]];
    for leaf in leaves.into_iter().flatten() {
        if let Leaf::Check(check) = leaf {
            all.extend(key_arguments_of(check));
        }
    }
    all
}

fn key_arguments_of(check: Check) -> Vec<[u64; 6]> {
    let mut values: BTreeMap<u8, BTreeSet<u64>> = BTreeMap::new();
    for test in check.decision().rules.iter().flat_map(|rule| rule.when) {
        let (arg, shift) = match test.half {
            Half::Low(arg) => (arg, 0),
            Half::High(arg) => (arg, 32),
        };
        let seen = values.entry(arg).or_default();
        for value in test.any_of.iter().map(|value| u64::from(*value)) {
            let mask = u64::from(test.mask);
            let near = [value, value ^ 1, value | !mask & 0xffff_ffff, value & mask];
            seen.extend(near.map(|near| near << shift));
            seen.extend(near.map(|near| near | HIGH));
        }
        seen.extend([0, 1, u64::MAX, HIGH]);
    }
    values.into_iter().fold(vec![[0; 6]], |all, (arg, values)| product(&all, arg, &values))
}

fn product(all: &[[u64; 6]], arg: u8, values: &BTreeSet<u64>) -> Vec<[u64; 6]> {
    let with = |args: &[u64; 6], value: &u64| {
        let mut args = *args;
        args[usize::from(arg)] = *value;
        args
    };
    all.iter().flat_map(|args| values.iter().map(move |value| with(args, value))).collect()
}

/// The declared policy, written without trees, jumps or 32-bit words.
fn declared(plan: &SeccompPlan, data: &SeccompData) -> Action {
    if data.arch == plan.arch.audit_32bit() {
        return declared_compat(plan, data);
    }
    if data.arch != plan.arch.audit() {
        return Action::Kill;
    }
    let x32 = plan.arch == Arch::X86_64 && data.number & 0x4000_0000 != 0;
    if x32 && data.number != u32::MAX {
        return Action::Kill;
    }
    plan.leaf(data.number).decide(data.args)
}

fn declared_compat(plan: &SeccompPlan, data: &SeccompData) -> Action {
    let number = data.number;
    let own = COMPAT_CALLS.iter().find(|call| call.number(plan.arch) == Some(number));
    let leaf = match own {
        _ if !plan.lifted.contains(&AllowWord::ForeignArch) => Leaf::Do(Action::Kill),
        Some(call) => plan.group(call.group),
        None if number < 424 || (0xf_0000..0xf_0006).contains(&number) => Leaf::ALLOW,
        None => plan.leaf(number),
    };
    leaf.decide(data.args)
}

#[track_caller]
fn assert_as_declared(plan: &SeccompPlan) {
    let program = compile(plan);
    assert!(program.len() <= 350, "{} instructions", program.len());
    let odd = [0x3fff_ffff, 0x4000_0000, 0x4000_0001, 0x4000_0208, 0x7fff_ffff, u32::MAX - 1];
    let numbers = (0..=600).chain(odd).chain([0xf_0000, 0xf_0005, 0xf_0006, u32::MAX]);
    for number in numbers {
        for args in key_arguments(plan, number) {
            for arch in AUDITS {
                let data = SeccompData { number, arch: *arch, args };
                let expect = declared(plan, &data).code();
                assert_eq!(ask(&program, data).code, expect, "{arch:x} {number} {args:x?}");
            }
        }
    }
}

/// Both architectures, their 32-bit ones, and some that are nobody's.
const AUDITS: &[u32] =
    &[0xc000_003e, 0xc000_00b7, 0x4000_0003, 0x4000_0028, 0, u32::MAX, 0x4000_00b7, 0xc000_0003];

/// What the kernel checks when it loads a program.
#[track_caller]
fn assert_loadable(program: &[Insn]) {
    for (at, insn) in program.iter().enumerate() {
        let targets = match insn.code {
            0x05 => vec![insn.k as usize],
            0x15 | 0x35 | 0x45 => vec![usize::from(insn.jt), usize::from(insn.jf)],
            0x20 => {
                assert!(insn.k < 64 && insn.k % 4 == 0, "load at {}", insn.k);
                vec![0]
            }
            0x54 => vec![0],
            0x06 => continue,
            code => panic!("operation {code:#x}"),
        };
        assert!(targets.iter().all(|skip| at + 1 + skip < program.len()), "jump at {at}");
    }
    assert!(program.len() <= 4096);
}

#[test]
fn table_names_and_numbers_are_unique() {
    let names: BTreeSet<_> = CALLS.iter().map(|call| call.name).collect();
    assert_eq!(names.len(), CALLS.len());
    for arch in Arch::ALL {
        let numbers: Vec<_> = CALLS.iter().filter_map(|call| call.number(*arch)).collect();
        let unique: BTreeSet<_> = numbers.iter().collect();
        assert_eq!(unique.len(), numbers.len(), "{arch:?}");
        assert!(numbers.iter().all(|number| *number <= 471));
    }
    assert!(CALLS.iter().all(|call| call.x86_64.is_some() || call.aarch64.is_some()));
}

#[test]
fn table_agrees_where_numbers_are_common() {
    let common = |call: &&Call| call.x86_64.is_some_and(|number| number >= 424);
    assert!(CALLS.iter().filter(common).all(|call| call.x86_64 == call.aarch64));
}

macro_rules! libc_numbers {
    ($($constant:ident)*) => {
        [$((stringify!($constant), libc::$constant),)*]
    };
}

#[test]
fn table_agrees_with_libc() {
    let Some(arch) = Arch::native() else { return };
    let numbers = libc_numbers! {
        SYS_read SYS_write SYS_close SYS_ioctl SYS_openat SYS_futex SYS_socket SYS_socketpair
        SYS_connect SYS_sendto SYS_sendmsg SYS_sendmmsg SYS_setsockopt SYS_clone SYS_clone3
        SYS_unshare SYS_setns SYS_mount SYS_umount2 SYS_pivot_root SYS_chroot SYS_open_tree
        SYS_move_mount SYS_fsopen SYS_fsconfig SYS_fsmount SYS_fspick SYS_mount_setattr
        SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register SYS_add_key SYS_request_key
        SYS_keyctl SYS_perf_event_open SYS_userfaultfd SYS_bpf SYS_personality SYS_execve
        SYS_execveat SYS_kill SYS_tgkill SYS_setpriority SYS_ioprio_set SYS_seccomp SYS_prctl
        SYS_settimeofday SYS_clock_settime SYS_clock_adjtime SYS_adjtimex SYS_syslog SYS_quotactl
        SYS_quotactl_fd SYS_swapon SYS_swapoff SYS_reboot SYS_kexec_load SYS_init_module
        SYS_finit_module SYS_delete_module SYS_acct SYS_sethostname SYS_setdomainname SYS_vhangup
        SYS_open_by_handle_at SYS_name_to_handle_at SYS_fanotify_init SYS_fanotify_mark
        SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev SYS_kcmp SYS_pidfd_open
        SYS_pidfd_getfd SYS_pidfd_send_signal SYS_memfd_create SYS_memfd_secret SYS_openat2
        SYS_close_range SYS_faccessat2 SYS_epoll_pwait2 SYS_landlock_create_ruleset
        SYS_landlock_add_rule SYS_landlock_restrict_self SYS_process_mrelease SYS_futex_waitv
        SYS_set_mempolicy_home_node SYS_mseal SYS_rseq SYS_statx SYS_waitid
        SYS_wait4 SYS_ppoll SYS_recvmsg SYS_exit SYS_exit_group SYS_rt_sigreturn
        SYS_rt_sigprocmask SYS_rt_sigtimedwait SYS_nanosleep SYS_clock_nanosleep
        SYS_restart_syscall SYS_munmap SYS_madvise SYS_sched_yield SYS_mknodat SYS_renameat2
    };
    for (constant, number) in numbers {
        let call = Call::named(constant.trim_start_matches("SYS_")).expect(constant);
        assert_eq!(call.number(arch).map(i64::from), Some(number), "{constant}");
    }
}

#[test]
fn every_group_has_calls_and_its_own_name() {
    let names: BTreeSet<_> = Group::ALL.iter().map(|group| group.name()).collect();
    assert_eq!(names.len(), Group::ALL.len());
    for group in Group::ALL {
        assert!(CALLS.iter().any(|call| call.group == *group), "{group:?}");
        let json = serde_json::to_value(group).expect("a group is a word");
        assert_eq!(json, group.name());
    }
}

#[test]
fn every_word_lifts_its_groups_and_no_other() {
    for arch in Arch::ALL {
        let strictest = planned(*arch, &[]).leaves();
        for word in AllowWord::ALL {
            let lifted = planned(*arch, &[*word]).leaves();
            let changed = CALLS
                .iter()
                .filter(|call| call.number(*arch).is_some_and(|nr| strictest[&nr] != lifted[&nr]));
            let words: BTreeSet<_> =
                changed.map(|call| call.group.rule().lift.map(|lift| lift.word)).collect();
            let segments_only = *word == AllowWord::ForeignArch && *arch == Arch::Aarch64;
            let expect = if segments_only { BTreeSet::new() } else { [Some(*word)].into() };
            assert_eq!(words, expect, "{word:?} {arch:?}");
        }
    }
}

#[test]
fn every_check_is_used() {
    let leaves = Group::ALL.iter().map(|group| group.rule()).flat_map(|rule| {
        [Some(rule.default), rule.lift.map(|lift| lift.leaf)].into_iter().flatten()
    });
    let used: BTreeSet<Leaf> = leaves.collect();
    assert!(Check::ALL.iter().all(|check| used.contains(&Leaf::Check(*check))));
}

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
    for request in [0x5412, 0x541c, 0x5423] {
        for high in [0, HIGH, 0xffff_ffff << 32, 1 << 63] {
            check("ioctl", &[0, request | high, 0], EPERM);
        }
    }
    for request in [0x5401, 0x5402, 0x5413, 0x5410, 0x4008_6602] {
        check("ioctl", &[0, request, 0], Action::Allow);
    }
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
        assert_eq!(run(&open, "setsockopt", &[3, 6, 31]), Action::Allow);
        assert!(!open.notifies());
    }
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
        let observed = plan(&SeccompInput { observe: true, ..strict(*arch, &none) });
        assert!(observed.notifies());
        for name in ["execve", "execveat", "connect"] {
            assert_eq!(run(&observed, name, &[]), Action::Notify);
        }
        assert_as_declared(&observed);
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

/// A call that is restricted here is restricted in 32-bit programs, where it exists.
#[test]
fn compat_rows_cover_restricted_calls() {
    let rows: BTreeMap<_, _> = COMPAT_CALLS.iter().map(|call| (call.name, call.group)).collect();
    let unrestricted = [Group::Ordinary, Group::Obsolete];
    for call in CALLS.iter().filter(|call| !unrestricted.contains(&call.group)) {
        let common = call.x86_64.is_some_and(|number| number >= 424);
        assert!(common || rows.get(call.name) == Some(&call.group), "{}", call.name);
    }
    for arch in Arch::ALL {
        let numbers: Vec<_> = COMPAT_CALLS.iter().filter_map(|call| call.number(*arch)).collect();
        assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len());
    }
}

#[test]
fn every_single_word_compiles_as_declared() {
    for arch in Arch::ALL {
        assert_as_declared(&planned(*arch, &[]));
        assert_as_declared(&planned(*arch, AllowWord::ALL));
        for word in AllowWord::ALL {
            assert_as_declared(&planned(*arch, &[*word]));
        }
    }
}

#[test]
fn common_calls_are_found_early() {
    for arch in Arch::ALL {
        let program = compile(&planned(*arch, &[]));
        for name in ["read", "write", "openat", "close", "futex", "mmap", "newfstatat", "statx"] {
            let number = Call::named(name).and_then(|call| call.number(*arch)).expect(name);
            let visited = ask(&program, data(*arch, number, &[])).visited;
            assert!(visited <= 16, "{name} on {arch:?}: {visited}");
        }
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

#[test]
fn programs_are_short() {
    let sizes: Vec<_> = Arch::ALL
        .iter()
        .map(|arch| {
            let all = AllowWord::ALL;
            let reaper = compile_reaper(&ReaperPlan { arch: *arch }).len();
            let [strict, open] = [&[][..], all].map(|words| compile(&planned(*arch, words)).len());
            format!("{}: default {strict}, all words {open}, reaper {reaper}", arch.name())
        })
        .collect();
    insta::assert_snapshot!(sizes.join("\n"));
}

#[test]
fn plan_prints_compactly() {
    let words = [AllowWord::RawSockets, AllowWord::Keyring].into();
    let plan = plan(&strict(Arch::X86_64, &words));
    insta::assert_snapshot!(serde_json::to_string_pretty(&plan).expect("a plan serializes"));
}

#[test]
fn groups_golden() {
    let line = |group: &Group| {
        let rule = group.rule();
        let calls = CALLS.iter().filter(|call| call.group == *group).count();
        let word = rule.lift.map_or("-", |lift| lift.word.word());
        format!("{} {calls} [{:?}] {} <- {word}", group.name(), rule.applies, rule.default)
    };
    let lines: Vec<_> = Group::ALL.iter().map(line).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn answer_names_group_and_word() {
    let plan = planned(Arch::X86_64, &[AllowWord::Keyring]);
    let mount = super::answer(&plan, "mount").expect("a call");
    assert_eq!(mount.group, Some(Group::Mounts));
    assert_eq!(mount.word, Some(AllowWord::Userns));
    assert_eq!((mount.number, mount.leaf), (Some(165), Leaf::Do(EPERM)));
    assert_eq!(super::answer(&plan, "165"), Some(mount));
    assert_eq!(super::answer(&plan, "keyctl").map(|answer| answer.leaf), Some(Leaf::ALLOW));
    assert_eq!(super::answer(&plan, "9999").map(|answer| answer.group), Some(None));
    assert_eq!(super::answer(&plan, "no_such_call"), None);
    let open = super::answer(&planned(Arch::Aarch64, &[]), "open").expect("a call elsewhere");
    assert_eq!((open.number, open.leaf), (None, SeccompPlan::UNKNOWN));
}

/// `ENDOW_BLESS=1 cargo test -p endow reference_is_current` writes the page.
#[test]
fn reference_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/system-calls.md");
    let page = super::render_reference();
    if std::env::var_os("ENDOW_BLESS").is_some() {
        std::fs::write(path, &page).expect("the page is writable");
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), page);
}

fn any_input() -> impl Strategy<Value = (Arch, BTreeSet<AllowWord>, [bool; 3])> {
    let words = proptest::sample::subsequence(AllowWord::ALL, 0..=AllowWord::ALL.len());
    let arch = proptest::sample::select(Arch::ALL);
    (arch, words, any::<[bool; 3]>())
        .prop_map(|(arch, words, facts)| (arch, words.into_iter().collect(), facts))
}

fn any_number() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..600u32, 1 => any::<u32>()]
}

fn any_argument() -> impl Strategy<Value = u64> {
    prop_oneof![0..64u64, any::<u64>(), (0..64u32).prop_map(|bit| 1 << bit)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn compiled_as_declared(
        (arch, allow, [signal_scoped, tcp_ports_ruled, observe]) in any_input(),
        calls in prop::collection::vec((any_number(), prop::array::uniform6(any_argument())), 400),
        audit in prop::sample::select(AUDITS),
    ) {
        let input = SeccompInput { arch, allow: &allow, signal_scoped, tcp_ports_ruled, observe };
        let plan = plan(&input);
        let program = compile(&plan);
        assert_loadable(&program);
        for ((number, args), arch) in calls.into_iter().zip([arch.audit(), audit].into_iter().cycle()) {
            let data = SeccompData { number, arch, args };
            prop_assert_eq!(ask(&program, data).code, declared(&plan, &data).code());
        }
    }

    #[test]
    fn more_words_never_refuse_more(
        (arch, allow, [signal_scoped, tcp_ports_ruled, _]) in any_input(),
        number in any_number(),
        args in prop::array::uniform6(any_argument()),
    ) {
        let facts = |allow| SeccompInput { arch, allow, signal_scoped, tcp_ports_ruled, observe: false };
        let none = BTreeSet::new();
        let [strict, lifted] = [&none, &allow].map(|words| plan(&facts(words)).leaf(number).decide(args));
        prop_assert!(strict != Action::Allow || lifted == Action::Allow);
    }
}
