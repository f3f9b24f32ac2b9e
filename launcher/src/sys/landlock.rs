//! The version of the kernel's Landlock.

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
