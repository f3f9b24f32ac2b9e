//! What the caller handed over, recorded before Rust's runtime changes it.
//!
//! The runtime opens `/dev/null` on closed standard streams and ignores SIGPIPE before `main`;
//! the command must find both as the caller left them.

use std::sync::atomic::{AtomicU32, Ordering};

const SIGPIPE_IGNORED: u32 = 1 << 3;

static STATE: AtomicU32 = AtomicU32::new(0);

extern "C" fn record() {
    let mut state = 0;
    for number in 0..3 {
        // SAFETY: F_GETFD takes any number and only reads.
        if unsafe { libc::fcntl(number, libc::F_GETFD) } < 0 {
            state |= 1 << number;
        }
    }
    if super::signal::is_ignored(libc::SIGPIPE) {
        state |= SIGPIPE_IGNORED;
    }
    STATE.store(state, Ordering::Relaxed);
}

// SAFETY: the C runtime calls the functions of this section once, before `main`, with the C
// library ready; `record` uses nothing but two system calls and an atomic.
#[unsafe(link_section = ".init_array")]
#[used]
static RECORD: extern "C" fn() = record;

/// Returns whether the caller had closed the standard stream `number` (0, 1 or 2).
pub(crate) fn was_closed(number: i32) -> bool {
    STATE.load(Ordering::Relaxed) & (1 << number) != 0
}

/// Returns whether the caller had SIGPIPE ignored.
pub(crate) fn sigpipe_was_ignored() -> bool {
    STATE.load(Ordering::Relaxed) & SIGPIPE_IGNORED != 0
}
