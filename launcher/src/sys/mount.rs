//! Mounts: `mount_setattr(2)` and `open_tree_attr(2)`, which no crate wraps, and what is asked of them.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::{StatVfsMountFlags, fstatvfs};
use rustix::io::Errno;

use super::check;

/// Attributes of mounts, as the kernel numbers them.
pub(crate) mod attribute {
    pub(crate) const READONLY: u64 = 0x1;
    pub(crate) const NOSUID: u64 = 0x2;
    pub(crate) const NODEV: u64 = 0x4;
    pub(crate) const NOEXEC: u64 = 0x8;
}

/// Returns what the mount takes away by which a file is reached: whether it is read-only, and
/// whether no program can be started.
pub(crate) fn takes_away(file: impl AsFd) -> Result<(bool, bool), Errno> {
    let flags = fstatvfs(file)?.f_flag;
    let has = |flag| flags.contains(flag);
    Ok((has(StatVfsMountFlags::RDONLY), has(StatVfsMountFlags::NOEXEC)))
}

/// Sets attributes on a mount (and all below it) and makes it private. Attributes are only ever
/// set, so flags that an outer user namespace has locked stay.
pub(crate) fn set_attributes(
    mount: BorrowedFd<'_>,
    attributes: u64,
    recursive: bool,
) -> Result<(), Errno> {
    let request = libc::mount_attr {
        attr_set: attributes,
        attr_clr: 0,
        propagation: libc::MS_PRIVATE,
        userns_fd: 0,
    };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty NUL-terminated string and `request` lives across the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const request,
            size_of::<libc::mount_attr>(),
        )
    };
    check(result).map(drop)
}

/// Makes the new root the root of this mount namespace, the old one stacked upon it.
pub(crate) fn pivot_root_here() -> Result<(), Errno> {
    // SAFETY: both paths are NUL-terminated.
    let result = unsafe { libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()) };
    check(result).map(drop)
}
