//! From a plan to a program for the kernel.
//!
//! The program looks at the architecture, then at the x32 bit, then finds the call's number by
//! binary search over runs of numbers that are treated alike, and only then at arguments. The
//! path to a call that is always allowed looks at nothing but architecture and number, so that
//! the kernel (since 5.11) finds it out beforehand and doesn't run the program for it at all.

use std::collections::BTreeMap;

use super::action::Action;
use super::arch::Arch;
use super::check::{Check, Half, Rule, Test};
use super::confined::ConfinedPlan;
use super::insn::{
    AND, Assembler, Insn, JUMP_EQUAL, JUMP_GREATER_EQUAL, JUMP_SET, LOAD, Label, RETURN,
};
use super::leaf::Leaf;
use super::plan::SeccompPlan;
use super::reaper::ReaperPlan;
use super::run::{Run, runs};

/// Offset of the call's number in `seccomp_data`.
const NUMBER: u32 = 0;
/// Offset of the architecture in `seccomp_data`.
const ARCH: u32 = 4;
/// Offset of the first argument in `seccomp_data`; each has eight bytes.
const ARGS: u32 = 16;
/// What a tracer sets to skip a call; it has the x32 bit.
const SKIPPED: u32 = u32::MAX;

/// Compiles the filter of a run's processes.
pub fn compile(plan: &SeccompPlan) -> Vec<Insn> {
    let native = runs(&plan.leaves(), SeccompPlan::UNKNOWN);
    let compat = plan.compat_leaves().map(|leaves| runs(&leaves, SeccompPlan::UNKNOWN));
    program(plan.arch, &native, compat.as_deref())
}

/// Compiles the filter of pid 1.
pub fn compile_reaper(plan: &ReaperPlan) -> Vec<Insn> {
    program(plan.arch, &runs(&plan.leaves(), ReaperPlan::OTHERS), None)
}

/// Compiles the filter of a confined process.
pub fn compile_confined(plan: &ConfinedPlan) -> Vec<Insn> {
    program(plan.arch, &runs(&plan.leaves(), SeccompPlan::UNKNOWN), None)
}

/// Compiles any runs; the kernel takes up to 4096 instructions.
pub(super) fn program(arch: Arch, native: &[Run], compat: Option<&[Run]>) -> Vec<Insn> {
    let mut program = Program::default();
    let foreign = program.foreign(arch, compat);
    let search = program.search(native);
    let native = program.x32_guard(arch, search);
    program.assembler.branch(JUMP_EQUAL, arch.audit(), [native, foreign]);
    program.assembler.push(LOAD, ARCH);
    program.assembler.finish()
}

#[derive(Default)]
struct Program {
    assembler: Assembler,
    /// Where each leaf is; of several places the one put last, which is nearest.
    leaves: BTreeMap<Leaf, Label>,
}

impl Program {
    /// Looks at an architecture that is not the kernel's own.
    fn foreign(&mut self, arch: Arch, compat: Option<&[Run]>) -> Label {
        let kill = self.action(Action::Kill);
        let Some(runs) = compat else { return kill };
        let search = self.search(runs);
        self.assembler.go(search);
        let compat = self.assembler.push(LOAD, NUMBER);
        self.assembler.branch(JUMP_EQUAL, arch.audit_32bit(), [compat, kill])
    }

    /// Loads the number; ends in the search, or kills.
    fn x32_guard(&mut self, arch: Arch, search: Label) -> Label {
        if let Some(bit) = arch.x32_bit() {
            let kill = self.action(Action::Kill);
            let skipped = self.leaf(SeccompPlan::UNKNOWN);
            let x32 = self.assembler.branch(JUMP_EQUAL, SKIPPED, [skipped, kill]);
            self.assembler.branch(JUMP_SET, bit, [x32, search]);
        } else {
            self.assembler.go(search);
        }
        self.assembler.push(LOAD, NUMBER)
    }

    /// Finds the run that holds the loaded number.
    fn search(&mut self, runs: &[Run]) -> Label {
        match runs {
            [] => self.action(Action::Kill),
            [run] => self.leaf(run.leaf),
            [below, one, above] if below.leaf == above.leaf && above.first == one.first + 1 => {
                let labels = [self.leaf(one.leaf), self.leaf(below.leaf)];
                self.assembler.branch(JUMP_EQUAL, one.first, labels)
            }
            _ => self.halves(runs),
        }
    }

    fn halves(&mut self, runs: &[Run]) -> Label {
        let (below, above) = runs.split_at(runs.len() / 2);
        let pivot = above.first().map_or(0, |run| run.first);
        let labels = [self.search(above), self.search(below)];
        self.assembler.branch(JUMP_GREATER_EQUAL, pivot, labels)
    }

    fn leaf(&mut self, leaf: Leaf) -> Label {
        let label = match (leaf, self.leaves.get(&leaf).copied()) {
            (_, Some(label)) if self.assembler.reaches(label) => label,
            (Leaf::Do(action), _) => self.assembler.push(RETURN, action.code()),
            (Leaf::Check(_) | Leaf::Announced(_), Some(far)) => self.assembler.near(far),
            (Leaf::Check(check), None) => self.check(check, &|action| action),
            (Leaf::Announced(check), None) => self.check(check, &Action::announced),
        };
        self.leaves.insert(leaf, label);
        label
    }

    fn action(&mut self, action: Action) -> Label {
        self.leaf(Leaf::Do(action))
    }

    fn check(&mut self, check: Check, as_installed: &dyn Fn(Action) -> Action) -> Label {
        let decision = check.decision();
        let otherwise = self.action(as_installed(decision.otherwise));
        decision.rules.iter().rev().fold(otherwise, |next, rule| {
            self.rule(&Rule { then: as_installed(rule.then), ..*rule }, next)
        })
    }

    fn rule(&mut self, rule: &Rule, next: Label) -> Label {
        let then = self.action(rule.then);
        rule.when.iter().rev().fold(then, |yes, test| self.test(test, [yes, next]))
    }

    fn test(&mut self, test: &Test, [yes, no]: [Label; 2]) -> Label {
        let compare = |no, value: &u32| self.assembler.branch(JUMP_EQUAL, *value, [yes, no]);
        let first = test.any_of.iter().rev().fold(no, compare);
        self.assembler.go(first);
        if test.mask != u32::MAX {
            self.assembler.push(AND, test.mask);
        }
        self.assembler.push(LOAD, offset(test.half))
    }
}

/// Both architectures are little-endian: the low half is first.
fn offset(half: Half) -> u32 {
    match half {
        Half::Low(arg) => ARGS + 8 * u32::from(arg),
        Half::High(arg) => ARGS + 8 * u32::from(arg) + 4,
    }
}
