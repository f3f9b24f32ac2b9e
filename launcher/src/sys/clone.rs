//! New processes: `clone3(2)` with namespaces and a pidfd, falling back to `clone(2)`.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use rustix::io::Errno;

use super::{check, last_errno};

/// clone(2); the libc crate gives it a type that overflows.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// What a process exits with that panicked: as one that SIGABRT ended.
const PANICKED: i32 = 128 + libc::SIGABRT;

/// The two sides of a clone.
pub(crate) enum Cloned {
    /// The new process.
    Child,
    /// The caller, with the new process's id and a descriptor for it.
    Parent { pid: i32, pidfd: OwnedFd },
}

/// Clones the calling, single-threaded process with the given `CLONE_NEW*` flags.
///
/// The child shares nothing with its parent but descriptors: no memory, no signal handlers.
/// An outer sandbox that can't inspect clone3's arguments answers ENOSYS; clone(2) does then.
/// With `cgroup`, the child starts in that control group; only clone3 can do that.
pub(crate) fn clone(namespaces: u64, cgroup: Option<RawFd>) -> Result<Cloned, Errno> {
    clone_either_way(namespaces, libc::SIGCHLD as u64, cgroup)
}

/// Clones likewise a process that becomes a child of the caller's parent, which hears of its end as of the
/// caller's own.
pub(crate) fn clone_sibling(namespaces: u64) -> Result<Cloned, Errno> {
    clone_either_way(namespaces | libc::CLONE_PARENT as u64, 0, None)
}

fn clone_either_way(flags: u64, exit_signal: u64, cgroup: Option<RawFd>) -> Result<Cloned, Errno> {
    match clone3(flags, exit_signal, cgroup) {
        Err(Errno::NOSYS) if cgroup.is_none() => clone_legacy(flags | exit_signal),
        other => other,
    }
}

fn clone3(flags: u64, exit_signal: u64, cgroup: Option<RawFd>) -> Result<Cloned, Errno> {
    let mut pidfd: RawFd = -1;
    let into = if cgroup.is_some() { CLONE_INTO_CGROUP } else { 0 };
    let arguments = libc::clone_args {
        flags: flags | libc::CLONE_PIDFD as u64 | into,
        pidfd: (&raw mut pidfd) as u64,
        child_tid: 0,
        parent_tid: 0,
        exit_signal,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: cgroup.and_then(|group| u64::try_from(group).ok()).unwrap_or_default(),
    };
    // SAFETY: no CLONE_VM, so the child runs on a copy of this memory, as after fork; the process
    // has one thread, so no lock can be held by a thread that is missing in the child. `arguments`
    // and `pidfd` live across the call.
    let result = unsafe {
        libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>())
    };
    cloned(check(result)?, pidfd)
}

fn clone_legacy(flags: u64) -> Result<Cloned, Errno> {
    let mut pidfd: RawFd = -1;
    let flags = flags | libc::CLONE_PIDFD as u64;
    // SAFETY: as for clone3; the third argument is where the pidfd is stored. Both architectures
    // this project builds for take flags and stack first and the parent's pointer third.
    let result = unsafe { libc::syscall(libc::SYS_clone, flags, 0, &raw mut pidfd, 0, 0) };
    cloned(check(result)?, pidfd)
}

fn cloned(pid: libc::c_long, pidfd: RawFd) -> Result<Cloned, Errno> {
    if pid == 0 {
        panics_end_it();
        return Ok(Cloned::Child);
    }
    if pidfd < 0 {
        return Err(last_errno());
    }
    // SAFETY: the kernel stored a new descriptor that nobody else owns.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    let pid = i32::try_from(pid).map_err(|_| Errno::OVERFLOW)?;
    Ok(Cloned::Parent { pid, pidfd })
}

/// Has a panic end this process by itself: the C library still takes it for its parent, as whose
/// number `abort(3)` and `raise(3)` would send their signal.
fn panics_end_it() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        exit_now(PANICKED)
    }));
}

/// Returns whether the calling process has no other thread, without asking `/proc`.
pub(crate) fn is_alone() -> Result<bool, Errno> {
    match unshare(libc::CLONE_THREAD) {
        Ok(()) => Ok(true),
        // unshare(2): the flag does nothing, and only where there is one thread.
        Err(Errno::INVAL) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Makes a process that goes on here with a copy of all memory; `None` is the new one.
///
/// Other than after [`clone`] it may use the heap although the caller has other threads: the C
/// library takes the locks of its allocator before, and frees them in both.
pub(crate) fn fork() -> Result<Option<i32>, Errno> {
    // SAFETY: what the new process does meanwhile needs no lock but the allocator's: this crate's
    // own callers have one thread, and those of tests hold none that the work takes.
    let result = unsafe { libc::fork() };
    let pid = check(result.into())?;
    let pid = i32::try_from(pid).map_err(|_| Errno::OVERFLOW)?;
    Ok((pid != 0).then_some(pid))
}

/// Ends the process at once, without running anything registered for its exit.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: _exit takes any code and does not return.
    unsafe { libc::_exit(code) }
}

/// Moves this process into new namespaces.
pub(crate) fn unshare(namespaces: i32) -> Result<(), Errno> {
    // SAFETY: callers pass flags of namespaces, or one that does nothing: no memory or descriptor table
    // becomes unshared.
    let result = unsafe { libc::unshare(namespaces) };
    check(result.into()).map(drop)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn exit_code(work: impl FnOnce()) -> i32 {
        match clone(0, None).expect("a process") {
            Cloned::Child => {
                work();
                exit_now(0)
            }
            Cloned::Parent { pid, pidfd } => {
                let waited = crate::sys::wait::within(pid, &pidfd, Duration::from_secs(20));
                libc::WEXITSTATUS(waited.expect("in time").expect("a child").status)
            }
        }
    }

    #[test]
    fn panic_ends_a_clone_and_nothing_else() {
        let panics = || {
            std::panic::set_hook(Box::new(|_| {}));
            panics_end_it();
            panic!("of a test")
        };
        assert_eq!(exit_code(panics), PANICKED);
        assert_eq!(exit_code(|| panic!("of a test")), PANICKED);
    }

    #[test]
    fn thread_is_seen_without_proc() {
        let (wait, waits) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || waits.recv().is_ok());
        assert_eq!(is_alone(), Ok(false));
        drop(wait);
        other.join().expect("ended");
        assert_eq!(exit_code(|| exit_now(i32::from(is_alone() != Ok(true)))), 0);
    }
}
