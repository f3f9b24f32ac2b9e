//! Instructions of classic BPF, and their assembly.

use serde::Serialize;

/// One instruction, in the layout of the kernel's `struct sock_filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[repr(C)]
pub struct Insn {
    /// The operation.
    pub code: u16,
    /// How many instructions to skip when the test holds.
    pub jt: u8,
    /// How many instructions to skip when it doesn't.
    pub jf: u8,
    /// The operand.
    pub k: u32,
}

/// Loads the 32-bit word of `seccomp_data` at offset `k` (`BPF_LD|BPF_W|BPF_ABS`).
pub(super) const LOAD: u16 = 0x20;
/// Masks the loaded word (`BPF_ALU|BPF_AND|BPF_K`).
pub(super) const AND: u16 = 0x54;
/// Jumps forward by `k` (`BPF_JMP|BPF_JA`).
pub(super) const JUMP: u16 = 0x05;
/// Jumps if equal (`BPF_JMP|BPF_JEQ|BPF_K`).
pub(super) const JUMP_EQUAL: u16 = 0x15;
/// Jumps if greater or equal, unsigned (`BPF_JMP|BPF_JGE|BPF_K`).
pub(super) const JUMP_GREATER_EQUAL: u16 = 0x35;
/// Jumps if the word has any of the bits (`BPF_JMP|BPF_JSET|BPF_K`).
pub(super) const JUMP_SET: u16 = 0x45;
/// Ends the program with `k` (`BPF_RET|BPF_K`).
pub(super) const RETURN: u16 = 0x06;

/// The place of an instruction, counted from the end of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(usize);

/// Builds a program from its end.
///
/// Jumps of classic BPF only go forward, so every target is in place when its jump is made. The
/// conditional ones reach 255 instructions; a farther target gets an unconditional jump after it.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    reversed: Vec<Insn>,
}

impl Assembler {
    /// A jump after another jump may be pushed between the two, hence one less than the maximum.
    const REACH: usize = 254;

    /// Puts an instruction without a target before all others.
    pub(super) fn push(&mut self, code: u16, k: u32) -> Label {
        self.put(Insn { code, jt: 0, jf: 0, k })
    }

    /// Puts a conditional jump before all others.
    pub(super) fn branch(&mut self, code: u16, k: u32, [yes, no]: [Label; 2]) -> Label {
        let no = self.near(no);
        let yes = self.near(yes);
        let [jt, jf] = [yes, no].map(|label| {
            u8::try_from(self.distance(label)).expect("a near label is within 255 instructions")
        });
        self.put(Insn { code, jt, jf, k })
    }

    /// Makes what comes before continue at `label`.
    pub(super) fn go(&mut self, label: Label) {
        if self.distance(label) > 0 {
            self.jump(label);
        }
    }

    /// Returns a label that a conditional jump put next can reach.
    pub(super) fn near(&mut self, label: Label) -> Label {
        if self.reaches(label) { label } else { self.jump(label) }
    }

    /// Tells whether a conditional jump put next can reach the label.
    pub(super) fn reaches(&self, label: Label) -> bool {
        self.distance(label) <= Self::REACH
    }

    /// Returns the program, first instruction first.
    pub(super) fn finish(mut self) -> Vec<Insn> {
        self.reversed.reverse();
        self.reversed
    }

    fn jump(&mut self, label: Label) -> Label {
        let distance = u32::try_from(self.distance(label)).expect("programs are short");
        self.push(JUMP, distance)
    }

    /// How many instructions lie between the one put next and the label.
    fn distance(&self, label: Label) -> usize {
        self.reversed.len() - 1 - label.0
    }

    fn put(&mut self, insn: Insn) -> Label {
        self.reversed.push(insn);
        Label(self.reversed.len() - 1)
    }
}
