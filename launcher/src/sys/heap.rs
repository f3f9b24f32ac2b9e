//! The heap of a process that runs for a few milliseconds and then mostly waits.

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
