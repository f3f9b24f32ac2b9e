//! Making it so: from a policy to a kernel-enforced view, and a supervisor outside it.
//!
//! The modules are the stages of a run and what these use; `docs/architecture.md` has their order.

#[cfg(all(feature = "test-switches", not(debug_assertions)))]
compile_error!("test-switches takes protection away: it is for tests, never for release builds");

mod adapters;
mod apply;
pub mod cli;
mod confined;
mod finish;
pub mod guest;
mod network;
pub mod plan;
mod probe;
mod supervise;
#[expect(unsafe_code, reason = "the one place where raw system calls are made")]
mod sys;
mod trees;
