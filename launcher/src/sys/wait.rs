//! Waiting for children, with what they used.

use rustix::io::Errno;

use super::check;

/// What `wait4(2)` said about one child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    /// The child.
    pub(crate) pid: i32,
    /// The status word, as WIFEXITED and its kin read it.
    pub(crate) status: i32,
    /// The most memory it held, in KiB.
    pub(crate) max_rss_kib: u64,
    /// User CPU time in microseconds.
    pub(crate) user_us: u64,
    /// System CPU time in microseconds.
    pub(crate) system_us: u64,
}

/// Waits for any child that ended, stopped or went on; `None` when none has news.
pub(crate) fn any_without_blocking() -> Result<Option<Waited>, Errno> {
    wait4(-1, libc::WNOHANG | libc::WUNTRACED | libc::WCONTINUED)
}

/// Waits until the child `pid` has ended.
pub(crate) fn until_ended(pid: i32) -> Result<Option<Waited>, Errno> {
    wait4(pid, 0)
}

fn wait4(pid: i32, options: i32) -> Result<Option<Waited>, Errno> {
    let mut status = 0;
    // SAFETY: rusage is plain old data for which all zeroes is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both results live across the call.
    let result = unsafe { libc::wait4(pid, &raw mut status, options, &raw mut usage) };
    let pid = i32::try_from(check(result.into())?).map_err(|_| Errno::OVERFLOW)?;
    Ok((pid != 0).then(|| Waited {
        pid,
        status,
        max_rss_kib: u64::try_from(usage.ru_maxrss).unwrap_or_default(),
        user_us: micros(usage.ru_utime),
        system_us: micros(usage.ru_stime),
    }))
}

fn micros(time: libc::timeval) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    seconds * 1_000_000 + u64::try_from(time.tv_usec).unwrap_or_default()
}
