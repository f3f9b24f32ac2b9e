//! Helpers that ask a compiled program, and the policy as it is declared.

use std::collections::{BTreeMap, BTreeSet};

use endow_policy::AllowWord;

use super::super::action::{Action, Errno};
use super::super::arch::Arch;
use super::super::check::{Check, Half};
use super::super::compat::COMPAT_CALLS;
use super::super::compile::compile;
use super::super::insn::Insn;
use super::super::interpret::{SeccompData, Verdict, interpret};
use super::super::leaf::Leaf;
use super::super::observe::Observe;
use super::super::plan::{Foreground, SeccompInput, SeccompPlan, plan};
use super::super::shared::Shared;
use super::super::table::Call;

pub(super) const EPERM: Action = Action::Errno(Errno::EPERM);
pub(super) const ENOSYS: Action = Action::Errno(Errno::ENOSYS);
pub(super) const EPROTONOSUPPORT: Action = Action::Errno(Errno::EPROTONOSUPPORT);
pub(super) const EAFNOSUPPORT: Action = Action::Errno(Errno::EAFNOSUPPORT);
pub(super) const EOPNOTSUPP: Action = Action::Errno(Errno::EOPNOTSUPP);
pub(super) const HIGH: u64 = 1 << 32;

/// The strictest run, and what a test changes about it.
pub(super) fn strict(arch: Arch, allow: &BTreeSet<AllowWord>) -> SeccompInput<'_> {
    SeccompInput {
        arch,
        allow,
        signal_scoped: false,
        tcp_ports_ruled: true,
        observe: Observe::Nothing,
        on_demand: false,
        buffered: false,
        foreground: Foreground::Refused,
        shared: Shared::Nothing,
    }
}

pub(super) fn planned(arch: Arch, words: &[AllowWord]) -> SeccompPlan {
    plan(&strict(arch, &words.iter().copied().collect()))
}

pub(super) fn run(plan: &SeccompPlan, name: &str, args: &[u64]) -> Action {
    let number = Call::named(name).and_then(|call| call.number(plan.arch)).expect(name);
    let verdict = ask(&compile(plan), data(plan.arch, number, args));
    action_of(verdict.code)
}

pub(super) fn ask(program: &[Insn], data: SeccompData) -> Verdict {
    interpret(program, &data)
}

pub(super) fn data(arch: Arch, number: u32, args: &[u64]) -> SeccompData {
    let mut all = [0; 6];
    all[..args.len()].copy_from_slice(args);
    SeccompData { number, arch: arch.audit(), args: all }
}

pub(super) fn action_of(code: u32) -> Action {
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
        0x0005_0000 => Action::Done,
        0x8000_0000 => Action::Kill,
        _ => Action::Errno(errno[&(code ^ 0x0005_0000)]),
    }
}

/// The strictest plan's answer on both architectures.
#[track_caller]
pub(super) fn check(name: &str, args: &[u64], expect: Action) {
    check_with(&[], name, args, expect);
}

#[track_caller]
pub(super) fn check_with(words: &[AllowWord], name: &str, args: &[u64], expect: Action) {
    for arch in Arch::ALL {
        assert_eq!(run(&planned(*arch, words), name, args), expect, "{name} {args:x?} {arch:?}");
    }
}

/// The arguments a check looks at, each with the values around its own, in both halves.
pub(super) fn key_arguments(plan: &SeccompPlan, number: u32) -> Vec<[u64; 6]> {
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

pub(super) fn key_arguments_of(check: Check) -> Vec<[u64; 6]> {
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

pub(super) fn product(all: &[[u64; 6]], arg: u8, values: &BTreeSet<u64>) -> Vec<[u64; 6]> {
    let with = |args: &[u64; 6], value: &u64| {
        let mut args = *args;
        args[usize::from(arg)] = *value;
        args
    };
    all.iter().flat_map(|args| values.iter().map(move |value| with(args, value))).collect()
}

/// The declared policy, written without trees, jumps or 32-bit words.
pub(super) fn declared(plan: &SeccompPlan, data: &SeccompData) -> Action {
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
    let call = Call::numbered(data.number, plan.arch);
    let leaf = call.map_or(SeccompPlan::UNKNOWN, |call| plan.installed(call.group));
    leaf.decide(data.args)
}

/// What a caller meets when the supervisor answers what is announced.
pub(super) fn met(plan: &SeccompPlan, program: &[Insn], data: &SeccompData) -> Action {
    match action_of(ask(program, *data).code) {
        Action::Notify => match plan.decide(data.arch, data.number, data.args) {
            Action::Notify => Action::Allow,
            decided => decided,
        },
        action => action,
    }
}

pub(super) fn declared_compat(plan: &SeccompPlan, data: &SeccompData) -> Action {
    let number = data.number;
    let own = COMPAT_CALLS.iter().find(|call| call.number(plan.arch) == Some(number));
    let leaf = match own {
        _ if !plan.lifted.contains(&AllowWord::ForeignArch) => Leaf::Do(Action::Kill),
        Some(call) => plan.group(call.group),
        None if number < 424 || (0xf_0000..0xf_0006).contains(&number) => Leaf::ALLOW,
        None if number <= 471 => plan.leaf(number),
        None => SeccompPlan::UNKNOWN,
    };
    leaf.decide(data.args)
}

#[track_caller]
pub(super) fn assert_as_declared(plan: &SeccompPlan) {
    let program = compile(plan);
    assert!(program.len() <= 420, "{} instructions", program.len());
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
pub(super) const AUDITS: &[u32] =
    &[0xc000_003e, 0xc000_00b7, 0x4000_0003, 0x4000_0028, 0, u32::MAX, 0x4000_00b7, 0xc000_0003];

/// What the kernel checks when it loads a program.
#[track_caller]
pub(super) fn assert_loadable(program: &[Insn]) {
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
