//! The system calls that are left: those of an event loop over sockets that are open already.

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use libc::c_long;
use rustix::process::getpid;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

use super::ConfineError;

/// Calls that are allowed with any arguments.
const ALWAYS: &[c_long] = &[
    // Sockets and the event loop.
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_shutdown,
    libc::SYS_getsockopt,
    libc::SYS_close,
    // Memory.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    // Time, randomness and locks.
    libc::SYS_clock_gettime,
    libc::SYS_getrandom,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    // The end, proper or by a panic.
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_restart_syscall,
    libc::SYS_sigaltstack,
];

/// Calls that only one processor has.
#[cfg(target_arch = "x86_64")]
const OF_THE_PROCESSOR: &[c_long] = &[libc::SYS_epoll_wait];
#[cfg(not(target_arch = "x86_64"))]
const OF_THE_PROCESSOR: &[c_long] = &[];

/// What may be asked of descriptors. A build with assertions looks whether one is open.
const FCNTL: [i32; 2] = [libc::F_GETFD, libc::F_GETFL];

/// Installs the filter; every other call gives `EPERM`.
pub(super) fn install() -> Result<(), ConfineError> {
    let program = program().map_err(|error| ConfineError::Filter(error.into()))?;
    apply_filter(&program).map_err(ConfineError::Filter)
}

fn program() -> Result<BpfProgram, BackendError> {
    let arch = TargetArch::try_from(ARCH)?;
    let refuse = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    SeccompFilter::new(rules()?, refuse, SeccompAction::Allow, arch)?.try_into()
}

fn rules() -> Result<BTreeMap<c_long, Vec<SeccompRule>>, BackendError> {
    let always = ALWAYS.iter().chain(OF_THE_PROCESSOR);
    let mut rules: BTreeMap<_, _> = always.map(|call| (*call, Vec::new())).collect();
    // Memory that holds code is never made.
    rules.insert(libc::SYS_mmap, vec![when([not_set(2, libc::PROT_EXEC)])?]);
    rules.insert(libc::SYS_mprotect, vec![when([not_set(2, libc::PROT_EXEC)])?]);
    let fcntl = FCNTL.map(|command| when([is(1, command)]));
    rules.insert(libc::SYS_fcntl, fcntl.into_iter().collect::<Result<_, _>>()?);
    let non_blocking = when([compare(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::FIONBIO)]);
    rules.insert(libc::SYS_ioctl, vec![non_blocking?]);
    // Without an address: with one, a socket that was closed could be connected anew.
    let no_address = when([compare(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)]);
    rules.insert(libc::SYS_sendto, vec![no_address?]);
    let no_delay = when([is(1, libc::IPPROTO_TCP), is(2, libc::TCP_NODELAY)]);
    rules.insert(libc::SYS_setsockopt, vec![no_delay?]);
    // A panic ends the process by a signal to itself.
    let to_itself = when([is(0, getpid().as_raw_nonzero().get())]);
    rules.insert(libc::SYS_tgkill, vec![to_itself?]);
    Ok(rules)
}

type Condition = Result<SeccompCondition, BackendError>;

fn when<const N: usize>(conditions: [Condition; N]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into_iter().collect::<Result<_, _>>()?)
}

/// An argument that is an `int` to the kernel, which looks at no more than its 32 bits.
fn is(argument: u8, value: i32) -> Condition {
    compare(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value.cast_unsigned().into())
}

fn not_set(argument: u8, bit: i32) -> Condition {
    let operator = SeccompCmpOp::MaskedEq(bit.cast_unsigned().into());
    compare(argument, SeccompCmpArgLen::Qword, operator, 0)
}

fn compare(argument: u8, size: SeccompCmpArgLen, operator: SeccompCmpOp, value: u64) -> Condition {
    SeccompCondition::new(argument, size, operator, value)
}
