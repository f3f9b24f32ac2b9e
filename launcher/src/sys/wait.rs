//! Waiting for children, with what they used.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::check;

/// How long a helper takes at most: whoever waits for it does nothing else meanwhile.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// How long a process takes to end that was killed, unless it can't.
const KILLED: Duration = Duration::from_secs(1);

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

/// Waits until a child has ended, or kills it: it may be stuck in a file system that does not answer.
/// A child that not even KILL ends is left, and reaped by nobody.
pub(crate) fn within(pid: i32, pidfd: &OwnedFd, time: Duration) -> Result<Option<Waited>, Errno> {
    if has_ended(pidfd, time)? {
        return until_ended(pid);
    }
    super::signal::send(pidfd, libc::SIGKILL)?;
    if has_ended(pidfd, KILLED)? {
        until_ended(pid)?;
    }
    Err(Errno::TIMEDOUT)
}

fn has_ended(pidfd: &OwnedFd, time: Duration) -> Result<bool, Errno> {
    let until = Instant::now() + time;
    loop {
        let left = Timespec::try_from(until.saturating_duration_since(Instant::now())).ok();
        match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], left.as_ref()) {
            Err(Errno::INTR) => {}
            ready => return ready.map(|ready| ready > 0),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clone::{Cloned, clone, exit_now};

    fn waited(work: impl FnOnce()) -> (Result<Option<Waited>, Errno>, i32) {
        match clone(0, None).expect("a process") {
            Cloned::Child => {
                work();
                exit_now(7)
            }
            Cloned::Parent { pid, pidfd } => (within(pid, &pidfd, Duration::from_secs(2)), pid),
        }
    }

    #[test]
    fn child_that_ends_tells_how() {
        let (waited, _) = waited(|| {});
        let status = waited.expect("in time").expect("a child").status;
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7);
    }

    #[test]
    fn child_that_is_stuck_is_killed() {
        let begun = Instant::now();
        let (waited, pid) = waited(|| {
            loop {
                let _ = poll(&mut [], None);
            }
        });
        assert_eq!(waited, Err(Errno::TIMEDOUT));
        assert!(begun.elapsed() < Duration::from_secs(20));
        assert_eq!(until_ended(pid), Err(Errno::CHILD), "reaped");
    }
}
