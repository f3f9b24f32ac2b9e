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
    libc::SYS_epoll_pwait2,
    libc::SYS_read,
    libc::SYS_readv,
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
    libc::SYS_gettimeofday,
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

/// What descriptors may be asked to do.
const FCNTL: [i32; 3] = [libc::F_GETFL, libc::F_SETFL, libc::F_DUPFD_CLOEXEC];

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
    let not_executable = || masked(2, libc::PROT_EXEC);
    rules.insert(libc::SYS_mmap, vec![rule(vec![not_executable()?])?]);
    rules.insert(libc::SYS_mprotect, vec![rule(vec![not_executable()?])?]);
    let fcntl = FCNTL.map(|command| rule(vec![equal(1, command.cast_unsigned().into())?]));
    rules.insert(libc::SYS_fcntl, fcntl.into_iter().collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_ioctl, vec![rule(vec![equal(1, libc::FIONBIO)?])?]);
    // Without an address: with one, a socket that was closed could be connected anew.
    rules.insert(libc::SYS_sendto, vec![rule(vec![equal(4, 0)?])?]);
    let no_delay = vec![
        equal(1, libc::IPPROTO_TCP.cast_unsigned().into())?,
        equal(2, libc::TCP_NODELAY.cast_unsigned().into())?,
    ];
    rules.insert(libc::SYS_setsockopt, vec![rule(no_delay)?]);
    // A panic ends the process by a signal to itself.
    let own = getpid().as_raw_nonzero().get().cast_unsigned();
    rules.insert(libc::SYS_tgkill, vec![rule(vec![equal(0, own.into())?])?]);
    Ok(rules)
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions)
}

/// Compares all 64 bits, so that nothing hides in the upper half.
fn equal(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, value)
}

fn masked(argument: u8, absent: i32) -> Result<SeccompCondition, BackendError> {
    let operator = SeccompCmpOp::MaskedEq(absent.cast_unsigned().into());
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, operator, 0)
}
