//! The heap of a process that runs for a few milliseconds and then mostly waits.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The size from which a block is mapped by itself.
const MAPPED_FROM: libc::c_int = 32 << 20;

/// Keeps memory that was freed for the next who asks, instead of giving it back to the kernel page
/// by page: a list that grows with the number of mounts would be mapped and cleared at each step.
pub(crate) fn keep_freed() {
    for number in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // SAFETY: sets a number of the C library's allocator, before another thread exists.
        unsafe { libc::mallopt(number, MAPPED_FROM) };
    }
}

/// The first block of this program's own, which is never freed.
static BEGINNING: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Notes where this program's part of the heap begins: below it, in a static executable, is what the C library keeps
/// of the thread, and little that it needed at the start.
pub(super) fn note() {
    BEGINNING.store(Box::into_raw(Box::new(0_u8)).cast(), Ordering::Relaxed);
}

fn end() -> *mut c_void {
    // SAFETY: moves the end of the heap by nothing, and returns it.
    unsafe { libc::sbrk(0) }
}

/// Goes on with nothing but `state`: all that this process ever put on the heap is cleared, what was freed as well, as
/// the environment and what was read of files. What `run` allocates ends the process.
pub(crate) fn clear<S: Copy + 'static>(state: S, run: fn(S) -> !) -> ! {
    let begin = BEGINNING.load(Ordering::Relaxed);
    if !begin.is_null() {
        clear_from(begin);
    }
    run(state)
}

fn clear_from(begin: *mut c_void) {
    // SAFETY: reads a number that the C library has known since the start.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let page = usize::try_from(page).unwrap_or(1).max(1);
    let length = end().addr().saturating_sub(begin.addr());
    let first = (begin.addr().next_multiple_of(page) - begin.addr()).min(length);
    let pages = begin.map_addr(|begin| begin + first);
    // SAFETY: the whole pages of the heap. The caller never returns, and goes on with a value that borrows and frees
    // nothing.
    let is_dropped = unsafe { libc::madvise(pages, length - first, libc::MADV_DONTNEED) } == 0;
    // Pages that are locked can't be dropped.
    let rest = if is_dropped { first } else { length };
    // SAFETY: the beginning of the heap, or all of it; the same holds.
    unsafe { ptr::write_bytes(begin.cast::<u8>(), 0, rest) };
}
