//! Compiled programs against the declared policy, and their size.

use std::collections::{BTreeMap, BTreeSet};

use endow_policy::AllowWord;
use proptest::prelude::*;

use super::super::compile::program;
use super::super::interpret::SeccompData;
use super::super::run::runs;
use super::super::{
    Action, Arch, Call, Check, Foreground, Leaf, Observe, ReaperPlan, SeccompInput, SeccompPlan,
    Shared, compile, compile_reaper, plan,
};
use super::harness::strict;
use super::harness::{
    AUDITS, action_of, ask, assert_as_declared, assert_loadable, data, declared, key_arguments,
    met, planned,
};

const FOREGROUNDS: &[Foreground] = &[Foreground::Refused, Foreground::Announced, Foreground::Free];

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

/// Every number with the arguments that its decision depends on.
#[test]
fn observed_decisions_are_the_same_and_seen() {
    for (arch, observe) in Arch::ALL
        .iter()
        .flat_map(|arch| [Observe::Calls, Observe::Paths, Observe::All].map(|it| (*arch, it)))
    {
        let none = BTreeSet::new();
        let observed = plan(&SeccompInput { observe, ..strict(arch, &none) });
        let (program, plain) = (compile(&observed), compile(&observed.unobserved()));
        for number in 0..472 {
            let told = Call::numbered(number, arch).is_some_and(|call| call.group.is_told());
            for args in key_arguments(&observed, number) {
                let data = SeccompData { number, arch: arch.audit(), args };
                let [seen, met] = [&program, &plain].map(|it| action_of(ask(it, data).code));
                assert_eq!(observed.decide(data.arch, number, args), met, "{number} {args:x?}");
                let is_seen = matches!(met, Action::Errno(_)) && told;
                assert!(!is_seen || seen == Action::Notify, "{number} {args:x?}");
                assert!(seen == met || seen == Action::Notify, "{number} {args:x?}");
            }
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

fn any_observe() -> impl Strategy<Value = Observe> {
    prop::sample::select(&[Observe::Nothing, Observe::Calls, Observe::Paths, Observe::All][..])
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

fn any_leaf() -> impl Strategy<Value = Leaf> {
    let checks = proptest::sample::select(Check::ALL).prop_map(Leaf::Check);
    prop_oneof![Just(Leaf::ALLOW), Just(SeccompPlan::UNKNOWN), checks]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn compiled_as_declared(
        (arch, allow, [signal_scoped, tcp_ports_ruled, buffered]) in any_input(),
        observe in any_observe(),
        calls in prop::collection::vec((any_number(), prop::array::uniform6(any_argument())), 400),
        audit in prop::sample::select(AUDITS),
        shared in prop::sample::select(Shared::ALL),
        foreground in prop::sample::select(FOREGROUNDS),
    ) {
        let allow = &allow;
        let input = SeccompInput {
            arch,
            allow,
            signal_scoped,
            tcp_ports_ruled,
            observe,
            on_demand: false,
            buffered,
            foreground,
            shared,
        };
        let plan = plan(&input);
        let program = compile(&plan);
        assert_loadable(&program);
        let audits = [arch.audit(), audit].into_iter().cycle();
        for ((number, args), arch) in calls.into_iter().zip(audits) {
            let data = SeccompData { number, arch, args };
            prop_assert_eq!(ask(&program, data).code, declared(&plan, &data).code());
        }
    }

    /// Observation changes no answer, whatever the call and its arguments.
    #[test]
    fn observed_calls_are_answered_as_unobserved(
        (arch, allow, [signal_scoped, tcp_ports_ruled, buffered]) in any_input(),
        observe in any_observe(),
        calls in prop::collection::vec((any_number(), prop::array::uniform6(any_argument())), 60),
        audit in prop::sample::select(AUDITS),
        shared in prop::sample::select(Shared::ALL),
    ) {
        let strict = strict(arch, &allow);
        let input =
            SeccompInput { signal_scoped, tcp_ports_ruled, observe, buffered, shared, ..strict };
        let observed = plan(&input);
        let unobserved = observed.unobserved();
        let programs = [&observed, &unobserved].map(compile);
        let audits = [arch.audit(), audit].into_iter().cycle();
        for ((number, args), arch) in calls.into_iter().zip(audits) {
            let data = SeccompData { number, arch, args };
            let [seen, plain] = &programs;
            prop_assert_eq!(met(&observed, seen, &data), met(&unobserved, plain, &data));
        }
    }

    #[test]
    fn more_words_never_refuse_more(
        (arch, allow, [signal_scoped, tcp_ports_ruled, _]) in any_input(),
        number in any_number(),
        args in prop::array::uniform6(any_argument()),
    ) {
        let none = BTreeSet::new();
        let [strict, lifted] = [&none, &allow].map(|allow| {
            let strict = strict(arch, allow);
            let input = SeccompInput { signal_scoped, tcp_ports_ruled, ..strict };
            plan(&input).leaf(number).decide(args)
        });
        prop_assert!(strict != Action::Allow || lifted == Action::Allow);
    }

    /// Tables far longer than ours, so that jumps need others on their way.
    #[test]
    fn long_tables_compile(
        table in prop::collection::btree_map(0..2000u32, any_leaf(), 0..900),
        args in prop::array::uniform6(any_argument()),
    ) {
        let table: BTreeMap<u32, Leaf> = table;
        let runs = runs(&table, SeccompPlan::UNKNOWN);
        let program = program(Arch::X86_64, &runs, Some(&runs));
        assert_loadable(&program);
        for number in 0..2100 {
            let expect = table.get(&number).unwrap_or(&SeccompPlan::UNKNOWN).decide(args).code();
            for arch in [Arch::X86_64.audit(), Arch::X86_64.audit_32bit()] {
                let data = SeccompData { number, arch, args };
                prop_assert_eq!(ask(&program, data).code, expect);
            }
        }
    }
}
