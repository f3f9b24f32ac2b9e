//! Tests over the tables.

use std::collections::{BTreeMap, BTreeSet};

use endow_policy::AllowWord;

use super::super::check::Check;
use super::super::compat::COMPAT_CALLS;
use super::super::group::{Applies, Group};
use super::super::shared::Shared;
use super::super::{Arch, CALLS, Call, Leaf, SeccompPlan, answer, plan, render_reference};
use super::harness::{EPERM, planned, strict};

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
        let others = match rule.applies {
            Applies::StricterWithTcpRules(leaf) => vec![leaf],
            Applies::ByForeground { refused, announced } => vec![refused, announced],
            _ => Vec::new(),
        };
        others.into_iter().chain([rule.default]).chain(rule.lift.map(|lift| lift.leaf))
    });
    let shared = Shared::ALL
        .iter()
        .flat_map(|shared| Group::ALL.iter().filter_map(|group| shared.leaf(*group)));
    let used: BTreeSet<Leaf> = leaves.chain(shared).collect();
    assert!(Check::ALL.iter().all(|check| used.contains(&Leaf::Check(*check))));
}

/// A call that is restricted here is restricted in 32-bit programs, where it exists.
#[test]
fn compat_rows_cover_restricted_calls() {
    let rows: BTreeMap<_, _> = COMPAT_CALLS.iter().map(|call| (call.name, call.group)).collect();
    // Renames are prepared and paths seen, never refused; those of 32-bit programs are neither.
    let seen = [Group::Rename, Group::Paths, Group::Links, Group::LinksAt];
    let unrestricted = [&[Group::Ordinary, Group::Obsolete][..], &seen].concat();
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
fn plan_prints_compactly() {
    let words = [AllowWord::RawSockets, AllowWord::Keyring].into();
    let plan = plan(&strict(Arch::X86_64, &words));
    insta::assert_snapshot!(serde_json::to_string_pretty(&plan).expect("a plan serializes"));
}

#[test]
fn answer_names_group_and_word() {
    let plan = planned(Arch::X86_64, &[AllowWord::Keyring]);
    let mount = answer(&plan, "mount").expect("a call");
    assert_eq!(mount.group, Some(Group::Mounts));
    assert_eq!(mount.word, Some(AllowWord::Userns));
    assert_eq!((mount.number, mount.leaf), (Some(165), Leaf::Do(EPERM)));
    assert_eq!(answer(&plan, "165"), Some(mount));
    assert_eq!(answer(&plan, "keyctl").map(|answer| answer.leaf), Some(Leaf::ALLOW));
    assert_eq!(answer(&plan, "9999").map(|answer| answer.group), Some(None));
    assert_eq!(
        answer(&plan, "1073741825").map(|answer| answer.leaf.to_string()),
        Some("kill".into())
    );
    assert_eq!(answer(&plan, "no_such_call"), None);
    let open = answer(&planned(Arch::Aarch64, &[]), "open").expect("a call elsewhere");
    assert_eq!((open.number, open.leaf), (None, SeccompPlan::UNKNOWN));
}

/// `ENDOW_BLESS=1 cargo test -p endow reference_is_current` writes the page.
#[test]
fn reference_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/system-calls.md");
    let page = render_reference();
    if std::env::var_os("ENDOW_BLESS").is_some() {
        std::fs::write(path, &page).expect("the page is writable");
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), page);
}
