//! Stopping as the command was stopped, so that the caller's shell sees it.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::sys;
use crate::sys::signal::{Disposition, SignalSet};

/// The number that a descriptor tells of a process that was reaped (fs/pidfs.c).
const GONE: i32 = -1;
/// A process that was really stopped is away for longer than this.
const MOMENT: Duration = Duration::from_millis(50);

/// Stops this process as `command` was stopped, until somebody continues it.
///
/// The news may be old: whoever stopped the command may have continued it since. So the signal is
/// raised while it is blocked, and only then the command is looked at: a continue that comes later
/// takes the raised signal back, and one that came before shows in the command.
///
/// A signal that stops must be open while it does. One that the terminal sends after the continue
/// and before the mask is back stops this process at once, and the caller may hear of it before the
/// command, which got it as well, has left a read: what is typed in that moment may reach the
/// command. Only SIGSTOP could avoid that, which a shell would tell in other words.
///
/// In an orphaned process group the kernel ignores terminal stops; the caller must see a stop all
/// the same, so SIGSTOP follows when no SIGCONT tells that the first one had its effect.
pub(super) fn as_stopped(command: &OwnedFd, signal: i32) {
    if !sys::signal::is_a_stop(signal) || sys::signal::is_pending(libc::SIGCONT) {
        return;
    }
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let before = Instant::now();
    if signal != libc::SIGSTOP {
        sys::signal::set_disposition(signal, Disposition::Default);
        let _ = sys::signal::kill(own, signal);
    }
    if !is_stopped(command) {
        // What is ignored is no longer pending.
        sys::signal::set_disposition(signal, Disposition::Ignore);
        sys::signal::set_disposition(signal, Disposition::Default);
        return;
    }
    let Ok(blocked) = sys::signal::set_mask(SignalSet::ALL.without(signal)) else { return };
    let _ = sys::signal::set_mask(blocked);
    let was_continued = sys::signal::is_pending(libc::SIGCONT);
    if !was_continued && before.elapsed() < MOMENT && is_stopped(command) {
        let _ = sys::signal::kill(own, libc::SIGSTOP);
    }
}

/// Returns whether a process is stopped; true where that can't be seen.
pub(super) fn is_stopped(process: &OwnedFd) -> bool {
    state(process).is_none_or(|state| matches!(state, 'T' | 't'))
}

fn state(process: &OwnedFd) -> Option<char> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", process.as_raw_fd())).ok()?;
    let pid: i32 = info.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()?;
    if pid == GONE {
        return Some('X');
    }
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

    use super::*;

    #[test]
    fn process_that_has_ended_is_not_stopped() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("started");
        let pid = Pid::from_child(&child);
        let descriptor = pidfd_open(pid, PidfdFlags::empty()).expect("a descriptor");
        assert!(!is_stopped(&descriptor));
        kill_process(pid, Signal::STOP).expect("stopped");
        let until = Instant::now() + Duration::from_secs(10);
        while !is_stopped(&descriptor) {
            assert!(Instant::now() < until, "it never stops");
        }
        child.kill().and_then(|()| child.wait()).expect("reaped");
        assert!(!is_stopped(&descriptor));
    }
}
