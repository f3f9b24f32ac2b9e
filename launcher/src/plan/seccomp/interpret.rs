//! A second implementation of what the kernel does with a program.

use super::insn::{AND, Insn, JUMP, JUMP_EQUAL, JUMP_GREATER_EQUAL, LOAD, RETURN};

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
            RETURN => return Verdict { code: insn.k, visited },
            code => panic!("unknown instruction {code:#x}"),
        }
    }
}

fn skip(insn: Insn, holds: bool) -> usize {
    usize::from(if holds { insn.jt } else { insn.jf })
}

impl SeccompData {
    fn word(&self, offset: u32) -> u32 {
        let mut bytes = Vec::new();
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(self.arch.to_le_bytes());
        bytes.extend(0u64.to_le_bytes());
        self.args.iter().for_each(|arg| bytes.extend(arg.to_le_bytes()));
        let at = offset as usize;
        u32::from_le_bytes(bytes[at..at + 4].try_into().expect("an offset inside seccomp_data"))
    }
}
