//! What the caller handed over, recorded before Rust's runtime changes it.
//!
//! The runtime opens `/dev/null` on closed standard streams and ignores SIGPIPE before `main`, a
//! supervisor blocks signals and outlives limits of file sizes (SIGXFSZ); the command must find all of it
//! as the caller left it.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal, umask};

use super::heap;
use super::signal::{self, Disposition, SignalSet};

const SIGPIPE_IGNORED: u32 = 1 << 3;
const SIGCHLD_IGNORED: u32 = 1 << 4;
const FORGOTTEN: u32 = 1 << 5;
const SIGXFSZ_IGNORED: u32 = 1 << 6;

static STATE: AtomicU32 = AtomicU32::new(0);
static BLOCKED: AtomicU64 = AtomicU64::new(0);
static PARENT: AtomicI32 = AtomicI32::new(0);
/// The owner's bits of the caller's umask.
static OWNER_MASK: AtomicU32 = AtomicU32::new(0);

/// The bits that a umask may take from what endow makes for itself, which its owner must be able to use.
const OTHERS: u32 = 0o077;

extern "C" fn record() {
    heap::note();
    // SAFETY: the call takes nothing and can't fail.
    PARENT.store(unsafe { libc::getppid() }, Ordering::Relaxed);
    let mut state = 0;
    for number in 0..3 {
        // SAFETY: F_GETFD takes any number and only reads.
        if unsafe { libc::fcntl(number, libc::F_GETFD) } < 0 {
            state |= 1 << number;
        }
    }
    if signal::is_ignored(libc::SIGPIPE) {
        state |= SIGPIPE_IGNORED;
    }
    if signal::is_ignored(libc::SIGCHLD) {
        state |= SIGCHLD_IGNORED;
        // Children of who ignores it can't be waited for.
        signal::set_disposition(libc::SIGCHLD, Disposition::Default);
    }
    if signal::is_ignored(libc::SIGXFSZ) {
        state |= SIGXFSZ_IGNORED;
    }
    STATE.store(state, Ordering::Relaxed);
    BLOCKED.store(signal::blocked().0, Ordering::Relaxed);
    let mask = umask(Mode::from_raw_mode(OTHERS));
    umask(mask & Mode::from_raw_mode(OTHERS));
    OWNER_MASK.store(mask.as_raw_mode() & !OTHERS, Ordering::Relaxed);
}

// SAFETY: the C runtime calls the functions of this section once, before `main`, with the C
// library ready; `record` uses nothing but system calls and atomics.
#[unsafe(link_section = ".init_array")]
#[used]
static RECORD: extern "C" fn() = record;

/// Makes a write beyond RLIMIT_FSIZE an error of this process, no longer its end.
pub(crate) fn outlive_file_limit() {
    signal::set_disposition(libc::SIGXFSZ, Disposition::Ignore);
}

/// Returns whether the caller had closed the standard stream `number` (0, 1 or 2).
pub(crate) fn was_closed(number: i32) -> bool {
    was(1 << number)
}

/// Returns the process that started this one; `None` where this one's namespace does not know it.
pub(crate) fn parent() -> Option<Pid> {
    Pid::from_raw(PARENT.load(Ordering::Relaxed))
}

/// Ends this process when its parent ends. A parent that has ended already sends no signal any more: that is an error.
pub(crate) fn die_with(parent: Option<Pid>) -> Result<(), Errno> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() == parent { Ok(()) } else { Err(Errno::SRCH) }
}

/// Returns the umask that the command is to find, of the one that this process has.
pub(crate) fn umask_of_command(own: Mode) -> Mode {
    own | Mode::from_raw_mode(OWNER_MASK.load(Ordering::Relaxed))
}

/// From here on commands find nothing of the caller's: standard streams are open, and no signal is blocked or
/// ignored. For this process nothing changes.
pub(crate) fn forget() {
    STATE.store(FORGOTTEN, Ordering::Relaxed);
    OWNER_MASK.store(0, Ordering::Relaxed);
    BLOCKED.store(0, Ordering::Relaxed);
}

/// Returns whether commands find nothing of the caller's.
pub(crate) fn is_forgotten() -> bool {
    was(FORGOTTEN)
}

/// Gives this process, which becomes the command, the signals as the command is to find them.
pub(crate) fn restore_signals() -> Result<(), Errno> {
    if is_forgotten() {
        signal::ignored().each().for_each(|it| signal::set_disposition(it, Disposition::Default));
    }
    if !was(SIGPIPE_IGNORED) {
        signal::set_disposition(libc::SIGPIPE, Disposition::Default);
    }
    if !was(SIGXFSZ_IGNORED) {
        signal::set_disposition(libc::SIGXFSZ, Disposition::Default);
    }
    if was(SIGCHLD_IGNORED) {
        signal::set_disposition(libc::SIGCHLD, Disposition::Ignore);
    }
    signal::set_mask(SignalSet(BLOCKED.load(Ordering::Relaxed))).map(drop)
}

fn was(state: u32) -> bool {
    STATE.load(Ordering::Relaxed) & state != 0
}
