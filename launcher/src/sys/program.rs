//! What of this program's own file is in memory.

use std::ffi::c_void;

unsafe extern "C" {
    /// The first byte of the program, and the first one behind its code, as the linker names them.
    static __executable_start: u8;
    static etext: u8;
}

/// Lets go of the pages of code and constants that a start has used: whoever waits needs few of them. They are read
/// again when they are needed, from what the kernel keeps of the file.
pub(crate) fn let_go() {
    let page = rustix::param::page_size();
    let first = (&raw const __executable_start).addr().next_multiple_of(page);
    let end = (&raw const etext).addr() / page * page;
    let start = (&raw const __executable_start).with_addr(first).cast_mut().cast::<c_void>();
    // SAFETY: between the two symbols lie code and constants only, mapped from the program's file and never written,
    // so that what is read again is what was there (madvise(2)); while it is executed nobody can write to the file.
    unsafe { libc::madvise(start, end.saturating_sub(first), libc::MADV_DONTNEED) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resident_of_files() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").expect("a status");
        let line = status.lines().find_map(|line| line.strip_prefix("RssFile:")).expect("a line");
        line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
    }

    #[test]
    fn code_is_out_of_memory_and_still_there() {
        let before = resident_of_files();
        let_go();
        let after = resident_of_files();
        assert!(after < before, "{before} {after}");
    }
}
