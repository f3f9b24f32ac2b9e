//! The system calls of a run, decided as data: groups, the plan, and the program for the kernel.
//!
//! [`plan()`] decides by group, [`answer()`] explains, [`compile()`] makes the classic BPF program that
//! is installed last, by hand, with a listener when the run is observed. Facts of the kernel are in
//! `table`, decisions in `group` and `check`.
//!
//! What holds in every filter:
//! - Calls of another architecture kill the process, and so do x32 calls: their numbers mean other
//!   calls. `--allow foreign-arch` rules this machine's 32-bit calls by the same groups, except
//!   i386's `socketcall`: its arguments are in memory, its C library uses it for every socket, and
//!   so families and protocols are free there. x32 stays killed.
//! - A number without a row is answered ENOSYS, as an older kernel would; programs fall back.
//! - Families that no word lifts: vsock, alg, xdp, key, rds, tipc, smc, can and all others. vsock
//!   is no part of a network namespace before 7.0, and alg wrote to the page cache of read-only
//!   files (CVE-2026-31431).
//!
//! Not filtered, because other layers hold it: ptrace, `process_vm_*`, `pidfd_getfd` and kcmp work
//! between the run's own processes, and pid 1 is not dumpable; `landlock_*` and seccomp only
//! narrow; mknod makes no devices in a user namespace; `adjtimex` and most of `prctl` ask for
//! capabilities.
//!
//! A run without namespaces, at level `landlock`, shares with the host what these keep apart: the
//! groups of [`Shared`] are stricter there.
//!
//! seccompiler is not used: it has one action for a match and one for a mismatch per program, and
//! emits whole programs with their own architecture guard, so that its argument tests can't be
//! spliced into our tree. The fragments are 40 lines here, and checked against an interpreter.

mod action;
mod answer;
mod arch;
mod check;
mod compat;
mod compile;
mod confined;
mod group;
mod insn;
#[cfg(test)]
mod interpret;
mod leaf;
mod observe;
mod plan;
mod reaper;
#[cfg(test)]
mod reference;
mod requests;
mod run;
mod shared;
mod table;
#[cfg(test)]
mod tests;

pub use action::{Action, Errno};
pub use answer::{Answer, answer};
pub use arch::Arch;
pub use check::Check;
pub use compile::{compile, compile_confined, compile_reaper};
pub use confined::ConfinedPlan;
pub use group::Group;
pub use insn::Insn;
pub use leaf::Leaf;
pub use observe::Observe;
pub use plan::{Foreground, Foreign, SeccompInput, SeccompPlan, plan};
pub use reaper::ReaperPlan;
#[cfg(test)]
use reference::render as render_reference;
pub use shared::Shared;
pub use table::{CALLS, Call};
