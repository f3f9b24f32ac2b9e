//! Making a call of a traced process fail without being done: nothing but this depends on the
//! architecture.

use nix::sys::ptrace;
use nix::unistd::Pid;

/// The registers of a process at a call.
pub(super) type Registers = nix::libc::user_regs_struct;

/// Returns the number of the call that a process is about to make, and its registers.
pub(super) fn at_entry(process: Pid) -> nix::Result<(u32, Registers)> {
    let registers = ptrace::getregs(process)?;
    Ok((u32::try_from(number(&registers)).unwrap_or(u32::MAX), registers))
}

/// Whether a call asks for what the kernel always tells: whether a descriptor is open, as the runtime
/// does in builds with assertions wherever it closes one, and what a limit is.
pub(super) fn is_question(number: u32, registers: &Registers) -> bool {
    let [_, second, third] = arguments(registers);
    match i64::from(number) {
        nix::libc::SYS_fcntl => second == u64::from(nix::libc::F_GETFD.unsigned_abs()),
        nix::libc::SYS_prlimit64 => third == 0,
        _ => false,
    }
}

/// Replaces the call by one that any filter allows and that does nothing.
#[cfg(target_arch = "x86_64")]
pub(super) fn spoil(process: Pid, mut registers: Registers) -> nix::Result<()> {
    registers.orig_rax = nix::libc::SYS_getpid.cast_unsigned();
    ptrace::setregs(process, registers)
}

/// Has the replaced call return something.
#[cfg(target_arch = "x86_64")]
pub(super) fn finish(process: Pid, mut registers: Registers, result: i32) -> nix::Result<()> {
    registers.rax = i64::from(result).cast_unsigned();
    ptrace::setregs(process, registers)
}

#[cfg(target_arch = "x86_64")]
fn number(registers: &Registers) -> u64 {
    registers.orig_rax
}

#[cfg(target_arch = "x86_64")]
fn arguments(registers: &Registers) -> [u64; 3] {
    [registers.rdi, registers.rsi, registers.rdx]
}

/// Gives the call arguments of which none is a descriptor, an address or a known flag: its number
/// can't be replaced by what nix has.
#[cfg(target_arch = "aarch64")]
pub(super) fn spoil(process: Pid, mut registers: Registers) -> nix::Result<()> {
    registers.regs[..6].fill(u64::MAX);
    ptrace::setregs(process, registers)
}

/// Has the spoiled call return something, with its arguments as they were.
#[cfg(target_arch = "aarch64")]
pub(super) fn finish(process: Pid, mut registers: Registers, result: i32) -> nix::Result<()> {
    registers.regs[0] = i64::from(result).cast_unsigned();
    // Where it returns to is that of now.
    registers.pc = ptrace::getregs(process)?.pc;
    ptrace::setregs(process, registers)
}

#[cfg(target_arch = "aarch64")]
fn number(registers: &Registers) -> u64 {
    registers.regs[8]
}

#[cfg(target_arch = "aarch64")]
fn arguments(registers: &Registers) -> [u64; 3] {
    [registers.regs[0], registers.regs[1], registers.regs[2]]
}
