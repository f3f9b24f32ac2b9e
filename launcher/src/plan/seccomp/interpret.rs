//! A second implementation of what the kernel does with a program.

use super::insn::{AND, Insn, JUMP, JUMP_EQUAL, JUMP_GREATER_EQUAL, JUMP_SET, LOAD, RETURN};

/// What the kernel shows to a filter.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeccompData {
    pub(super) number: u32,
    pub(super) arch: u32,
    pub(super) args: [u64; 6],
}

/// What a program returned, and how many instructions it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) code: u32,
    pub(super) visited: usize,
}

/// Runs a program; panics where the kernel would not have loaded it.
pub(super) fn interpret(program: &[Insn], data: &SeccompData) -> Verdict {
    let (mut at, mut accumulator, mut visited) = (0, 0, 0);
    loop {
        let insn = program[at];
        visited += 1;
        at += 1;
        match insn.code {
            LOAD => accumulator = data.word(insn.k),
            AND => accumulator &= insn.k,
            JUMP => at += insn.k as usize,
            JUMP_EQUAL => at += skip(insn, accumulator == insn.k),
            JUMP_GREATER_EQUAL => at += skip(insn, accumulator >= insn.k),
            JUMP_SET => at += skip(insn, accumulator & insn.k != 0),
            RETURN => return Verdict { code: insn.k, visited },
            code => panic!("unknown instruction {code:#x}"),
        }
    }
}

fn skip(insn: Insn, holds: bool) -> usize {
    usize::from(if holds { insn.jt } else { insn.jf })
}

impl SeccompData {
    /// Reads `struct seccomp_data` as a little-endian machine lays it out.
    fn word(&self, offset: u32) -> u32 {
        match offset {
            0 => self.number,
            4 => self.arch,
            16..64 => self.half(offset as usize - 16),
            _ => panic!("offset {offset} is no part of this interpreter"),
        }
    }

    fn half(&self, offset: usize) -> u32 {
        let bytes = self.args[offset / 8].to_le_bytes();
        let at = offset % 8;
        u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four of eight bytes"))
    }
}
