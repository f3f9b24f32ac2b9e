//! The version of the kernel's Landlock, and what it says.

use std::error::Error;

use rustix::io::Errno;

const LANDLOCK_CREATE_RULESET_VERSION: libc::c_uint = 1;

/// Returns the ABI version; 0 when Landlock is absent or off.
pub(crate) fn abi() -> u32 {
    // SAFETY: with this flag the call takes no structure and only returns a number.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(version).unwrap_or(0)
}

/// Returns what the kernel said, out of an error of the Landlock library.
pub(crate) fn errno_of(error: &(dyn Error + 'static)) -> Errno {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return Errno::from_io_error(io).unwrap_or(Errno::INVAL);
        }
        cause = error.source();
    }
    Errno::INVAL
}
