//! Signal masks and dispositions as whole sets, and descriptors that deliver signals.

use std::os::fd::{AsFd, FromRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use super::check;

/// A set of signals, one bit each, signal 1 lowest: the kernel's own form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SignalSet(pub(crate) u64);

impl SignalSet {
    /// Every signal.
    pub(crate) const ALL: Self = Self(u64::MAX);

    /// Returns the set without `signal`.
    pub(crate) const fn without(self, signal: i32) -> Self {
        Self(self.0 & !bit(signal))
    }

    /// Returns the set with `signal`.
    pub(crate) const fn with(self, signal: i32) -> Self {
        Self(self.0 | bit(signal))
    }

    /// Returns whether `signal` is in the set.
    pub(crate) const fn contains(self, signal: i32) -> bool {
        self.0 & bit(signal) != 0
    }

    /// Returns the signals of the set.
    pub(crate) fn each(self) -> impl Iterator<Item = i32> {
        (1..=64).filter(move |signal| self.contains(*signal))
    }
}

const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Returns whether `signal` is one of those by which a process stops that nobody traces.
pub(crate) const fn is_a_stop(signal: i32) -> bool {
    matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU)
}

/// Replaces the signal mask and returns the old one.
pub(crate) fn set_mask(set: SignalSet) -> Result<SignalSet, Errno> {
    let mut old = SignalSet::default();
    // SAFETY: both sets are eight bytes, as said in the last argument, and live across the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const set.0,
            &raw mut old.0,
            size_of::<u64>(),
        )
    };
    check(result)?;
    Ok(old)
}

/// Returns the signals that are blocked.
pub(crate) fn blocked() -> SignalSet {
    let mut now = SignalSet::default();
    // SAFETY: a null new set only reads the current one, which is eight bytes, as said in the last argument.
    let result = unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            std::ptr::null::<u64>(),
            &raw mut now.0,
            size_of::<u64>(),
        )
    };
    if result == 0 { now } else { SignalSet::default() }
}

/// What happens when a signal arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disposition {
    /// The kernel's default action.
    Default,
    /// Nothing.
    Ignore,
}

/// Sets what happens when `signal` arrives.
pub(crate) fn set_disposition(signal: i32, disposition: Disposition) {
    let handler = match disposition {
        Disposition::Default => libc::SIG_DFL,
        Disposition::Ignore => libc::SIG_IGN,
    };
    // SAFETY: no handler function is installed, only one of the two constants.
    unsafe { libc::signal(signal, handler) };
}

/// Returns whether `signal` is ignored.
pub(crate) fn is_ignored(signal: i32) -> bool {
    // SAFETY: sigaction is plain old data for which all zeroes is a value.
    let mut current: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null new action only reads the current one into `current`.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut current) };
    result == 0 && current.sa_sigaction == libc::SIG_IGN
}

/// Returns the signals that are ignored.
pub(crate) fn ignored() -> SignalSet {
    let ignored = SignalSet::ALL.each().filter(|signal| is_ignored(*signal));
    ignored.fold(SignalSet::default(), SignalSet::with)
}

/// Returns a descriptor that delivers the signals of `set`, which must be blocked.
pub(crate) fn descriptor(set: SignalSet) -> Result<OwnedFd, Errno> {
    let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
    // SAFETY: the set is eight bytes, as said in the third argument, and only read.
    let result = unsafe {
        libc::syscall(libc::SYS_signalfd4, -1, &raw const set.0, size_of::<u64>(), flags)
    };
    let number = i32::try_from(check(result)?).map_err(|_| Errno::OVERFLOW)?;
    // SAFETY: the kernel returned a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// One signal, as read from a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// The signal's number.
    pub(crate) signal: i32,
    /// Whether the kernel itself sent it, as a terminal does, and not a process.
    pub(crate) from_kernel: bool,
    /// Whether it came of something that this process did, as SIGPIPE of a write does.
    pub(crate) from_self: bool,
    /// The process that sent it.
    pub(crate) sender: i32,
    /// The descriptor that it tells of, when the kernel sent it for one.
    pub(crate) about: Option<i32>,
}

/// Codes of signals about descriptors: `POLL_IN` to `POLL_HUP` of sigaction(2). No process can send
/// a signal that has one to another.
const ABOUT_DESCRIPTOR: std::ops::RangeInclusive<i32> = 1..=6;

/// Reads one signal; `None` when none is waiting.
pub(crate) fn read(descriptor: impl AsFd) -> Option<Arrived> {
    let mut record = [0u8; size_of::<libc::signalfd_siginfo>()];
    let length = rustix::io::read(descriptor, &mut record).ok()?;
    let word = |at: usize| record.get(at..at + 4)?.try_into().ok().map(i32::from_ne_bytes);
    let (signal, code, sender, number) = (word(0)?, word(8)?, word(12)?, word(20)?);
    let about = (ABOUT_DESCRIPTOR.contains(&code) && signal >= libc::SIGRTMIN()).then_some(number);
    let from_kernel = code == libc::SI_KERNEL;
    let from_self = !from_kernel && sender == rustix::process::getpid().as_raw_pid();
    (length == record.len()).then_some(Arrived { signal, from_kernel, from_self, sender, about })
}

/// Sends `signal` to a process; `-1` is everything in this pid namespace but the caller.
pub(crate) fn kill(pid: i32, signal: i32) -> Result<(), Errno> {
    // SAFETY: the kernel takes any numbers.
    let result = unsafe { libc::kill(pid, signal) };
    check(result.into()).map(drop)
}

/// Ends this process by `signal`, without a core of its own; returns where the signal does not end it.
pub(crate) fn end_by(signal: i32) {
    // A limit of sizes says nothing to a program that takes cores (core(5)), and this one would be endow's. Where it fails
    // one is taken that nobody needs.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    set_disposition(signal, Disposition::Default);
    let own = rustix::process::getpid().as_raw_pid();
    let _ = kill(own, signal).and_then(|()| set_mask(blocked().without(signal)).map(drop));
}

/// Sends `signal` to the process behind a pidfd.
pub(crate) fn send(pidfd: &OwnedFd, signal: i32) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let info: *const libc::siginfo_t = std::ptr::null();
    // SAFETY: a null siginfo asks the kernel to fill it in.
    let result =
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), signal, info, 0) };
    check(result).map(drop)
}

/// Returns whether a blocked signal waits to be delivered.
pub(crate) fn is_pending(signal: i32) -> bool {
    let mut pending = SignalSet::default();
    // SAFETY: the set is eight bytes, as said in the last argument, and lives across the call.
    let result =
        unsafe { libc::syscall(libc::SYS_rt_sigpending, &raw mut pending.0, size_of::<u64>()) };
    result == 0 && pending.contains(signal)
}
