//! Making it so: from a policy to a kernel-enforced view, and a supervisor outside it.
//!
//! The modules are the stages of a run, in the order in which it passes through them.

pub mod cli;
mod probe;
pub mod plan;
mod apply;
mod supervise;
mod finish;
pub mod guest;
#[expect(unsafe_code, reason = "the one place where raw system calls are made")]
mod sys;
