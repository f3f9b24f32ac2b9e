//! A seccomp filter on its way to pid 1.

use serde::{Deserialize, Serialize};

use crate::plan::seccomp;
use crate::sys::seccomp::Instruction;

/// The instructions of a filter, each as its eight bytes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Filter(Vec<u64>);

impl Filter {
    pub(super) fn new(program: Vec<seccomp::Insn>) -> Self {
        let word = |it: seccomp::Insn| {
            u64::from(it.code)
                | u64::from(it.jt) << 16
                | u64::from(it.jf) << 24
                | u64::from(it.k) << 32
        };
        Self(program.into_iter().map(word).collect())
    }

    /// Returns the instructions as the kernel takes them.
    pub(super) fn instructions(&self) -> Vec<Instruction> {
        let instruction = |word: &u64| {
            let [c0, c1, jt, jf, k0, k1, k2, k3] = word.to_le_bytes();
            let code = u16::from_le_bytes([c0, c1]);
            Instruction { code, jt, jf, k: u32::from_le_bytes([k0, k1, k2, k3]) }
        };
        self.0.iter().map(instruction).collect()
    }
}
