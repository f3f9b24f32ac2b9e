//! The session keyring.

use rustix::io::Errno;

use super::check;

const KEYCTL_JOIN_SESSION_KEYRING: libc::c_int = 1;

/// Joins a new, empty session keyring; EDQUOT when the user's quota is used up.
pub(crate) fn join_new_session() -> Result<(), Errno> {
    // SAFETY: a null name asks for an anonymous keyring; nothing is read from memory.
    let result = unsafe {
        libc::syscall(libc::SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, std::ptr::null::<u8>())
    };
    check(result).map(drop)
}
